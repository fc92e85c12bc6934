//! Large tables that wait for millions of dead rows.
//!
//! ## What it finds
//! A table that becomes due for autovacuum only after more than a million dead rows and already has
//! a tenth of them.
//!
//! ## Why it matters
//! The default threshold is a fifth of the table: 100 million dead rows in a table of 500 million.
//! Until then every scan reads them, and the vacuum that follows runs for hours.
//!
//! ## What to do
//! Per table, set `autovacuum_vacuum_scale_factor` so that about a million dead rows make it due,
//! with a base of 1,000. Small tables keep the default.
//!
//! ## Risk
//! None to data. The table is vacuumed more often, for a shorter time.
//!
//! ## When it does not apply
//! Tables that hardly change; from PostgreSQL 18 `autovacuum_vacuum_max_threshold` bounds the
//! threshold at 100 million.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/routine-vacuuming.html>
//! - <https://www.postgresql.org/docs/current/runtime-config-vacuum.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::postgres::Table;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use super::tables;
use crate::formulas::vacuum::scale_factor_for;
use crate::rule::{FindingExt, Rule, need_ref, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "maintenance.vacuum_threshold",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &[
        "https://www.postgresql.org/docs/current/routine-vacuuming.html",
        "https://www.postgresql.org/docs/current/runtime-config-vacuum.html",
    ],
    check,
    source_text: include_str!("vacuum_threshold.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

/// Dead rows that a table should not collect more of.
const TARGET_ROWS: f64 = 1e6;
const TARGET_BASE: f64 = 1000.0;

/// Share of the threshold that shows that the table does change.
const CHANGING_SHARE: f64 = 0.1;

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    let tables = need_ref(&postgres.tables, "tables")?;
    let mut late: Vec<(&Table, f64)> = Vec::new();
    for table in tables {
        let threshold = tables::vacuum_threshold(postgres, table)?;
        if threshold > TARGET_ROWS && table.dead_tuples as f64 > threshold * CHANGING_SHARE {
            late.push((table, threshold));
        }
    }
    late.sort_by(|a, b| {
        b.1.total_cmp(&a.1)
            .then_with(|| tables::name(a.0).cmp(&tables::name(b.0)))
    });
    let Some((worst, threshold)) = late.first() else {
        return Ok(Outcome::Ok);
    };
    let mut finding = RULE.finding(format!(
        "{} is vacuumed only after {:.1} million dead rows; it has {:.1} million",
        tables::name(worst),
        threshold / 1e6,
        worst.dead_tuples as f64 / 1e6
    ));
    for (table, threshold) in &late {
        let name = tables::name(table);
        let scale = scale_factor_for(TARGET_ROWS, TARGET_BASE, tables::rows(table));
        finding = finding
            .evidence(
                format!("threshold of {name}"),
                format!("{threshold:.0} rows, {} dead", table.dead_tuples),
                postgres.tables.origin.clone(),
            )
            .host_action(
                format!(
                    "ALTER TABLE {name} SET (autovacuum_vacuum_scale_factor = {scale}, autovacuum_vacuum_threshold = {TARGET_BASE})"
                ),
                Needs::Online,
            );
    }
    Ok(finding.into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, ok, postgres, set, unknown};
    use dbdyno_model::postgres::Table;
    use dbdyno_model::{Fact, Facts};

    fn with_table(rows: f64, dead: u64, options: &[&str]) -> Facts {
        let mut facts = healthy();
        let table = Table {
            schema: "public".into(),
            name: "history".into(),
            rows_estimate: Some(rows),
            dead_tuples: dead,
            options: options.iter().map(|option| (*option).into()).collect(),
            ..Table::default()
        };
        postgres(&mut facts).tables = Fact::known(vec![table], "pg_stat_user_tables");
        facts
    }

    #[test]
    fn a_large_table_is_found_with_the_line_that_mends_it() {
        let finding = finding(&RULE, &with_table(500e6, 40_000_000, &[]));
        insta::assert_snapshot!(finding.message, @"public.history is vacuumed only after 100.0 million dead rows; it has 40.0 million");
        insta::assert_snapshot!(finding.host_actions[0].action, @"ALTER TABLE public.history SET (autovacuum_vacuum_scale_factor = 0.002, autovacuum_vacuum_threshold = 1000)");
    }

    #[test]
    fn small_quiet_and_tuned_tables_are_fine() {
        ok(&RULE, &with_table(1e6, 190_000, &[]));
        ok(&RULE, &with_table(500e6, 1000, &[]));
        let tuned = ["autovacuum_vacuum_scale_factor=0.001"];
        ok(&RULE, &with_table(500e6, 40_000_000, &tuned));
    }

    #[test]
    fn the_bound_of_18_is_respected() {
        let mut facts = with_table(5e9, 50_000_000, &[]);
        set(&mut facts, "autovacuum_vacuum_max_threshold", "100000000");
        assert!(
            finding(&RULE, &facts)
                .message
                .contains("after 100.0 million")
        );
        set(&mut facts, "autovacuum_vacuum_max_threshold", "1000000");
        ok(&RULE, &facts);
    }

    #[test]
    fn unread_tables_are_unknown() {
        let mut facts = healthy();
        postgres(&mut facts).tables = Fact::default();
        unknown(&RULE, &facts);
    }
}
