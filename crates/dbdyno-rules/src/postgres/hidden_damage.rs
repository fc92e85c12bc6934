//! A server that was told to go on over damaged pages.
//!
//! ## What it finds
//! `zero_damaged_pages`, `ignore_checksum_failure` or `ignore_invalid_pages` on for everyone; or
//! `data_sync_retry` on.
//!
//! ## Why it matters
//! They were made to rescue what can be rescued from a damaged database, once. Left on, a damaged
//! page is emptied or read as if nothing had happened, and its rows are gone or wrong without a
//! word to anyone. With `data_sync_retry` the server goes on after a flush that failed: where the
//! kernel has dropped what it could not write, as Linux does, the next flush succeeds without it.
//!
//! ## What to do
//! Set them to off. If something was damaged, dump what is left and restore the rest from a backup;
//! after a failed flush the server then stops, and recovers from its log when it starts.
//!
//! ## Risk
//! Statements that touch a damaged page fail again, as they should.
//!
//! ## When it does not apply
//! A rescue that is under way, on a copy.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/runtime-config-developer.html>
//! - <https://www.postgresql.org/docs/current/runtime-config-error-handling.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Outcome, Severity};

use super::settings::{self, SettingEvidence, value};
use crate::rule::{FindingExt, RecommendationExt, Rule, safe, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "postgres.hidden_damage",
    severity: Severity::Critical,
    confidence: Confidence::High,
    sources: &[
        "https://www.postgresql.org/docs/current/runtime-config-developer.html",
        "https://www.postgresql.org/docs/current/runtime-config-error-handling.html",
    ],
    check,
    source_text: include_str!("hidden_damage.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

const HIDING: [&str; 3] = [
    "ignore_checksum_failure",
    "ignore_invalid_pages",
    "zero_damaged_pages",
];

const RETRY: &str = "data_sync_retry";

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    let mut on = Vec::new();
    for name in HIDING {
        if settings::flag(postgres, name)? {
            on.push(name);
        }
    }
    let retries = if on.is_empty() {
        settings::flag(postgres, RETRY)?
    } else {
        postgres.is_on(RETRY) == Some(true)
    };
    if on.is_empty() && !retries {
        return Ok(Outcome::Ok);
    }
    let mut found = Vec::new();
    if !on.is_empty() {
        found.push(format!(
            "{} on for everyone: damaged pages are passed over without a word",
            on.join(" and ")
        ));
    }
    if retries {
        found.push(format!(
            "{RETRY} is on: what a failed flush lost is not written again"
        ));
    }
    let mut finding = RULE.finding(found.join("; ")).keeps_data();
    for name in on {
        finding = finding.shows(postgres, name).recommend(
            safe(name, value("off"), "damage is reported where it is met")
                .giving_up("statements that touch a damaged page fail"),
        );
    }
    if retries {
        finding = finding.shows(postgres, RETRY).recommend(
            safe(
                RETRY,
                value("off"),
                "what could not be flushed is recovered from the log",
            )
            .giving_up("a restart, and another one whenever a flush fails"),
        );
    }
    Ok(finding.into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{configure, finding, healthy, ok, postgres, unknown};

    #[test]
    fn each_is_found_and_switched_off() {
        let mut facts = healthy();
        configure(&mut facts, "zero_damaged_pages", "on");
        configure(&mut facts, "ignore_checksum_failure", "on");
        let finding = finding(&RULE, &facts);
        assert_eq!(
            finding.message,
            "ignore_checksum_failure and zero_damaged_pages on for everyone: damaged pages are passed over without a word"
        );
        assert_eq!(finding.recommendations.len(), 2);
    }

    #[test]
    fn a_flush_that_is_tried_again_is_found() {
        let mut facts = healthy();
        configure(&mut facts, "data_sync_retry", "on");
        let finding = finding(&RULE, &facts);
        assert_eq!(
            finding.message,
            "data_sync_retry is on: what a failed flush lost is not written again"
        );
        assert_eq!(finding.recommendations.len(), 1);
    }

    #[test]
    fn off_is_fine_and_unread_unknown() {
        let mut facts = healthy();
        ok(&RULE, &facts);
        postgres(&mut facts).settings.remove("zero_damaged_pages");
        unknown(&RULE, &facts);
    }
}
