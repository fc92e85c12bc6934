//! Checkpoints every five minutes under a writing load.
//!
//! ## What it finds
//! `checkpoint_timeout` of five minutes (the default) or less on a server that writes more than 1
//! MiB/s of log, or for which a writing load is declared.
//!
//! ## Why it matters
//! The first change of a page after each checkpoint logs the whole page. Three times fewer
//! checkpoints log and flush the same busy pages three times less often.
//!
//! ## What to do
//! Set `checkpoint_timeout` to 15 minutes, together with a `max_wal_size` that lets it be reached.
//! Run `CHECKPOINT` before a planned restart.
//!
//! ## Risk
//! None to data. Recovery after a crash replays the log of up to a quarter of an hour: with a
//! recovery-time objective of a minute or two, test it first.
//!
//! ## When it does not apply
//! Servers that write little.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/wal-configuration.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Finding, Outcome, Severity};

use super::checkpoints::{SHORT_TIMEOUT_S, WANTED_TIMEOUT_S};
use super::load::writes;
use super::recovery;
use super::settings::{self, SettingEvidence, value};
use crate::rule::{FindingExt, RecommendationExt, Rule, safe, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "postgres.checkpoint_timeout",
    severity: Severity::Info,
    confidence: Confidence::High,
    sources: &["https://www.postgresql.org/docs/current/wal-configuration.html"],
    check,
    source_text: include_str!("checkpoint_timeout.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    if settings::number(postgres, "checkpoint_timeout")? > SHORT_TIMEOUT_S {
        return Ok(Outcome::Ok);
    }
    let writes = writes(facts, postgres)?;
    let finding = RULE
        .finding(format!(
            "checkpoint_timeout is {}, short {}: after every checkpoint pages are logged in full again",
            settings::humane(postgres, "checkpoint_timeout"),
            writes.because()
        ))
        .shows(postgres, "checkpoint_timeout");
    let finding = recovery::shown(finding, facts, postgres)?;
    Ok(Finding {
        confidence: writes.confidence(),
        ..finding
    }
    .recommend(
        safe(
            "checkpoint_timeout",
            value(format!("{}min", WANTED_TIMEOUT_S / 60.0)),
            "fewer checkpoints, fewer pages logged in full",
        )
        .giving_up("recovery time: a crash may have the log of 15 minutes to replay"),
    )
    .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{
        configure, declare_tpcc, finding, healthy, ok, postgres, unknown, with_statistics_of_days,
    };

    #[test]
    fn the_default_is_found_for_a_declared_writing_load() {
        let mut facts = healthy();
        declare_tpcc(&mut facts);
        let finding = finding(&RULE, &facts);
        insta::assert_snapshot!(finding.message, @"checkpoint_timeout is 5min, short for the declared workload tpcc: after every checkpoint pages are logged in full again");
        assert!(finding.recommendations[0].gives_up.is_some());
        assert_eq!(
            finding.evidence.last().unwrap().fact,
            "recovery after a crash"
        );
    }

    #[test]
    fn a_counted_writing_load_is_found_and_an_idle_one_is_fine() {
        let mut facts = healthy();
        with_statistics_of_days(&mut facts, 1.0);
        ok(&RULE, &facts);
        let server = postgres(&mut facts);
        server.wal.after = server.wal.after.clone().map(|mut all| {
            all.bytes = Some(86_400 * (3 << 20));
            all
        });
        assert!(finding(&RULE, &facts).message.contains("3.0 MiB/s of WAL"));
    }

    #[test]
    fn a_longer_interval_is_fine() {
        let mut facts = healthy();
        declare_tpcc(&mut facts);
        configure(&mut facts, "checkpoint_timeout", "600");
        ok(&RULE, &facts);
    }

    #[test]
    fn without_counters_or_a_declaration_nothing_is_claimed() {
        assert!(unknown(&RULE, &healthy()).starts_with("no statistics yet"));
    }
}
