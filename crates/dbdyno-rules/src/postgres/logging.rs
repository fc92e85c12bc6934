//! Waits for locks and spills to disk that leave no trace.
//!
//! ## What it finds
//! `log_lock_waits` off, or `log_temp_files` at −1.
//!
//! ## Why it matters
//! Both happen in bursts that are over when somebody looks. A line in the log names who waited for
//! whom, and which statement wrote how much to disk.
//!
//! ## What to do
//! Set `log_lock_waits` to on: who waits longer than `deadlock_timeout` (one second) is logged. Set
//! `log_temp_files` to 10 MB: what is smaller costs little and would fill the log.
//!
//! ## Risk
//! None to data. The log grows where there is something to report, and statements in it may hold
//! values from your data.
//!
//! ## When it does not apply
//! Lab servers, which the driver observes.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/runtime-config-logging.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Outcome, Severity};

use super::settings::{self, SettingEvidence, value};
use crate::rule::{FindingExt, RecommendationExt, Rule, safe, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "postgres.logging",
    severity: Severity::Info,
    confidence: Confidence::High,
    sources: &["https://www.postgresql.org/docs/current/runtime-config-logging.html"],
    check,
    source_text: include_str!("logging.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    if facts.intent.lab {
        return Err(Outcome::NotApplicable(
            "a lab server is observed by its driver".to_owned(),
        ));
    }
    let lock_waits = settings::flag(postgres, "log_lock_waits")?;
    let files = settings::number(postgres, "log_temp_files")? >= 0.0;
    let missing: Vec<&str> = [
        (lock_waits, "waits for locks (log_lock_waits)"),
        (files, "temporary files (log_temp_files)"),
    ]
    .iter()
    .filter_map(|(logged, what)| (!logged).then_some(*what))
    .collect();
    if missing.is_empty() {
        return Ok(Outcome::Ok);
    }
    let mut finding = RULE
        .finding(format!("not logged: {}", missing.join(", ")))
        .shows(postgres, "log_lock_waits")
        .shows(postgres, "log_temp_files");
    if !lock_waits {
        finding = finding.recommend(
            safe(
                "log_lock_waits",
                value("on"),
                "who waited for whom can be found afterwards",
            )
            .giving_up("a line in the log for each wait longer than deadlock_timeout"),
        );
    }
    if !files {
        finding = finding.recommend(
            safe(
                "log_temp_files",
                value("10MB"),
                "statements that spill can be found afterwards",
            )
            .giving_up("a line in the log for each larger file"),
        );
    }
    Ok(finding.into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{configure, finding, healthy, not_applicable, ok, postgres, unknown};

    #[test]
    fn the_defaults_are_found() {
        let finding = finding(&RULE, &healthy());
        assert_eq!(
            finding.message,
            "not logged: waits for locks (log_lock_waits), temporary files (log_temp_files)"
        );
        assert_eq!(finding.recommendations.len(), 2);
    }

    #[test]
    fn what_is_logged_already_is_kept() {
        let mut facts = healthy();
        configure(&mut facts, "log_temp_files", "0");
        let finding = finding(&RULE, &facts);
        assert_eq!(finding.recommendations.len(), 1);
        assert_eq!(finding.recommendations[0].setting, "log_lock_waits");
        configure(&mut facts, "log_lock_waits", "on");
        ok(&RULE, &facts);
    }

    #[test]
    fn a_lab_server_is_not_applicable_and_unread_settings_unknown() {
        let mut facts = healthy();
        postgres(&mut facts).settings.remove("log_temp_files");
        unknown(&RULE, &facts);
        facts.intent.lab = true;
        not_applicable(&RULE, &facts);
    }
}
