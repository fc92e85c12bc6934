//! Checkpoints that write in a burst.
//!
//! ## What it finds
//! `checkpoint_completion_target` below 0.9.
//!
//! ## Why it matters
//! A checkpoint spreads its writes over this share of the interval. At 0.5, the default before
//! PostgreSQL 14, it writes twice as fast as it needs to for half of the time, and commits wait
//! behind it.
//!
//! ## What to do
//! Set it to 0.9.
//!
//! ## Risk
//! None. The log that a crash leaves to replay grows a little.
//!
//! ## When it does not apply
//! Nowhere.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/runtime-config-wal.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Outcome, Severity};

use super::settings::{self, SettingEvidence, value};
use crate::rule::{FindingExt, RecommendationExt, Rule, safe, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "postgres.checkpoint_completion_target",
    severity: Severity::Info,
    confidence: Confidence::High,
    sources: &["https://www.postgresql.org/docs/current/runtime-config-wal.html"],
    check,
    source_text: include_str!("checkpoint_completion_target.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

const WANTED: f64 = 0.9;

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    let now = settings::number(postgres, "checkpoint_completion_target")?;
    if now >= WANTED {
        return Ok(Outcome::Ok);
    }
    Ok(RULE
        .finding(format!(
            "checkpoint_completion_target is {now}: checkpoints write {:.1} times as fast as they need to",
            WANTED / now.max(0.1)
        ))
        .shows(postgres, "checkpoint_completion_target")
        .recommend(
            safe(
                "checkpoint_completion_target",
                value(WANTED.to_string()),
                "checkpoints write evenly until the next one",
            )
            .giving_up("recovery time: a crash has a little more log to replay"),
        )
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{configure, finding, healthy, not_applicable, ok};

    #[test]
    fn the_old_default_is_found() {
        let mut facts = healthy();
        configure(&mut facts, "checkpoint_completion_target", "0.5");
        insta::assert_snapshot!(finding(&RULE, &facts).message, @"checkpoint_completion_target is 0.5: checkpoints write 1.8 times as fast as they need to");
    }

    #[test]
    fn the_present_default_is_fine() {
        ok(&RULE, &healthy());
    }

    #[test]
    fn a_host_without_a_server_is_not_applicable() {
        let mut facts = healthy();
        facts.postgres = None;
        not_applicable(&RULE, &facts);
    }
}
