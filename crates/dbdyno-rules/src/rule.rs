//! What a rule is, and the words its check answers with.

use dbdyno_model::finding::Confidence;
use dbdyno_model::{
    Effect, Evidence, Fact, Facts, Finding, HostAction, Needs, Outcome, Recommendation, RuleText,
    Severity,
};

use crate::solver;

/// One entry of the catalogue. The `//!` header of its file is the user's documentation.
#[derive(Clone, Copy)]
pub struct Rule {
    /// `family.name`, the same as the file's path. Never changes once released.
    pub id: &'static str,
    pub severity: Severity,
    pub confidence: Confidence,
    pub sources: &'static [&'static str],
    pub check: fn(&Facts) -> Outcome,
    /// The source of the rule's file.
    pub source_text: &'static str,
}

impl std::fmt::Debug for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rule")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl Rule {
    /// The user's documentation: the file's `//!` header as Markdown.
    pub fn documentation(&self) -> String {
        self.source_text
            .lines()
            .take_while(|line| line.starts_with("//!"))
            .map(|line| {
                line.trim_start_matches("//!")
                    .strip_prefix(' ')
                    .unwrap_or_default()
            })
            .collect::<Vec<_>>()
            .join("\n")
    }

    pub fn family(&self) -> &'static str {
        self.id.split('.').next().unwrap_or(self.id)
    }

    /// One sentence: what it finds.
    pub fn title(&self) -> String {
        let documentation = self.documentation();
        documentation.lines().next().unwrap_or_default().to_owned()
    }

    /// The page of the rule in the reference.
    pub fn markdown(&self) -> String {
        let documentation = self.documentation();
        let body = documentation.split_once('\n').map_or("", |(_, body)| body);
        format!("# {}\n\n{}\n{}\n", self.id, self.title(), body.trim_end())
    }

    /// The rule as its reader knows it.
    pub fn text(&self) -> RuleText {
        RuleText {
            id: self.id.to_owned(),
            family: self.family().to_owned(),
            severity: self.severity,
            confidence: self.confidence,
            title: self.title(),
            sources: self
                .sources
                .iter()
                .map(|source| (*source).to_owned())
                .collect(),
            documentation: self.markdown(),
        }
    }

    /// Starts a finding of this rule; `message` is one sentence with its numbers.
    pub fn finding(&self, message: impl Into<String>) -> Finding {
        Finding {
            rule: self.id.to_owned(),
            severity: self.severity,
            effect: Effect::default(),
            message: message.into(),
            evidence: Vec::new(),
            recommendations: Vec::new(),
            host_actions: Vec::new(),
            statements: Vec::new(),
            confidence: self.confidence,
            sources: self
                .sources
                .iter()
                .map(|source| (*source).to_owned())
                .collect(),
        }
    }
}

/// Builds a finding up in the order a reader meets it.
pub trait FindingExt: Sized {
    #[must_use]
    fn severity(self, severity: Severity) -> Self;
    /// Acting on it keeps committed data; a setting that guards data says so by itself.
    #[must_use]
    fn keeps_data(self) -> Self;
    /// Acting on it keeps the server up.
    #[must_use]
    fn keeps_running(self) -> Self;
    #[must_use]
    fn evidence(
        self,
        fact: impl Into<String>,
        value: impl ToString,
        origin: impl Into<String>,
    ) -> Self;
    #[must_use]
    fn recommend(self, recommendation: Recommendation) -> Self;
    #[must_use]
    fn host_action(self, action: impl Into<String>, needs: Needs) -> Self;
    fn into_outcome(self) -> Outcome;
}

impl FindingExt for Finding {
    fn severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    fn keeps_data(mut self) -> Self {
        self.effect = Effect::Durability;
        self
    }

    fn keeps_running(mut self) -> Self {
        self.effect = self.effect.max(Effect::Availability);
        self
    }

    fn evidence(
        mut self,
        fact: impl Into<String>,
        value: impl ToString,
        origin: impl Into<String>,
    ) -> Self {
        self.evidence.push(Evidence {
            fact: fact.into(),
            value: value.to_string(),
            origin: origin.into(),
        });
        self
    }

    fn recommend(mut self, recommendation: Recommendation) -> Self {
        if solver::guards_data(&recommendation.setting) {
            self.effect = Effect::Durability;
        }
        self.recommendations.push(recommendation);
        self
    }

    fn host_action(mut self, action: impl Into<String>, needs: Needs) -> Self {
        let rule = self.rule.clone();
        self.host_actions
            .push(HostAction::in_words(rule, action, needs));
        self
    }

    fn into_outcome(self) -> Outcome {
        Outcome::Finding(Box::new(self))
    }
}

/// The fact's value, or the outcome that names what is missing.
pub fn need<T: Copy>(fact: &Fact<T>, name: &str) -> Result<T, Outcome> {
    fact.get().ok_or_else(|| unknown(fact, name))
}

pub fn need_ref<'a, T>(fact: &'a Fact<T>, name: &str) -> Result<&'a T, Outcome> {
    fact.value().ok_or_else(|| unknown(fact, name))
}

fn unknown<T>(fact: &Fact<T>, name: &str) -> Outcome {
    Outcome::Unknown(format!(
        "{name}: {}",
        fact.why_unknown().unwrap_or("unknown")
    ))
}

/// The host's facts, or the outcome for a server that runs elsewhere.
pub fn host(facts: &Facts) -> Result<&dbdyno_model::host::Host, Outcome> {
    facts
        .host
        .as_ref()
        .ok_or_else(|| Outcome::Unknown("the host: the server runs on another machine".to_owned()))
}

/// The server's facts, or the outcome for a host without one, or with one that kept its facts to itself.
pub fn server(facts: &Facts) -> Result<&dbdyno_model::postgres::Postgres, Outcome> {
    facts.postgres.as_ref().ok_or_else(|| {
        let runs = |server: &dbdyno_model::facts::Unreached| server.engine.is_none();
        if facts.unreached.iter().any(runs) {
            Outcome::Unknown("the PostgreSQL server: it runs here and could not be read".to_owned())
        } else {
            Outcome::NotApplicable("no PostgreSQL server was found".to_owned())
        }
    })
}

/// Joins the two arms of a check that leaves early through `?`.
pub fn settle(outcome: Result<Outcome, Outcome>) -> Outcome {
    outcome.unwrap_or_else(|early| early)
}

/// A sysctl's value and where it was read, or the outcome that names it.
pub fn sysctl(host: &dbdyno_model::host::Host, name: &str) -> Result<(i64, String), Outcome> {
    let fact = host.sysctl.get(name).cloned().unwrap_or_default();
    Ok((need(&fact, name)?, fact.origin))
}

/// A setting as the server has it for everyone, or the outcome that names it.
pub fn setting<'a>(
    server: &'a dbdyno_model::postgres::Postgres,
    name: &str,
) -> Result<&'a dbdyno_model::postgres::Setting, Outcome> {
    server.setting(name).ok_or_else(|| {
        let why = server.why_hidden(name);
        let why = why.unwrap_or_else(|| "pg_settings does not list it".to_owned());
        Outcome::Unknown(format!("{name}: {why}"))
    })
}

/// A setting as a number in bytes, seconds or bare, or the outcome that names it.
pub fn setting_number(
    server: &dbdyno_model::postgres::Postgres,
    name: &str,
) -> Result<f64, Outcome> {
    setting(server, name)?
        .number()
        .ok_or_else(|| Outcome::Unknown(format!("{name}: it is no number")))
}

/// The same for a setting that not every version has: none where the server does not list it.
pub fn number_if_listed(
    server: &dbdyno_model::postgres::Postgres,
    name: &str,
) -> Result<Option<f64>, Outcome> {
    if !server.settings.contains_key(name) {
        return Ok(None);
    }
    setting_number(server, name).map(Some)
}

/// A setting's text, or the outcome that names it.
pub fn setting_text<'a>(
    server: &'a dbdyno_model::postgres::Postgres,
    name: &str,
) -> Result<&'a str, Outcome> {
    setting(server, name).map(|setting| setting.value.as_str())
}

/// One decimal where it says something: `4.4`, `64`.
pub fn humane_number(number: f64) -> String {
    let text = format!("{number:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// Bytes in the largest binary unit that keeps them above one.
pub fn humane_bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    // 1023.95 would be printed as 1024.
    while value >= 1023.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{} {}", humane_number(value), UNITS[unit])
}

/// A recommendation that costs no safety; every other class is asked for by name elsewhere.
pub fn safe(
    setting: &str,
    want: dbdyno_model::finding::Want,
    why: impl Into<String>,
) -> Recommendation {
    Recommendation {
        setting: setting.to_owned(),
        want,
        why: why.into(),
        class: dbdyno_model::Class::Safe,
        gives_up: None,
    }
}

/// Says what a recommendation costs.
pub trait RecommendationExt: Sized {
    #[must_use]
    fn giving_up(self, what: impl Into<String>) -> Self;
}

impl RecommendationExt for Recommendation {
    fn giving_up(mut self, what: impl Into<String>) -> Self {
        self.gives_up = Some(what.into());
        self
    }
}

/// Major and minor version in a kernel's release.
pub fn kernel_version(release: &str) -> Option<(u32, u32)> {
    let mut parts = release.split(|character: char| !character.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::{humane_bytes, kernel_version};

    #[test]
    fn bytes_are_humane() {
        assert_eq!(humane_bytes(0), "0 bytes");
        assert_eq!(humane_bytes(63 * 512), "31.5 KiB");
        assert_eq!(humane_bytes(64 << 20), "64 MiB");
        assert_eq!(humane_bytes(25_455_230_976), "23.7 GiB");
        assert_eq!(humane_bytes((1 << 30) - 1), "1 GiB");
        assert_eq!(humane_bytes(3 << 50), "3072 TiB");
    }

    #[test]
    fn versions_are_read_from_releases() {
        assert_eq!(kernel_version("5.14.0-427.el9.x86_64"), Some((5, 14)));
        assert_eq!(kernel_version("6.18.44"), Some((6, 18)));
        assert_eq!(kernel_version("rawhide"), None);
    }
}
