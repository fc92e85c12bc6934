//! Updates that touch every index because there is no room beside the old row.
//!
//! ## What it finds
//! Tables with more than a thousand updates a minute of which less than half are heap-only (HOT).
//!
//! ## Why it matters
//! An update that is not HOT writes a new entry into every index of the table and leaves the old
//! ones to vacuum; a HOT one writes none (from PostgreSQL 16 on, at most into BRIN indexes, which no
//! longer keep an update from being HOT), and what it leaves is cleared by the next reader of the
//! page.
//!
//! ## What to do
//! There are two causes, and from PostgreSQL 16 on the counters tell them apart. Where most of the
//! other updates went to another page, there is no room: set a `fillfactor` of 80 to 90, which
//! holds for new pages, and rewrite the table once for the old ones. Otherwise an indexed column is
//! updated: drop that index, or leave the column out of it. Where both hold, look at the columns
//! first: room alone makes no update of an indexed one HOT.
//!
//! ## Risk
//! None to data. A lower fillfactor makes the table, and every scan of it, longer by the room left.
//!
//! ## When it does not apply
//! Rows that are updated once and never again.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/storage-hot.html>
//! - <https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-ALL-TABLES-VIEW>

use dbdyno_model::finding::Confidence;
use dbdyno_model::postgres::{Postgres, Table, TableUsage};
use dbdyno_model::{Facts, Finding, Needs, Outcome, Severity};

use crate::formulas::bloat::fillfactor_for_updates;
use crate::maintenance::tables;
use crate::rule::{FindingExt, Rule, humane_number, need_ref, server, settle};
use crate::scope::{DAY_S, LISTED, MINUTE_S, ScopeExt, on_primary, primary_statistics_of};
use crate::sql::{CostExt, StatementExt, statement};

pub(super) const RULE: Rule = Rule {
    id: "schema.hot_updates",
    severity: Severity::Info,
    confidence: Confidence::Medium,
    sources: &[
        "https://www.postgresql.org/docs/current/storage-hot.html",
        "https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-ALL-TABLES-VIEW",
    ],
    check,
    source_text: include_str!("hot_updates.rs"),
};

const MANY_PER_MINUTE: f64 = 1000.0;
const FEW_SHARE: f64 = 0.5;

/// Whole, where the table has no option of its own.
const FILLFACTOR: f64 = 100.0;

/// Room is for rows of this width where the statistics do not tell.
const COMMON_ROW_BYTES: f64 = 100.0;

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    on_primary(postgres, "updating")?;
    let tables = need_ref(&postgres.tables, "tables")?;
    if tables.iter().any(|table| table.usage.is_none()) {
        return Err(Outcome::Unknown(
            "updates of the tables: not collected".to_owned(),
        ));
    }
    let age_s = primary_statistics_of(postgres, DAY_S, "updates of the tables")?;
    let per_minute = |usage: &TableUsage| usage.updated as f64 / age_s * MINUTE_S;
    let mut cold: Vec<(&Table, &TableUsage)> = tables
        .iter()
        .filter_map(|table| Some((table, table.usage.as_ref()?)))
        .filter(|(_, usage)| per_minute(usage) > MANY_PER_MINUTE && hot_share(usage) < FEW_SHARE)
        .collect();
    cold.sort_by_key(|(table, usage)| {
        let others = usage.updated.saturating_sub(usage.hot_updated);
        (std::cmp::Reverse(others), tables::name(table))
    });
    let Some((worst, usage)) = cold.first() else {
        return Ok(Outcome::Ok);
    };
    let origin = &postgres.tables.origin;
    let mut finding = RULE
        .finding(format!(
            "{} is updated {} times a minute, {:.0} % of them without touching its indexes",
            tables::name(worst),
            humane_number(per_minute(usage)),
            hot_share(usage) * 100.0
        ))
        .of_database(postgres);
    for (table, usage) in cold.iter().take(LISTED) {
        finding = judged(finding, postgres, table, usage);
    }
    Ok(finding
        .and_more(cold.len().saturating_sub(LISTED), "such table", origin)
        .into_outcome())
}

fn hot_share(usage: &TableUsage) -> f64 {
    if usage.updated == 0 {
        return 1.0;
    }
    usage.hot_updated as f64 / usage.updated as f64
}

/// Of the updates that are not HOT, those that found no room; none before 16.
fn newpage_share(usage: &TableUsage) -> Option<f64> {
    let others = usage.updated.checked_sub(usage.hot_updated)?;
    (others > 0).then_some(usage.newpage_updated? as f64 / others as f64)
}

fn judged(finding: Finding, postgres: &Postgres, table: &Table, usage: &TableUsage) -> Finding {
    let name = tables::name(table);
    let share = newpage_share(usage);
    let why = match share {
        Some(share) => format!("{:.0} % of the others found no room", share * 100.0),
        None => "why is counted from PostgreSQL 16 on".to_owned(),
    };
    let finding = finding.evidence(
        format!("HOT updates of {name}"),
        format!("{} of {}; {why}", usage.hot_updated, usage.updated),
        &postgres.tables.origin,
    );
    let now: f64 = tables::option(table, "fillfactor")
        .and_then(|percent| percent.parse().ok())
        .unwrap_or(FILLFACTOR);
    let wanted = fillfactor_for_updates(table.row_bytes.unwrap_or(COMMON_ROW_BYTES));
    match share {
        Some(share) if share >= FEW_SHARE && wanted < now => finding.statement(
            statement(
                format!("ALTER TABLE {name} SET (fillfactor = {wanted})"),
                "where no indexed column is among those updated: room for new versions on new pages; old ones get it when they are rewritten",
            )
            .costing(format!("{:.0} % more pages to scan", 100.0 * (now / wanted - 1.0))),
        ),
        Some(share) if share < FEW_SHARE => finding.host_action(
            format!("find the indexed column of {name} that is updated, and whether a query needs its index"),
            Needs::Online,
        ),
        _ => finding,
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{
        finding, healthy, not_applicable, ok, postgres, unknown, with_statistics_of_days,
    };
    use dbdyno_model::postgres::{ReplicationRole, Table, TableUsage};
    use dbdyno_model::{Fact, Facts};

    /// Updates in one day of statistics.
    fn updated(updated: u64, hot: u64, newpage: Option<u64>, options: &[&str]) -> Facts {
        let mut facts = healthy();
        with_statistics_of_days(&mut facts, 1.0);
        let table = Table {
            schema: "public".into(),
            name: "stock".into(),
            row_bytes: Some(500.0),
            options: options.iter().map(|option| (*option).into()).collect(),
            usage: Some(TableUsage {
                updated,
                hot_updated: hot,
                newpage_updated: newpage,
                ..TableUsage::default()
            }),
            ..Table::default()
        };
        postgres(&mut facts).tables = Fact::known(vec![table], "pg_stat_all_tables");
        facts
    }

    #[test]
    fn no_room_takes_a_fillfactor() {
        let facts = updated(14_400_000, 1_440_000, Some(12_000_000), &[]);
        let found = finding(&RULE, &facts);
        insta::assert_snapshot!(found.message, @"public.stock is updated 10000 times a minute, 10 % of them without touching its indexes");
        insta::assert_snapshot!(found.statements[0].sql, @"ALTER TABLE public.stock SET (fillfactor = 85)");
        assert_eq!(
            found.statements[0].gives_up.as_deref(),
            Some("18 % more pages to scan")
        );
    }

    #[test]
    fn an_updated_key_takes_another_index_and_before_16_nobody_knows() {
        let found = finding(&RULE, &updated(14_400_000, 0, Some(10), &[]));
        assert_eq!(found.statements, []);
        assert!(found.host_actions[0].action.contains("indexed column"));
        let found = finding(&RULE, &updated(14_400_000, 0, None, &[]));
        assert_eq!((found.statements.len(), found.host_actions.len()), (0, 0));
        assert!(found.evidence[1].value.contains("from PostgreSQL 16 on"));
    }

    #[test]
    fn a_table_that_has_room_already_gets_no_more() {
        let facts = updated(14_400_000, 0, Some(14_000_000), &["fillfactor=80"]);
        assert_eq!(finding(&RULE, &facts).statements, []);
    }

    #[test]
    fn rare_and_hot_updates_are_fine() {
        ok(&RULE, &updated(1_000_000, 0, Some(0), &[]));
        ok(&RULE, &updated(14_400_000, 14_000_000, Some(0), &[]));
    }

    #[test]
    fn young_or_missing_counters_are_unknown_and_a_standby_not_applicable() {
        let mut facts = updated(14_400_000, 0, None, &[]);
        with_statistics_of_days(&mut facts, 0.5);
        assert!(unknown(&RULE, &facts).contains("12 hours old"));
        let server = postgres(&mut facts);
        server.tables = Fact::known(vec![Table::default()], "an older collector");
        assert!(unknown(&RULE, &facts).contains("not collected"));
        postgres(&mut facts).role = Fact::known(ReplicationRole::Standby, "test");
        not_applicable(&RULE, &facts);
    }
}
