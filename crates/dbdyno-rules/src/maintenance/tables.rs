//! When a table is due for vacuum, by the server's settings and its own options.

use dbdyno_model::Outcome;
use dbdyno_model::postgres::{Postgres, Table};

use super::autovacuum::is_off;
use crate::formulas::PAGE_BYTES;
use crate::formulas::vacuum::threshold_rows;
use crate::postgres::settings;
use crate::rule::need_ref;
use crate::sql::qualified;

/// As in SQL; names that need quotes get them.
pub(crate) fn name(table: &Table) -> String {
    qualified(&table.schema, &table.name)
}

/// One of the table's own options.
pub(crate) fn option<'a>(table: &'a Table, name: &str) -> Option<&'a str> {
    table
        .options
        .iter()
        .filter_map(|option| option.split_once('='))
        .find_map(|(key, value)| (key == name).then_some(value))
}

/// The planner's estimate, else what the statistics count.
pub(crate) fn rows(table: &Table) -> f64 {
    table
        .rows_estimate
        .filter(|rows| *rows >= 0.0)
        .unwrap_or(table.live_tuples as f64)
}

/// Pages of the table alone, where somebody has counted them: zero is what a new table has until then.
pub(super) fn counted_pages(table: &Table) -> Option<u64> {
    table.pages.filter(|pages| *pages > 0)
}

/// Bytes of the table alone, without indexes and TOAST; with them where nobody has counted its pages.
pub(crate) fn own_bytes(table: &Table) -> u64 {
    counted_pages(table).map_or(table.size_bytes, |pages| pages.saturating_mul(PAGE_BYTES))
}

/// As the server counts for its thresholds: a table that was never counted has no rows, and is due
/// soon after it got some.
pub(super) fn rows_for_threshold(table: &Table) -> f64 {
    table.rows_estimate.unwrap_or(0.0).max(0.0)
}

/// Whether autovacuum looks at it at all, but for ids that run out.
pub(super) fn is_taken_up(table: &Table) -> bool {
    option(table, "autovacuum_enabled").is_none_or(|value| !is_off(value))
}

/// Dead rows from which autovacuum takes the table up.
pub(super) fn vacuum_threshold(postgres: &Postgres, table: &Table) -> Result<f64, Outcome> {
    // Exists from 18 on.
    let max = own_or_server(postgres, table, "autovacuum_vacuum_max_threshold").ok();
    Ok(threshold_rows(
        own_or_server(postgres, table, "autovacuum_vacuum_threshold")?,
        own_or_server(postgres, table, "autovacuum_vacuum_scale_factor")?,
        rows_for_threshold(table),
        max,
    ))
}

/// Changed rows from which autovacuum analyses the table.
pub(crate) fn analyze_threshold(postgres: &Postgres, table: &Table) -> Result<f64, Outcome> {
    Ok(threshold_rows(
        own_or_server(postgres, table, "autovacuum_analyze_threshold")?,
        own_or_server(postgres, table, "autovacuum_analyze_scale_factor")?,
        rows_for_threshold(table),
        None,
    ))
}

/// The table's option, else the server's setting.
pub(super) fn own_or_server(
    postgres: &Postgres,
    table: &Table,
    name: &str,
) -> Result<f64, Outcome> {
    let own = option(table, name).and_then(|value| value.parse::<f64>().ok());
    own.map_or_else(|| settings::number(postgres, name), Ok)
}

/// Tables past their threshold that autovacuum is to take up.
pub(super) fn overdue(postgres: &Postgres) -> Result<Vec<&Table>, Outcome> {
    let mut overdue = Vec::new();
    for table in need_ref(&postgres.tables, "tables")? {
        if is_taken_up(table) && table.dead_tuples as f64 > vacuum_threshold(postgres, table)? {
            overdue.push(table);
        }
    }
    Ok(overdue)
}

/// Cost that all workers together may use up between two pauses; −1 stands for vacuum_cost_limit.
pub(super) fn cost_limit(postgres: &Postgres) -> Result<f64, Outcome> {
    let own = settings::number(postgres, "autovacuum_vacuum_cost_limit")?;
    if own < 0.0 {
        settings::number(postgres, "vacuum_cost_limit")
    } else {
        Ok(own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::healthy;
    use dbdyno_model::Fact;

    fn table(rows: f64, options: &[&str]) -> Table {
        Table {
            schema: "public".into(),
            name: "t".into(),
            rows_estimate: Some(rows),
            options: options.iter().map(|option| (*option).into()).collect(),
            ..Table::default()
        }
    }

    #[test]
    fn a_table_s_options_override_the_server() {
        let postgres = healthy().postgres.unwrap();
        let threshold = |table| vacuum_threshold(&postgres, &table).unwrap();
        assert_eq!(threshold(table(1000.0, &[])), 250.0);
        let own = [
            "autovacuum_vacuum_threshold=7",
            "autovacuum_vacuum_scale_factor=0.5",
        ];
        assert_eq!(threshold(table(1000.0, &own)), 507.0);
    }

    #[test]
    fn the_threshold_of_a_table_that_was_never_counted_is_its_base() {
        let postgres = healthy().postgres.unwrap();
        let unknown = Table {
            rows_estimate: None,
            live_tuples: 1_000_000,
            ..table(0.0, &[])
        };
        assert_eq!(vacuum_threshold(&postgres, &unknown), Ok(50.0));
        assert_eq!(analyze_threshold(&postgres, &unknown), Ok(50.0));
    }

    #[test]
    fn what_autovacuum_leaves_alone_does_not_wait_for_it() {
        let mut facts = healthy();
        let due = |options: &[&str]| Table {
            dead_tuples: 500,
            ..table(1000.0, options)
        };
        let all = vec![due(&[]), due(&["autovacuum_enabled=off"])];
        crate::testing::postgres(&mut facts).tables = Fact::known(all, "pg_class");
        let overdue = overdue(facts.postgres.as_ref().unwrap()).unwrap();
        assert_eq!(overdue.len(), 1);
    }

    #[test]
    fn a_table_s_own_bytes_are_its_pages_where_somebody_counted_them() {
        let mut large = table(1000.0, &[]);
        large.size_bytes = 1 << 30;
        assert_eq!(own_bytes(&large), 1 << 30);
        large.pages = Some(10);
        assert_eq!(own_bytes(&large), 81_920);
    }

    #[test]
    fn a_table_never_analysed_counts_its_live_rows() {
        let unknown = Table {
            rows_estimate: None,
            live_tuples: 77,
            ..Table::default()
        };
        assert_eq!(rows(&unknown), 77.0);
        assert_eq!(
            rows(&Table {
                rows_estimate: Some(-1.0),
                ..unknown
            }),
            77.0
        );
    }

    #[test]
    fn names_are_quoted_where_sql_needs_it() {
        let odd = Table {
            schema: "Sales".into(),
            name: "a\"b".into(),
            ..Table::default()
        };
        assert_eq!(name(&odd), "\"Sales\".\"a\"\"b\"");
        assert_eq!(name(&table(0.0, &[])), "public.t");
    }
}
