//! Queries compiled that end before compiling pays.
//!
//! ## What it finds
//! `jit` on where compiling took more than a tenth as long as all statements together, or where
//! short transactions that write are declared as the load.
//!
//! ## Why it matters
//! A plan whose estimated cost is high enough is compiled to machine code first, which takes tens
//! to hundreds of milliseconds. Short transactions never need that, and one wrong estimate adds it
//! to a query of one millisecond. PostgreSQL 19 switches it off by default.
//!
//! ## What to do
//! Set `jit` to off; sessions that report may set it on for themselves. Where they are many, raise
//! `jit_above_cost` instead, until only their plans are compiled.
//!
//! ## Risk
//! None to data. Long analytical queries may take longer.
//!
//! ## When it does not apply
//! Servers on which less time is spent so. How much it is, pg_stat_statements counts from PostgreSQL
//! 15 on; of less than a minute of statements nothing is concluded.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/jit-decision.html>
//! - <https://www.postgresql.org/docs/current/pgstatstatements.html>
//! - <https://www.postgresql.org/docs/19/release-19.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::postgres::Postgres;
use dbdyno_model::{Facts, Outcome, Severity};

use super::load;
use super::settings::{self, SettingEvidence, value};
use crate::rule::{FindingExt, RecommendationExt, Rule, need_ref, safe, server, settle};
use crate::scope::humane_time;

pub(super) const RULE: Rule = Rule {
    id: "postgres.just_in_time",
    severity: Severity::Info,
    confidence: Confidence::Medium,
    sources: &[
        "https://www.postgresql.org/docs/current/jit-decision.html",
        "https://www.postgresql.org/docs/current/pgstatstatements.html",
        "https://www.postgresql.org/docs/19/release-19.html",
    ],
    check,
    source_text: include_str!("just_in_time.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

/// Time spent compiling, over that of all statements, from which it costs more than it brings.
const MUCH_SHARE: f64 = 0.10;

/// Statements of less time are those of a start or of a person.
const ENOUGH_MS: f64 = 60_000.0;

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    if !settings::flag(postgres, "jit")? {
        return Ok(Outcome::Ok);
    }
    let counted = compiling_share(postgres);
    let much = counted
        .as_ref()
        .ok()
        .copied()
        .filter(|share| *share > MUCH_SHARE);
    let (confidence, why) = if let Some(share) = much {
        let percent = share * 100.0;
        (
            Confidence::High,
            format!("compiling took {percent:.0} % as long as all statements together"),
        )
    } else if let Some(workload) = load::declared_writes(facts) {
        (
            RULE.confidence,
            format!(
                "compiling cannot pay for the declared workload {workload}, whose transactions \
                 are short"
            ),
        )
    } else {
        return counted.map(|_| Outcome::Ok);
    };
    let mut finding = RULE
        .finding(format!("jit is on: {why}"))
        .shows(postgres, "jit");
    finding.confidence = confidence;
    if let Some(share) = much {
        let shown = format!("{:.1} %", share * 100.0);
        finding = finding.evidence("time spent compiling", shown, &postgres.statements.origin);
    }
    Ok(finding
        .recommend(
            safe(
                "jit",
                value("off"),
                "short transactions end before compiled code pays",
            )
            .giving_up("speed of long analytical queries"),
        )
        .into_outcome())
}

/// Or the outcome that says why it cannot be told.
fn compiling_share(postgres: &Postgres) -> Result<f64, Outcome> {
    const NAME: &str = "time spent compiling";
    let statements = need_ref(&postgres.statements, NAME)?;
    let Some(compiling_ms) = statements.jit_ms else {
        return Err(Outcome::Unknown(format!(
            "{NAME}: pg_stat_statements counts it from 1.10 on, which comes with PostgreSQL 15"
        )));
    };
    if statements.total_ms < ENOUGH_MS {
        return Err(Outcome::Unknown(format!(
            "{NAME}: statements of {} were counted, {} are needed",
            humane_time(statements.total_ms / 1000.0),
            humane_time(ENOUGH_MS / 1000.0)
        )));
    }
    Ok(compiling_ms / statements.total_ms)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{configure, declare_tpcc, finding, healthy, ok, postgres, unknown};
    use dbdyno_model::finding::Confidence;
    use dbdyno_model::postgres::Statements;
    use dbdyno_model::{Fact, Facts};

    fn compiling(jit_ms: Option<f64>, total_ms: f64) -> Facts {
        let mut facts = healthy();
        let statements = Statements {
            jit_ms,
            total_ms,
            ..Statements::default()
        };
        postgres(&mut facts).statements = Fact::known(statements, "pg_stat_statements");
        facts
    }

    #[test]
    fn more_than_a_tenth_of_the_time_is_found_whatever_is_declared() {
        let mut facts = compiling(Some(15_000.0), 100_000.0);
        let found = finding(&RULE, &facts);
        insta::assert_snapshot!(found.message, @"jit is on: compiling took 15 % as long as all statements together");
        assert_eq!(found.confidence, Confidence::High);
        declare_tpcc(&mut facts);
        assert_eq!(finding(&RULE, &facts).message, found.message);
    }

    #[test]
    fn less_is_fine() {
        ok(&RULE, &compiling(Some(9_000.0), 100_000.0));
        ok(&RULE, &compiling(Some(0.0), 100_000.0));
    }

    #[test]
    fn a_moment_s_statements_and_older_counters_tell_nothing() {
        insta::assert_snapshot!(unknown(&RULE, &compiling(Some(900.0), 1000.0)), @"time spent compiling: statements of 1 second were counted, 60 seconds are needed");
        insta::assert_snapshot!(unknown(&RULE, &compiling(None, 1e6)), @"time spent compiling: pg_stat_statements counts it from 1.10 on, which comes with PostgreSQL 15");
    }

    #[test]
    fn on_is_found_for_declared_short_transactions() {
        let mut facts = healthy();
        declare_tpcc(&mut facts);
        insta::assert_snapshot!(finding(&RULE, &facts).message, @"jit is on: compiling cannot pay for the declared workload tpcc, whose transactions are short");
    }

    #[test]
    fn off_is_fine() {
        let mut facts = healthy();
        configure(&mut facts, "jit", "off");
        ok(&RULE, &facts);
    }

    #[test]
    fn without_a_declared_load_it_is_unknown() {
        assert!(unknown(&RULE, &healthy()).starts_with("time spent compiling"));
    }
}
