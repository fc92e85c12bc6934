//! More tables due than autovacuum has workers.
//!
//! ## What it finds
//! Every autovacuum worker at work while more tables than there are workers are past their
//! threshold.
//!
//! ## Why it matters
//! Each worker takes one table. While all of them are in large tables, a small, busy one waits and
//! bloats.
//!
//! ## What to do
//! Raise `autovacuum_max_workers` together with `autovacuum_vacuum_cost_limit`: the workers share
//! the limit, so that more of them alone only makes each slower.
//!
//! ## Risk
//! None to data. Each worker may use `autovacuum_work_mem`; before PostgreSQL 18 it needs a
//! restart.
//!
//! ## When it does not apply
//! Servers on which a worker is free; standbys, which have none.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/runtime-config-vacuum.html>
//! - <https://www.postgresql.org/docs/18/release-18.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Outcome, Severity};

use super::tables;
use crate::postgres::settings::{self, SettingEvidence, value};
use crate::rule::{FindingExt, RecommendationExt, Rule, need_ref, safe, server, settle};
use crate::scope::on_primary;

pub(super) const RULE: Rule = Rule {
    id: "maintenance.autovacuum_workers",
    severity: Severity::Info,
    confidence: Confidence::Low,
    sources: &[
        "https://www.postgresql.org/docs/current/runtime-config-vacuum.html",
        "https://www.postgresql.org/docs/18/release-18.html",
    ],
    check,
    source_text: include_str!("autovacuum_workers.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

/// More than this at a time would compete with the load itself.
const MOST_WORKERS: f64 = 10.0;

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    on_primary(postgres, "vacuuming")?;
    let activity = need_ref(&postgres.activity, "activity")?;
    let allowed = settings::number(postgres, "autovacuum_max_workers")?;
    if (activity.autovacuum_workers as f64) < allowed {
        return Ok(Outcome::Ok);
    }
    let due = tables::overdue(postgres)?.len() as f64;
    if due <= allowed {
        return Ok(Outcome::Ok);
    }
    // From 18 workers can be added without a restart, up to the slots there are.
    let slots = postgres
        .number("autovacuum_worker_slots")
        .unwrap_or(MOST_WORKERS);
    let wanted = due.min(allowed * 2.0).min(MOST_WORKERS).min(slots);
    let finding = RULE
        .finding(format!(
            "all {allowed} autovacuum workers are busy, and {due} tables are due"
        ))
        .evidence(
            "workers",
            activity.autovacuum_workers,
            postgres.activity.origin.clone(),
        )
        .evidence("tables due", due, postgres.tables.origin.clone())
        .shows(postgres, "autovacuum_max_workers");
    if wanted <= allowed {
        return Ok(finding.into_outcome());
    }
    let limit = (tables::cost_limit(postgres)? * wanted / allowed).round();
    Ok(finding
        .recommend(
            safe(
                "autovacuum_max_workers",
                value(wanted.to_string()),
                "tables need not wait for large ones",
            )
            .giving_up("memory for each worker"),
        )
        .recommend(
            safe(
                "autovacuum_vacuum_cost_limit",
                value(limit.to_string()),
                "the workers share it: each stays as fast as before",
            )
            .giving_up("a larger share of the storage while vacuum runs"),
        )
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, ok, postgres, set, unknown};
    use dbdyno_model::finding::Want;
    use dbdyno_model::postgres::Table;
    use dbdyno_model::{Fact, Facts};

    fn busy(workers: u64, due: usize) -> Facts {
        let mut facts = healthy();
        let server = postgres(&mut facts);
        server.activity = server.activity.clone().map(|mut activity| {
            activity.autovacuum_workers = workers;
            activity
        });
        let table = Table {
            rows_estimate: Some(1000.0),
            dead_tuples: 500,
            ..Table::default()
        };
        server.tables = Fact::known(vec![table; due], "pg_stat_user_tables");
        facts
    }

    #[test]
    fn a_queue_is_found_and_the_limit_grows_with_the_workers() {
        let finding = finding(&RULE, &busy(3, 12));
        insta::assert_snapshot!(finding.message, @"all 3 autovacuum workers are busy, and 12 tables are due");
        let wants: Vec<_> = finding
            .recommendations
            .iter()
            .map(|one| one.want.clone())
            .collect();
        assert_eq!(wants, [Want::Value("6".into()), Want::Value("400".into())]);
    }

    #[test]
    fn the_slots_of_18_bound_the_workers() {
        let mut facts = busy(3, 12);
        set(&mut facts, "autovacuum_worker_slots", "3");
        assert_eq!(finding(&RULE, &facts).recommendations, []);
    }

    #[test]
    fn a_free_worker_or_a_short_queue_is_fine() {
        ok(&RULE, &busy(2, 12));
        ok(&RULE, &busy(3, 3));
    }

    #[test]
    fn unread_activity_is_unknown() {
        let mut facts = healthy();
        postgres(&mut facts).activity = Fact::default();
        unknown(&RULE, &facts);
    }
}
