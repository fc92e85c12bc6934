//! A planner that knows too little of all tables, or samples too much of them.
//!
//! ## What it finds
//! `default_statistics_target` set below its default of 100, or above 1000.
//!
//! ## Why it matters
//! It is the number of most common values and of histogram steps that `ANALYZE` keeps for each
//! column, and 300 times as many rows are read for it. Too few, and estimates of skewed columns are
//! off by orders of magnitude; thousands for every column make `ANALYZE`, autovacuum and the
//! planning of each query slower for columns that never needed them.
//!
//! ## What to do
//! Set it to 100, and raise it where a plan shows a bad estimate: `ALTER TABLE … ALTER COLUMN … SET
//! STATISTICS 1000`, then `ANALYZE`.
//!
//! ## Risk
//! None to data. Plans may change after the next `ANALYZE`.
//!
//! ## When it does not apply
//! Databases for analysis whose queries take far longer than their planning.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/runtime-config-query.html>
//! - <https://www.postgresql.org/docs/current/planner-stats.html>
//! - PostgreSQL's source, src/backend/commands/analyze.c (300 rows for each value)

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use super::settings::{self, SettingEvidence, value};
use crate::rule::{FindingExt, RecommendationExt, Rule, safe, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "postgres.statistics_target",
    severity: Severity::Info,
    confidence: Confidence::Medium,
    sources: &[
        "https://www.postgresql.org/docs/current/runtime-config-query.html",
        "https://www.postgresql.org/docs/current/planner-stats.html",
        "PostgreSQL's source, src/backend/commands/analyze.c",
    ],
    check,
    source_text: include_str!("statistics_target.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

const DEFAULT: f64 = 100.0;
const MUCH: f64 = 1000.0;

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    let now = settings::number(postgres, "default_statistics_target")?;
    let name = "default_statistics_target";
    if now < DEFAULT {
        return Ok(RULE
            .finding(format!(
                "{name} is {now}: the planner keeps fewer values of each column than by default"
            ))
            .shows(postgres, name)
            .recommend(
                safe(
                    name,
                    value(DEFAULT.to_string()),
                    "estimates of skewed columns come closer",
                )
                .giving_up("time and reads of ANALYZE"),
            )
            .into_outcome());
    }
    if now <= MUCH {
        return Ok(Outcome::Ok);
    }
    Ok(RULE
        .finding(format!(
            "{name} is {now}: ANALYZE samples {:.1} million rows of every large table",
            now * 300.0 / 1e6
        ))
        .shows(postgres, name)
        .host_action(
            "set it to 100, and more for single columns: ALTER TABLE … ALTER COLUMN … SET STATISTICS",
            Needs::Reload,
        )
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{configure, finding, healthy, ok, postgres, unknown};
    use dbdyno_model::finding::Want;

    #[test]
    fn too_few_values_are_found() {
        let mut facts = healthy();
        configure(&mut facts, "default_statistics_target", "10");
        let finding = finding(&RULE, &facts);
        assert_eq!(finding.recommendations[0].want, Want::Value("100".into()));
    }

    #[test]
    fn a_sample_of_millions_is_found_and_left_to_the_columns() {
        let mut facts = healthy();
        configure(&mut facts, "default_statistics_target", "5000");
        let finding = finding(&RULE, &facts);
        assert_eq!(
            finding.message,
            "default_statistics_target is 5000: ANALYZE samples 1.5 million rows of every large table"
        );
        assert_eq!(finding.recommendations, []);
    }

    #[test]
    fn the_default_and_a_moderate_value_are_fine_and_an_unread_one_unknown() {
        let mut facts = healthy();
        ok(&RULE, &facts);
        configure(&mut facts, "default_statistics_target", "500");
        ok(&RULE, &facts);
        postgres(&mut facts)
            .settings
            .remove("default_statistics_target");
        unknown(&RULE, &facts);
    }
}
