//! A major version that is no longer mended.
//!
//! ## What it finds
//! A PostgreSQL whose last minor release is out, or comes within this year.
//!
//! ## Why it matters
//! What is found wrong with it afterwards, security holes included, stays wrong.
//!
//! ## What to do
//! Upgrade to a supported major version: `pg_upgrade`, or logical replication to a new server where
//! it may be down for seconds only. Try the plans of the top queries there first.
//!
//! ## Risk
//! A new major version plans differently and drops a few things: read the release notes of every
//! version in between.
//!
//! ## When it does not apply
//! Lab servers; vendors who keep mending a version for longer; majors that this catalogue does not
//! know.
//!
//! ## Sources
//! - <https://www.postgresql.org/support/versioning/>

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use super::releases;
use crate::rule::{FindingExt, Rule, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "postgres.end_of_life",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &["https://www.postgresql.org/support/versioning/"],
    check,
    source_text: include_str!("end_of_life.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    if facts.intent.lab {
        return Err(Outcome::NotApplicable(
            "a lab server lives as long as its command".to_owned(),
        ));
    }
    let release = releases::of(postgres)?;
    let end = release.end_of_life;
    // ISO dates sort as text.
    let today = date(&facts.collected_at).ok_or_else(|| {
        Outcome::Unknown("the day of the facts: collected_at holds none".to_owned())
    })?;
    let (severity, message) = if today > end {
        (
            Severity::Warn,
            format!(
                "PostgreSQL {} is no longer mended since {end}",
                release.major
            ),
        )
    } else if today[..4] == end[..4] {
        (
            Severity::Info,
            format!("PostgreSQL {} is mended until {end} only", release.major),
        )
    } else {
        return Ok(Outcome::Ok);
    };
    Ok(RULE
        .finding(message)
        .severity(severity)
        .evidence("server_version", &postgres.version, "server_version")
        .host_action(
            "upgrade to a supported major version (pg_upgrade, or logical replication)",
            Needs::Migration,
        )
        .into_outcome())
}

/// The day of `2026-11-21T20:45:00Z`.
fn date(moment: &str) -> Option<&str> {
    let day = moment.get(..10)?;
    let is_date = day.bytes().enumerate().all(|(index, byte)| match index {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    is_date.then_some(day)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, not_applicable, ok, postgres, unknown};
    use dbdyno_model::{Facts, Severity};

    fn on(version_num: u32, day: &str) -> Facts {
        let mut facts = healthy();
        postgres(&mut facts).version_num = version_num;
        facts.collected_at = format!("{day}T10:00:00Z");
        facts
    }

    #[test]
    fn the_day_after_the_last_release_is_found() {
        let finding = finding(&RULE, &on(140_024, "2026-11-13"));
        assert_eq!(
            finding.message,
            "PostgreSQL 14 is no longer mended since 2026-11-12"
        );
        assert_eq!(finding.severity, Severity::Warn);
    }

    #[test]
    fn the_year_of_the_end_is_a_word() {
        for day in ["2026-11-12", "2026-01-01"] {
            assert_eq!(finding(&RULE, &on(140_024, day)).severity, Severity::Info);
        }
    }

    #[test]
    fn earlier_is_fine_and_a_lab_not_applicable() {
        ok(&RULE, &on(140_024, "2025-12-31"));
        ok(&RULE, &healthy());
        let mut facts = on(140_024, "2026-11-13");
        facts.intent.lab = true;
        not_applicable(&RULE, &facts);
    }

    #[test]
    fn an_unknown_version_or_day_is_unknown() {
        assert!(unknown(&RULE, &on(190_000, "2026-11-13")).starts_with("releases of"));
        assert!(unknown(&RULE, &on(140_024, "yesterday ")).starts_with("the day of the facts"));
        let mut facts = healthy();
        facts.collected_at = "ünknown day".into();
        unknown(&RULE, &facts);
    }
}
