//! Log segments that are removed only to be made again.
//!
//! ## What it finds
//! `min_wal_size` below a quarter of the room that the log should have, on a server with a writing
//! load.
//!
//! ## Why it matters
//! Below `min_wal_size` old segments are renamed for reuse; above it they are deleted once a quiet
//! hour has passed, and the next busy one creates and zeroes them anew.
//!
//! ## What to do
//! Set `min_wal_size` to a quarter of `max_wal_size`.
//!
//! ## Risk
//! None to data. That much space stays taken.
//!
//! ## When it does not apply
//! Servers that write little.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/wal-configuration.html>

use dbdyno_model::finding::{Confidence, Want};
use dbdyno_model::{Facts, Finding, Outcome, Severity};

use super::checkpoints::wanted_log;
use super::settings::{self, SettingEvidence};
use crate::rule::{FindingExt, RecommendationExt, Rule, humane_bytes, safe, server, settle};
use crate::solver::humane;

pub(super) const RULE: Rule = Rule {
    id: "postgres.min_wal_size",
    severity: Severity::Info,
    confidence: Confidence::Medium,
    sources: &["https://www.postgresql.org/docs/current/wal-configuration.html"],
    check,
    source_text: include_str!("min_wal_size.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    let now = settings::bytes(postgres, "min_wal_size")?;
    let room = settings::bytes(postgres, "max_wal_size")?;
    let wanted = wanted_log(facts, postgres)?;
    let quarter = humane::round_down(wanted.bytes.max(room) / 4);
    if now >= quarter {
        return Ok(Outcome::Ok);
    }
    let finding = RULE
        .finding(format!(
            "min_wal_size is {}: segments beyond it are removed after quiet hours and made anew in busy ones",
            settings::humane(postgres, "min_wal_size")
        ))
        .shows(postgres, "min_wal_size")
        .shows(postgres, "max_wal_size");
    Ok(Finding {
        confidence: wanted.confidence.min(RULE.confidence),
        ..finding
    }
    .recommend(
        safe(
            "min_wal_size",
            Want::Bytes(quarter),
            "a quarter of max_wal_size is kept for reuse",
        )
        .giving_up(format!("{} of disk space", humane_bytes(quarter))),
    )
    .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{configure, declare_tpcc, finding, healthy, ok, unknown};
    use dbdyno_model::finding::Want;

    #[test]
    fn the_default_is_found_beside_a_declared_writing_load() {
        let mut facts = healthy();
        declare_tpcc(&mut facts);
        let finding = finding(&RULE, &facts);
        insta::assert_snapshot!(finding.message, @"min_wal_size is 80MB: segments beyond it are removed after quiet hours and made anew in busy ones");
        assert_eq!(finding.recommendations[0].want, Want::Bytes(2 << 30));
    }

    #[test]
    fn a_quarter_is_fine() {
        let mut facts = healthy();
        declare_tpcc(&mut facts);
        configure(&mut facts, "min_wal_size", "2048");
        ok(&RULE, &facts);
    }

    #[test]
    fn without_counters_or_a_declaration_nothing_is_claimed() {
        assert!(unknown(&RULE, &healthy()).starts_with("no statistics yet"));
    }
}
