//! A configuration that is not what its files say.
//!
//! ## What it finds
//! Settings that wait for a restart, lines in the configuration files that the server refused, and
//! access paths (`enable_*`) switched off for everyone. Lines that a later one overrides are only
//! told.
//!
//! ## Why it matters
//! The next restart changes the server without anyone deciding it, or fails. A planner method that
//! was switched off to mend one query years ago is missing from all others.
//!
//! ## What to do
//! Read the lines named here, remove what is wrong or doubled, and plan one restart. Switch planner
//! methods off for single queries only.
//!
//! ## Risk
//! A restart applies every pending change at once.
//!
//! ## When it does not apply
//! Settings on the server's command line, which win over the files at each start; but for Patroni's,
//! which it passes anew.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/view-pg-file-settings.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::postgres::Postgres;
use dbdyno_model::words::{plural, verb};
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use super::settings::{ORIGIN, SettingEvidence};
use crate::cloud::PATRONI;
use crate::rule::{FindingExt, Rule, need_ref, server, setting, settle};

pub(super) const RULE: Rule = Rule {
    id: "postgres.config_drift",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &["https://www.postgresql.org/docs/current/view-pg-file-settings.html"],
    check,
    source_text: include_str!("config_drift.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

/// More names than this are counted, not listed.
const LISTED: usize = 5;

/// How the collector words a line that a later one wins over.
const SHADOWED: &str = " is overridden by ";

/// Where the files and the running server disagree.
struct Drift<'a> {
    pending: Vec<String>,
    disabled: Vec<String>,
    /// Of which only what our own role has is known.
    hidden: Vec<String>,
    errors: Vec<&'a String>,
    shadowed: Vec<&'a String>,
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    let drift = drift(postgres)?;
    let mut told = told(&drift);
    // What ALTER SYSTEM sets stands in postgresql.conf as well: a word for who reads only there.
    let severity = if told.is_empty() {
        Severity::Info
    } else {
        RULE.severity
    };
    if let Some(first) = drift.shadowed.first() {
        told.push(format!(
            "{} {} no effect, first: {first}",
            plural(drift.shadowed.len() as u64, "line"),
            verb(drift.shadowed.len() as u64, "has", "have")
        ));
    }
    if told.is_empty() {
        return match drift.hidden.first() {
            Some(name) => setting(postgres, name).map(|_| Outcome::Ok),
            None => Ok(Outcome::Ok),
        };
    }
    let mut finding = RULE.finding(told.join("; ")).severity(severity);
    if !drift.errors.is_empty() {
        finding = finding.keeps_running();
    }
    for name in drift.pending.iter().chain(&drift.disabled) {
        finding = finding.shows(postgres, name);
    }
    let origin = &postgres.file_errors.origin;
    for error in &drift.errors {
        finding = finding.evidence("error", error, origin);
    }
    for line in drift.shadowed.iter().take(LISTED) {
        finding = finding.evidence("without effect", line, origin);
    }
    if !drift.pending.is_empty() {
        finding = finding.host_action(
            "plan one restart, after reading what it changes",
            Needs::Restart,
        );
    }
    for name in &drift.disabled {
        finding = finding.host_action(
            format!("{name}: off in {}", place(postgres, name)),
            Needs::Reload,
        );
    }
    Ok(finding.into_outcome())
}

fn drift(postgres: &Postgres) -> Result<Drift<'_>, Outcome> {
    let marked = names(postgres, |_, setting| setting.pending_restart);
    // What Patroni passes on the command line comes anew with its next restart.
    let is_patroni = postgres.managed_by.as_deref() == Some(PATRONI);
    let pending = names(postgres, |_, setting| {
        setting.waits_for_restart() || (is_patroni && setting.pending_restart)
    });
    let disabled = names(postgres, |name, setting| {
        name.starts_with("enable_")
            && setting.value == "off"
            && setting.boot_value.as_deref() == Some("on")
            && setting.is_set_by_user()
            && !setting.is_of_session()
    });
    let hidden = names(postgres, |name, setting| {
        name.starts_with("enable_") && setting.is_of_session()
    });
    let lines: &[String] = if pending.is_empty() && disabled.is_empty() {
        need_ref(&postgres.file_errors, "errors in the configuration files")?
    } else {
        postgres.file_errors.value().map_or(&[][..], Vec::as_slice)
    };
    let (shadowed, others): (Vec<&String>, Vec<&String>) =
        lines.iter().partition(|line| line.contains(SHADOWED));
    let errors = others
        .into_iter()
        .filter(|line| !is_marked(line, &marked))
        .collect();
    Ok(Drift {
        pending,
        disabled,
        hidden,
        errors,
        shadowed,
    })
}

/// All but the lines without effect, which alone are no reason to warn.
fn told(drift: &Drift<'_>) -> Vec<String> {
    let mut told = Vec::new();
    if !drift.pending.is_empty() {
        told.push(format!(
            "{} {} for a restart",
            listed(&drift.pending),
            verb(drift.pending.len() as u64, "waits", "wait")
        ));
    }
    if let Some(first) = drift.errors.first() {
        told.push(format!(
            "the files have {}, first: {first}",
            plural(drift.errors.len() as u64, "error")
        ));
    }
    if !drift.disabled.is_empty() {
        told.push(format!("{} off for everyone", listed(&drift.disabled)));
    }
    told
}

/// The server calls a line that waits for a restart an error, too.
fn is_marked(line: &str, marked: &[String]) -> bool {
    let line = line.to_ascii_lowercase();
    marked.iter().any(|name| {
        let waits = format!(": {name}: setting could not be applied");
        line.ends_with(&waits.to_ascii_lowercase())
    })
}

fn names(
    postgres: &Postgres,
    matches: impl Fn(&str, &dbdyno_model::postgres::Setting) -> bool,
) -> Vec<String> {
    let settings = postgres.settings.iter();
    settings
        .filter(|(name, setting)| matches(name, setting))
        .map(|(name, _)| name.clone())
        .collect()
}

fn listed(names: &[String]) -> String {
    let first = names[..names.len().min(LISTED)].join(", ");
    match names.len().checked_sub(LISTED).filter(|more| *more > 0) {
        Some(more) => format!("{first} and {more} more"),
        None => first,
    }
}

/// The file and line that set it, where the role may see them.
fn place(postgres: &Postgres, name: &str) -> String {
    let setting = postgres.setting(name);
    let file = setting.and_then(|setting| setting.source_file.as_deref());
    let line = setting.and_then(|setting| setting.source_line);
    match (file, line) {
        (Some(file), Some(line)) => format!("{file}:{line}"),
        _ => setting.map_or(ORIGIN.to_owned(), |setting| setting.source.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{configure, finding, healthy, ok, postgres, setting, unknown};
    use dbdyno_model::{Effect, Fact, Severity};

    #[test]
    fn a_pending_restart_and_a_refused_line_are_found() {
        let mut facts = healthy();
        setting(&mut facts, "shared_buffers").pending_restart = true;
        postgres(&mut facts).file_errors = Fact::known(
            vec!["postgresql.conf:12: work_mem = 4 GB".into()],
            "pg_file_settings",
        );
        insta::assert_snapshot!(finding(&RULE, &facts).message, @"shared_buffers waits for a restart; the files have 1 error, first: postgresql.conf:12: work_mem = 4 GB");
    }

    #[test]
    fn a_line_that_waits_for_a_restart_is_no_error() {
        let mut facts = healthy();
        setting(&mut facts, "shared_buffers").pending_restart = true;
        postgres(&mut facts).file_errors = Fact::known(
            vec!["auto.conf:3: Shared_Buffers: setting could not be applied".into()],
            "pg_file_settings",
        );
        let found = finding(&RULE, &facts);
        assert_eq!(found.message, "shared_buffers waits for a restart");
        assert_eq!(found.effect, Effect::Operation);
    }

    #[test]
    fn what_the_command_line_sets_waits_for_nothing() {
        let mut facts = healthy();
        let buffers = setting(&mut facts, "shared_buffers");
        buffers.pending_restart = true;
        buffers.source = "command line".into();
        postgres(&mut facts).file_errors = Fact::known(
            vec!["postgresql.conf:3: shared_buffers: setting could not be applied".into()],
            "pg_file_settings",
        );
        ok(&RULE, &facts);
        postgres(&mut facts).managed_by = Some("Patroni".into());
        let found = finding(&RULE, &facts);
        assert_eq!(found.message, "shared_buffers waits for a restart");
    }

    #[test]
    fn a_line_that_another_overrides_is_only_told() {
        let mut facts = healthy();
        postgres(&mut facts).file_errors = Fact::known(
            vec!["a.conf:1: work_mem is overridden by auto.conf:1".into()],
            "pg_file_settings",
        );
        let found = finding(&RULE, &facts);
        insta::assert_snapshot!(found.message, @"1 line has no effect, first: a.conf:1: work_mem is overridden by auto.conf:1");
        assert_eq!(found.severity, Severity::Info);
        assert_eq!(found.evidence.len(), 1);
    }

    #[test]
    fn a_refused_line_may_keep_the_server_from_starting() {
        let mut facts = healthy();
        postgres(&mut facts).file_errors = Fact::known(
            vec!["a.conf:3: port: setting could not be applied".into()],
            "pg_file_settings",
        );
        let found = finding(&RULE, &facts);
        assert_eq!(found.severity, Severity::Warn);
        assert_eq!(found.effect, Effect::Availability);
    }

    #[test]
    fn a_planner_method_off_for_everyone_is_found_with_its_place() {
        let mut facts = healthy();
        configure(&mut facts, "enable_nestloop", "off");
        let setting = setting(&mut facts, "enable_nestloop");
        (setting.source_file, setting.source_line) =
            (Some("/etc/postgresql.conf".into()), Some(401));
        let finding = finding(&RULE, &facts);
        assert_eq!(finding.message, "enable_nestloop off for everyone");
        assert_eq!(
            finding.host_actions[0].action,
            "enable_nestloop: off in /etc/postgresql.conf:401"
        );
    }

    #[test]
    fn a_method_that_is_off_for_our_role_is_not_off_for_everyone() {
        let mut facts = healthy();
        configure(&mut facts, "enable_nestloop", "off");
        setting(&mut facts, "enable_nestloop").source = "user".into();
        postgres(&mut facts).file_errors = Fact::known(Vec::new(), "pg_file_settings");
        let why = unknown(&RULE, &facts);
        assert!(why.starts_with("enable_nestloop: ALTER ROLE"), "{why}");
    }

    #[test]
    fn methods_that_are_off_by_default_are_fine() {
        ok(&RULE, &healthy());
    }

    #[test]
    fn unread_files_are_unknown_unless_something_else_was_found() {
        let mut facts = healthy();
        postgres(&mut facts).file_errors = Fact::unknown("permission denied", "pg_file_settings");
        assert!(unknown(&RULE, &facts).contains("permission denied"));
        setting(&mut facts, "port").pending_restart = true;
        finding(&RULE, &facts);
    }
}
