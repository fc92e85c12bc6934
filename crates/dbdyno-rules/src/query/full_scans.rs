//! Large tables that are read from end to end again and again.
//!
//! ## What it finds
//! Tables of more than 100 MB, without their indexes and TOAST, that are scanned sequentially more
//! than once a minute, reading at least half of their rows each time.
//!
//! ## Why it matters
//! Each such scan reads the whole table and takes its place in memory from others.
//!
//! ## What to do
//! Find the statement, which is listed where pg_stat_statements names the table, and index the
//! column that it filters or joins by. More memory for joins does not replace an index.
//!
//! ## Risk
//! Each index costs a write for each new row.
//!
//! ## When it does not apply
//! Reports and exports that want the whole table. Parallel workers count their scans one by one. A
//! scan that stops early, as with `LIMIT`, reads few rows and is not counted here.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-ALL-TABLES-VIEW>

use dbdyno_model::finding::Confidence;
use dbdyno_model::postgres::{Postgres, Table, TableUsage, TrackedStatement};
use dbdyno_model::{Facts, Outcome, Severity};

use super::statements::{name, names};
use crate::maintenance::tables;
use crate::rule::{FindingExt, Rule, humane_bytes, humane_number, need_ref, server, settle};
use crate::scope::{DAY_S, LISTED, MINUTE_S, ScopeExt, humane_count, statistics_of};

pub(super) const RULE: Rule = Rule {
    id: "query.full_scans",
    severity: Severity::Warn,
    confidence: Confidence::Medium,
    sources: &[
        "https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-ALL-TABLES-VIEW",
    ],
    check,
    source_text: include_str!("full_scans.rs"),
};

const LARGE_BYTES: u64 = 100_000_000;
const OFTEN_PER_MINUTE: f64 = 1.0;

/// Share of the table's rows that a scan reads at least.
const MOST_ROWS: f64 = 0.5;

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    let tables = need_ref(&postgres.tables, "tables")?;
    let large: Vec<&Table> = tables
        .iter()
        .filter(|table| tables::own_bytes(table) > LARGE_BYTES)
        .collect();
    if large.is_empty() {
        return Ok(Outcome::Ok);
    }
    if large.iter().any(|table| table.usage.is_none()) {
        return Err(Outcome::Unknown(
            "scans of the tables: not collected".to_owned(),
        ));
    }
    let age_s = statistics_of(postgres, DAY_S, "scans of the tables")?;
    let per_minute = |usage: &TableUsage| usage.sequential_scans as f64 / age_s * MINUTE_S;
    let mut scanned: Vec<(&Table, &TableUsage)> = large
        .into_iter()
        .filter_map(|table| Some((table, table.usage.as_ref()?)))
        .filter(|(table, usage)| {
            per_minute(usage) > OFTEN_PER_MINUTE
                && rows_per_scan(usage) >= tables::rows(table) * MOST_ROWS
        })
        .collect();
    scanned.sort_by_key(|(table, usage)| {
        (
            std::cmp::Reverse(usage.sequential_rows),
            tables::name(table),
        )
    });
    let Some((worst, usage)) = scanned.first() else {
        return Ok(Outcome::Ok);
    };
    let origin = &postgres.tables.origin;
    let mut finding = RULE
        .finding(format!(
            "{} ({}) is read from end to end {} times a minute",
            tables::name(worst),
            humane_bytes(tables::own_bytes(worst)),
            humane_number(per_minute(usage))
        ))
        .of_database(postgres);
    for (table, usage) in scanned.iter().take(LISTED) {
        let value = format!(
            "{} of {} rows each, {} times a minute, beside {} index scans",
            humane_count(rows_per_scan(usage)),
            humane_count(tables::rows(table)),
            humane_number(per_minute(usage)),
            humane_count(usage.index_scans as f64)
        );
        finding = finding.evidence(format!("scans of {}", tables::name(table)), value, origin);
        if let Some(statement) = suspect(postgres, table) {
            finding = finding.evidence(
                format!("statement that names {}", tables::name(table)),
                name(statement),
                &postgres.statements.origin,
            );
        }
    }
    Ok(finding
        .and_more(scanned.len().saturating_sub(LISTED), "such table", origin)
        .into_outcome())
}

fn rows_per_scan(usage: &TableUsage) -> f64 {
    if usage.sequential_scans == 0 {
        return 0.0;
    }
    usage.sequential_rows as f64 / usage.sequential_scans as f64
}

/// Of the statements that name the table, the one that passes most blocks.
fn suspect<'a>(postgres: &'a Postgres, table: &Table) -> Option<&'a TrackedStatement> {
    let statements = &postgres.statements.value()?.listed;
    statements
        .iter()
        .filter(|statement| names(&statement.text, &table.name))
        .max_by_key(|statement| statement.blocks())
}

#[cfg(test)]
mod tests {
    use super::{RULE, names};
    use crate::query::statements::testing::{statement, with};
    use crate::testing::{finding, healthy, ok, postgres, unknown, with_statistics_of_days};
    use dbdyno_model::postgres::{Table, TableUsage};
    use dbdyno_model::{Fact, Facts};

    /// A table of a million rows, scanned so often in one day.
    fn scanned(mib: u64, scans: u64, rows_each: u64) -> Facts {
        let mut facts = with(vec![
            statement("7", "SELECT * FROM orders WHERE note = $1", 100.0),
            statement("8", "SELECT * FROM orders_old", 900.0),
        ]);
        with_statistics_of_days(&mut facts, 1.0);
        let table = Table {
            schema: "public".into(),
            name: "orders".into(),
            size_bytes: mib << 20,
            rows_estimate: Some(1e6),
            usage: Some(TableUsage {
                sequential_scans: scans,
                sequential_rows: scans * rows_each,
                index_scans: 12,
                ..TableUsage::default()
            }),
            ..Table::default()
        };
        postgres(&mut facts).tables = Fact::known(vec![table], "pg_stat_all_tables");
        facts
    }

    #[test]
    fn a_table_that_is_read_whole_is_found_with_the_statement_that_names_it() {
        let found = finding(&RULE, &scanned(900, 14_400, 1_000_000));
        insta::assert_snapshot!(found.message, @"public.orders (900 MiB) is read from end to end 10 times a minute");
        insta::assert_snapshot!(found.evidence[1].value, @"1 million of 1 million rows each, 10 times a minute, beside 12 index scans");
        assert!(found.evidence[2].value.starts_with("7 SELECT"));
    }

    #[test]
    fn small_tables_rare_and_short_scans_are_fine() {
        ok(&RULE, &scanned(10, 14_400, 1_000_000));
        ok(&RULE, &scanned(900, 100, 1_000_000));
        ok(&RULE, &scanned(900, 14_400, 10));
    }

    /// Documents of many megabytes each lie in TOAST, which no scan of the table passes.
    #[test]
    fn what_lies_beside_the_table_is_not_read_with_it() {
        let mut facts = scanned(900, 14_400, 1_000_000);
        let server = postgres(&mut facts);
        server.tables = server.tables.clone().map(|mut tables| {
            tables[0].pages = Some(1000);
            tables
        });
        ok(&RULE, &facts);
    }

    #[test]
    fn a_name_is_a_word_of_its_own() {
        assert!(names("SELECT * FROM public.orders o", "orders"));
        assert!(!names("SELECT * FROM orders_old, reorders", "orders"));
        assert!(names("SELECT * FROM \"Größe\"", "Größe"));
    }

    #[test]
    fn young_or_missing_counters_are_unknown() {
        let mut facts = scanned(900, 14_400, 1_000_000);
        with_statistics_of_days(&mut facts, 0.1);
        assert!(unknown(&RULE, &facts).contains("24 hours are needed"));
        let old = Table {
            size_bytes: 900 << 20,
            ..Table::default()
        };
        postgres(&mut facts).tables = Fact::known(vec![old], "an older collector");
        assert!(unknown(&RULE, &facts).contains("not collected"));
        let mut facts = healthy();
        postgres(&mut facts).tables = Fact::default();
        unknown(&RULE, &facts);
    }
}
