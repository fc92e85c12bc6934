//! Sessions that are opened for a few statements and closed again.
//!
//! ## What it finds
//! More than ten new sessions a second, averaged over a day or more.
//!
//! ## Why it matters
//! Each session is a new process that logs in, reads its part of the catalogs and plans every
//! statement for the first time: milliseconds of CPU for statements that take less.
//!
//! ## What to do
//! Keep connections open in the application, or put a pooler in front.
//!
//! ## Risk
//! None to data. A pooler in transaction mode forbids what lives as long as a session (settings,
//! advisory locks, and prepared statements with some poolers).
//!
//! ## When it does not apply
//! Before PostgreSQL 14, which does not count sessions; counters younger than a day.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/monitoring-stats.html>
//! - <https://www.postgresql.org/docs/current/connect-estab.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use super::{load, releases};
use crate::rule::{FindingExt, Rule, humane_number, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "postgres.connection_churn",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &[
        "https://www.postgresql.org/docs/current/monitoring-stats.html",
        "https://www.postgresql.org/docs/current/connect-estab.html",
    ],
    check,
    source_text: include_str!("connection_churn.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

const FREQUENT_PER_S: f64 = 10.0;

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    releases::since(postgres, 14, "the count of sessions")?;
    load::latest(&postgres.database_counters, "sessions")?;
    let all = &postgres.database_counters;
    let undated = || load::undated("new sessions a second", all, |one| one.sessions);
    let counted = load::in_all_databases(all, |one| one.sessions).ok_or_else(undated)?;
    if counted.per_s <= FREQUENT_PER_S {
        return if counted.is_whole {
            Ok(Outcome::Ok)
        } else {
            Err(undated())
        };
    }
    Ok(RULE
        .finding(format!(
            "{} sessions are opened a second: each is a new process for a few statements",
            humane_number(counted.per_s)
        ))
        .evidence("sessions", counted.amount, "pg_stat_database")
        .evidence(
            "over",
            format!("up to {:.0} hours", counted.seconds / 3600.0),
            "pg_stat_database",
        )
        .host_action(
            "keep connections open in the application, or put a pooler in front of the server",
            Needs::Online,
        )
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{
        finding, healthy, not_applicable, ok, postgres, unknown, with_statistics_of_days,
    };
    use dbdyno_model::postgres::DatabaseCounters;
    use dbdyno_model::{Fact, Facts};

    fn opened(a_day: u64) -> Facts {
        let mut facts = healthy();
        let one = |name: Option<&str>, sessions| DatabaseCounters {
            name: name.map(str::to_owned),
            sessions,
            ..DatabaseCounters::default()
        };
        postgres(&mut facts).database_counters.before = Fact::known(
            vec![one(None, Some(0)), one(Some("shop"), Some(a_day))],
            "pg_stat_database",
        );
        with_statistics_of_days(&mut facts, 1.0);
        facts
    }

    #[test]
    fn a_database_of_unknown_age_is_not_taken_for_a_quiet_one() {
        let mut facts = opened(86_400);
        let all = &mut postgres(&mut facts).database_counters.before;
        *all = all.clone().map(|mut all| {
            all.push(DatabaseCounters {
                name: Some("new".to_owned()),
                sessions: Some(1_000_000),
                ..DatabaseCounters::default()
            });
            all
        });
        assert_eq!(
            unknown(&RULE, &facts),
            "new sessions a second: since when the counters of some databases count is not known"
        );
    }

    #[test]
    fn many_sessions_are_found() {
        let finding = finding(&RULE, &opened(86_400 * 25));
        assert_eq!(
            finding.message,
            "25 sessions are opened a second: each is a new process for a few statements"
        );
    }

    #[test]
    fn few_sessions_are_fine() {
        ok(&RULE, &opened(86_400));
    }

    #[test]
    fn young_counters_are_unknown_and_thirteen_counts_none() {
        let mut facts = opened(86_400);
        with_statistics_of_days(&mut facts, 0.1);
        assert!(unknown(&RULE, &facts).starts_with("new sessions a second"));
        assert_eq!(unknown(&RULE, &healthy()), "sessions: not collected");
        postgres(&mut facts).version_num = 130_023;
        not_applicable(&RULE, &facts);
    }
}
