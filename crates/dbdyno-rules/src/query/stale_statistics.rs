//! Tables that changed much since the planner last looked at them.
//!
//! ## What it finds
//! Tables of ten thousand rows or more of which more than 20 % changed since they were analysed
//! more than an hour ago, and that are twice past the threshold at which autovacuum analyses them.
//!
//! ## Why it matters
//! The planner guesses from what it found then. Where the rows have become others, it takes the
//! wrong index or the wrong join, and a statement that took milliseconds takes minutes.
//!
//! ## What to do
//! `ANALYZE` now, and find out why autovacuum did not: it is off for the table, all workers are
//! busy (`maintenance.autovacuum_workers`), or a worker is cancelled again and again by a lock.
//! Columns with skewed values take a higher statistics target, columns that depend on each other
//! `CREATE STATISTICS`.
//!
//! ## Risk
//! None. ANALYZE reads a sample.
//!
//! ## When it does not apply
//! Tables whose values stay alike however often they change. Whether a plan's guesses are wrong
//! shows only `EXPLAIN ANALYZE`, which dbdyno does not run.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/routine-vacuuming.html#VACUUM-FOR-STATISTICS>
//! - <https://www.postgresql.org/docs/current/planner-stats.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::postgres::Table;
use dbdyno_model::words::plural;
use dbdyno_model::{Facts, Outcome, Severity};

use crate::maintenance::tables;
use crate::rule::{FindingExt, Rule, need_ref, server, settle};
use crate::scope::{HOUR_S, LISTED, ScopeExt, humane_count, humane_time, on_primary};
use crate::sql::{StatementExt, statement};

pub(super) const RULE: Rule = Rule {
    id: "query.stale_statistics",
    severity: Severity::Warn,
    confidence: Confidence::Medium,
    sources: &[
        "https://www.postgresql.org/docs/current/routine-vacuuming.html#VACUUM-FOR-STATISTICS",
        "https://www.postgresql.org/docs/current/planner-stats.html",
    ],
    check,
    source_text: include_str!("stale_statistics.rs"),
};

/// A wrong plan for less costs little.
const LEAST_ROWS: f64 = 10_000.0;
const MUCH_SHARE: f64 = 0.2;

/// Autovacuum is late when it could have come long ago.
const LATE: f64 = 2.0;

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    on_primary(postgres, "analysing")?;
    let mut stale: Vec<&Table> = Vec::new();
    for table in need_ref(&postgres.tables, "tables")? {
        let modified = table.modified_since_analyze as f64;
        // One that was never analysed is another rule's.
        let waits = table.since_analyze_s.is_some_and(|since| since > HOUR_S);
        if waits
            && tables::rows(table) >= LEAST_ROWS
            && modified > tables::rows(table) * MUCH_SHARE
            && modified > tables::analyze_threshold(postgres, table)? * LATE
        {
            stale.push(table);
        }
    }
    stale.sort_by_key(|table| (std::cmp::Reverse(table.size_bytes), tables::name(table)));
    let Some(largest) = stale.first() else {
        return Ok(Outcome::Ok);
    };
    let origin = &postgres.tables.origin;
    let mut finding = RULE
        .finding(format!(
            "{} changed much since the last ANALYZE, the largest {} by {:.0} % in {}",
            plural(stale.len() as u64, "table"),
            tables::name(largest),
            largest.modified_since_analyze as f64 / tables::rows(largest) * 100.0,
            humane_time(largest.since_analyze_s.unwrap_or_default())
        ))
        .of_database(postgres);
    for table in stale.iter().take(LISTED) {
        let name = tables::name(table);
        let value = format!(
            "{} of {} rows",
            humane_count(table.modified_since_analyze as f64),
            humane_count(tables::rows(table))
        );
        finding = finding
            .evidence(format!("changed in {name}"), value, origin)
            .statement(statement(
                format!("ANALYZE {name}"),
                "the planner knows its rows again",
            ));
    }
    Ok(finding
        .and_more(stale.len().saturating_sub(LISTED), "such table", origin)
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, not_applicable, ok, postgres, unknown};
    use dbdyno_model::postgres::{ReplicationRole, Table};
    use dbdyno_model::{Fact, Facts};

    fn changed(rows: f64, modified: u64, since_analyze_s: Option<f64>) -> Facts {
        let mut facts = healthy();
        let table = Table {
            schema: "public".into(),
            name: "Stock".into(),
            rows_estimate: Some(rows),
            modified_since_analyze: modified,
            since_analyze_s,
            never_analyzed: since_analyze_s.is_none(),
            ..Table::default()
        };
        postgres(&mut facts).tables = Fact::known(vec![table], "pg_stat_all_tables");
        facts
    }

    #[test]
    fn a_table_that_autovacuum_passed_by_is_found() {
        let found = finding(&RULE, &changed(1e6, 600_000, Some(90_000.0)));
        insta::assert_snapshot!(found.message, @r#"1 table changed much since the last ANALYZE, the largest public."Stock" by 60 % in 25 hours"#);
        assert_eq!(found.statements[0].sql, "ANALYZE public.\"Stock\"");
    }

    #[test]
    fn fresh_small_and_slightly_changed_tables_are_fine() {
        ok(&RULE, &changed(1e6, 600_000, Some(60.0)));
        ok(&RULE, &changed(5000.0, 5000, Some(90_000.0)));
        ok(&RULE, &changed(1e6, 150_000, Some(90_000.0)));
        ok(&RULE, &changed(1e6, 600_000, None));
    }

    #[test]
    fn a_standby_is_not_applicable_and_unread_tables_are_unknown() {
        let mut facts = changed(1e6, 600_000, Some(90_000.0));
        postgres(&mut facts).role = Fact::known(ReplicationRole::Standby, "test");
        not_applicable(&RULE, &facts);
        let mut facts = healthy();
        postgres(&mut facts).tables = Fact::default();
        unknown(&RULE, &facts);
    }
}
