//! Tables that are much larger than their rows need.
//!
//! ## What it finds
//! Tables of which more than 30 % and more than 1 GiB are neither rows nor the room that their
//! fillfactor leaves, by an estimate.
//!
//! ## Why it matters
//! Every scan of the table and every backup of its files reads the empty room, and it takes memory
//! from what is needed. It is used up again only if the table grows back to where it was.
//!
//! ## What to do
//! First see why: `maintenance.xmin_horizon`, `maintenance.vacuum_threshold` and
//! `maintenance.vacuum_io_rate` say what keeps vacuum back. Then rewrite the table online with
//! pg_repack or pg_squeeze, or with `VACUUM FULL` in a window. A plain VACUUM gives back only empty
//! pages at the end of the file.
//!
//! ## Risk
//! `VACUUM FULL` locks the table against reads and writes while it runs, and needs room for a copy.
//!
//! ## When it does not apply
//! The estimate packs the planner's number of rows, as wide as ANALYZE found their columns, into
//! pages as the server lays them out, with alignment and without the bitmap of nulls. It is wrong
//! for tables that changed much since they were analysed, and knows nothing of TOAST.
//! `pgstattuple_approx` reads the table and knows. A table about to grow needs no rewrite. Some
//! room in a table that is updated is as it should be. A standby has its primary's files.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/storage-page-layout.html>
//! - <https://www.postgresql.org/docs/current/routine-vacuuming.html#VACUUM-FOR-SPACE-RECOVERY>
//! - Basic Understanding of Bloat and VACUUM in PostgreSQL, Percona blog, 2018-08-06

use dbdyno_model::finding::Confidence;
use dbdyno_model::postgres::Table;
use dbdyno_model::words::{plural, verb};
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use super::tables;
use crate::formulas::bloat::heap_pages;
use crate::formulas::{GIB, PAGE_BYTES};
use crate::rule::{FindingExt, Rule, humane_bytes, need_ref, server, settle};
use crate::scope::{LISTED, ScopeExt, on_primary};
use crate::sql::{CostExt, StatementExt, statement};

pub(super) const RULE: Rule = Rule {
    id: "maintenance.bloat",
    severity: Severity::Info,
    confidence: Confidence::Medium,
    sources: &[
        "https://www.postgresql.org/docs/current/storage-page-layout.html",
        "https://www.postgresql.org/docs/current/routine-vacuuming.html#VACUUM-FOR-SPACE-RECOVERY",
        "Basic Understanding of Bloat and VACUUM in PostgreSQL, Percona blog, 2018-08-06",
    ],
    check,
    source_text: include_str!("bloat.rs"),
};

const MUCH_SHARE: f64 = 0.3;
const MUCH_BYTES: u64 = GIB;

/// Whole, where the table has no option of its own.
const FILLFACTOR: f64 = 100.0;

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

/// A table with the bytes that it does not need, of those that it has.
struct Bloated<'a> {
    table: &'a Table,
    wasted: u64,
    size: u64,
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    on_primary(postgres, "rewriting a table")?;
    let tables = need_ref(&postgres.tables, "tables")?;
    let mut bloated: Vec<Bloated<'_>> = tables.iter().filter_map(estimate).collect();
    let unknown = tables.iter().filter(|table| is_unknown(table)).count();
    bloated
        .retain(|one| one.wasted > MUCH_BYTES && one.wasted as f64 > one.size as f64 * MUCH_SHARE);
    bloated.sort_by_key(|one| (std::cmp::Reverse(one.wasted), tables::name(one.table)));
    let Some(worst) = bloated.first() else {
        if unknown > 0 {
            return Err(Outcome::Unknown(format!(
                "width of the rows of {}: never analysed, or the role may not SELECT them, without which pg_stats shows nothing",
                plural(unknown as u64, "large table")
            )));
        }
        return Ok(Outcome::Ok);
    };
    let origin = "pg_class, pg_stats";
    let mut finding = RULE
        .finding(format!(
            "{} {} larger than the rows need, {} by {} of {} (an estimate)",
            plural(bloated.len() as u64, "table"),
            verb(bloated.len() as u64, "is", "are"),
            tables::name(worst.table),
            humane_bytes(worst.wasted),
            humane_bytes(worst.size)
        ))
        .of_database(postgres);
    for one in bloated.iter().take(LISTED) {
        let name = tables::name(one.table);
        let percent = one.wasted as f64 / one.size as f64 * 100.0;
        let value = format!(
            "{} of {} ({percent:.0} %)",
            humane_bytes(one.wasted),
            humane_bytes(one.size)
        );
        finding = finding
            .evidence(format!("not needed in {name}"), value, origin)
            .statement(
                statement(
                    format!("VACUUM (FULL, ANALYZE) {name}"),
                    "in a window; online with pg_repack or pg_squeeze instead",
                )
                .costing("the table is locked while it is rewritten, and needs room for a copy")
                .needing(Needs::Migration),
            );
    }
    if unknown > 0 {
        finding = finding.evidence(
            "not estimated",
            format!(
                "{} without statistics of all columns",
                plural(unknown as u64, "large table")
            ),
            origin,
        );
    }
    Ok(finding
        .and_more(bloated.len().saturating_sub(LISTED), "such table", origin)
        .into_outcome())
}

/// None where something that it rests on was not read.
fn estimate(table: &Table) -> Option<Bloated<'_>> {
    let fillfactor = tables::option(table, "fillfactor")
        .and_then(|percent| percent.parse().ok())
        .unwrap_or(FILLFACTOR);
    let needed = heap_pages(table.rows_estimate?, table.row_bytes?, fillfactor) as u64;
    let pages = table.pages?;
    Some(Bloated {
        table,
        wasted: pages.saturating_sub(needed).saturating_mul(PAGE_BYTES),
        size: pages.saturating_mul(PAGE_BYTES),
    })
}

/// Large enough to matter, and nobody knows how wide its rows are.
fn is_unknown(table: &Table) -> bool {
    let pages = tables::counted_pages(table);
    let large = match pages {
        Some(pages) => pages.saturating_mul(PAGE_BYTES) > MUCH_BYTES,
        None => table.size_bytes > MUCH_BYTES,
    };
    large && (table.row_bytes.is_none() || table.rows_estimate.is_none() || pages.is_none())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, ok, postgres, unknown};
    use dbdyno_model::finding::Statement;
    use dbdyno_model::postgres::Table;
    use dbdyno_model::{Fact, Facts, Needs};

    /// A million pages of 8 KiB, of which rows of 97 bytes need one for each 61.
    fn with_rows(rows: f64, options: &[&str]) -> Facts {
        with(Table {
            schema: "public".into(),
            name: "history".into(),
            rows_estimate: Some(rows),
            row_bytes: Some(97.0),
            pages: Some(1_000_000),
            size_bytes: 9 << 30,
            options: options.iter().map(|option| (*option).into()).collect(),
            ..Table::default()
        })
    }

    fn with(table: Table) -> Facts {
        let mut facts = healthy();
        postgres(&mut facts).tables = Fact::known(vec![table], "pg_class");
        facts
    }

    #[test]
    fn a_half_empty_table_is_found_with_what_rewrites_it() {
        let found = finding(&RULE, &with_rows(30.5e6, &[]));
        insta::assert_snapshot!(found.message, @"1 table is larger than the rows need, public.history by 3.8 GiB of 7.6 GiB (an estimate)");
        let Statement {
            sql,
            needs,
            gives_up,
            ..
        } = &found.statements[0];
        assert_eq!(sql, "VACUUM (FULL, ANALYZE) public.history");
        assert_eq!(*needs, Needs::Migration);
        assert!(gives_up.is_some());
    }

    #[test]
    fn a_full_table_and_one_that_is_to_be_half_full_are_fine() {
        ok(&RULE, &with_rows(60e6, &[]));
        ok(&RULE, &with_rows(30e6, &["fillfactor=50"]));
    }

    #[test]
    fn what_was_not_analysed_is_unknown_where_it_is_large() {
        let large = Table {
            size_bytes: 9 << 30,
            pages: Some(1_000_000),
            rows_estimate: Some(1e6),
            ..Table::default()
        };
        assert!(unknown(&RULE, &with(large.clone())).contains("of 1 large table:"));
        // As the server has it of a table that was never analysed, or last when it was empty.
        for rows_estimate in [None, Some(0.0)] {
            let uncounted = Table {
                pages: Some(0),
                rows_estimate,
                ..large.clone()
            };
            assert!(unknown(&RULE, &with(uncounted)).contains("of 1 large table:"));
        }
        ok(
            &RULE,
            &with(Table {
                size_bytes: 8192,
                ..Table::default()
            }),
        );
        let mut facts = healthy();
        postgres(&mut facts).tables = Fact::default();
        unknown(&RULE, &facts);
    }
}
