//! Large tables that are analysed again only after millions of changes.
//!
//! ## What it finds
//! Tables of more than ten million rows that autovacuum analyses by the server's
//! `autovacuum_analyze_scale_factor` of 0.1 or more.
//!
//! ## Why it matters
//! A tenth of a large table is months of new rows in some: the planner does not know that they
//! exist, and takes conditions on the newest values for ones that nothing meets.
//!
//! ## What to do
//! Per table, set `autovacuum_analyze_scale_factor` to 0.02, or 0.01 from a hundred million rows
//! on. ANALYZE reads a sample whose size does not grow with the table.
//!
//! ## Risk
//! None to data. The table is sampled more often.
//!
//! ## When it does not apply
//! Tables that hardly change; standbys, where the primary analyses. Parents of partitions are never
//! analysed by autovacuum: run ANALYZE on them by hand.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/routine-vacuuming.html#VACUUM-FOR-STATISTICS>
//! - Tuning Autovacuum in PostgreSQL and Autovacuum Internals, Percona blog, 2018-08-10

use dbdyno_model::finding::Confidence;
use dbdyno_model::postgres::Table;
use dbdyno_model::{Facts, Outcome, Severity};

use super::tables;
use crate::postgres::settings::SettingEvidence;
use crate::rule::{FindingExt, Rule, need_ref, server, settle};
use crate::scope::{LISTED, ScopeExt, humane_count, on_primary};
use crate::sql::{StatementExt, statement};

pub(super) const RULE: Rule = Rule {
    id: "maintenance.analyze_threshold",
    severity: Severity::Info,
    confidence: Confidence::High,
    sources: &[
        "https://www.postgresql.org/docs/current/routine-vacuuming.html#VACUUM-FOR-STATISTICS",
        "Tuning Autovacuum in PostgreSQL and Autovacuum Internals, Percona blog, 2018-08-10",
    ],
    check,
    source_text: include_str!("analyze_threshold.rs"),
};

const LARGE_ROWS: f64 = 1e7;
const HUGE_ROWS: f64 = 1e8;
const COARSE_SCALE: f64 = 0.1;

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    on_primary(postgres, "analysing")?;
    let mut coarse: Vec<(&Table, f64)> = Vec::new();
    for table in need_ref(&postgres.tables, "tables")? {
        let scale = tables::own_or_server(postgres, table, "autovacuum_analyze_scale_factor")?;
        // One that did not change at all since it was analysed needs nothing.
        if tables::rows_for_threshold(table) > LARGE_ROWS
            && scale >= COARSE_SCALE
            && table.modified_since_analyze > 0
        {
            coarse.push((table, tables::analyze_threshold(postgres, table)?));
        }
    }
    coarse.sort_by(|a, b| {
        b.1.total_cmp(&a.1)
            .then_with(|| tables::name(a.0).cmp(&tables::name(b.0)))
    });
    let Some((worst, threshold)) = coarse.first() else {
        return Ok(Outcome::Ok);
    };
    let origin = &postgres.tables.origin;
    let mut finding = RULE
        .finding(format!(
            "{} is analysed again only after {} changed rows; it has {}",
            tables::name(worst),
            humane_count(*threshold),
            humane_count(worst.modified_since_analyze as f64)
        ))
        .of_database(postgres)
        .shows(postgres, "autovacuum_analyze_scale_factor");
    for (table, threshold) in coarse.iter().take(LISTED) {
        let name = tables::name(table);
        let scale = if tables::rows_for_threshold(table) >= HUGE_ROWS {
            0.01
        } else {
            0.02
        };
        finding = finding
            .evidence(
                format!("threshold of {name}"),
                format!(
                    "{threshold:.0} rows, {} changed",
                    table.modified_since_analyze
                ),
                origin,
            )
            .statement(statement(
                format!("ALTER TABLE {name} SET (autovacuum_analyze_scale_factor = {scale})"),
                "the planner knows new values sooner",
            ));
    }
    Ok(finding
        .and_more(coarse.len().saturating_sub(LISTED), "such table", origin)
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, ok, postgres, unknown};
    use dbdyno_model::postgres::Table;
    use dbdyno_model::{Fact, Facts};

    fn with_table(rows: f64, modified: u64, options: &[&str]) -> Facts {
        let mut facts = healthy();
        let table = Table {
            schema: "public".into(),
            name: "events".into(),
            rows_estimate: Some(rows),
            modified_since_analyze: modified,
            options: options.iter().map(|option| (*option).into()).collect(),
            ..Table::default()
        };
        postgres(&mut facts).tables = Fact::known(vec![table], "pg_class");
        facts
    }

    #[test]
    fn a_large_table_is_found_and_a_huge_one_gets_less() {
        let found = finding(&RULE, &with_table(5e7, 1_200_000, &[]));
        insta::assert_snapshot!(found.message, @"public.events is analysed again only after 5 million changed rows; it has 1.2 million");
        insta::assert_snapshot!(found.statements[0].sql, @"ALTER TABLE public.events SET (autovacuum_analyze_scale_factor = 0.02)");
        let found = finding(&RULE, &with_table(5e8, 1, &[]));
        assert!(found.statements[0].sql.contains("= 0.01)"));
    }

    #[test]
    fn small_quiet_and_tuned_tables_are_fine() {
        ok(&RULE, &with_table(1e6, 90_000, &[]));
        ok(&RULE, &with_table(5e7, 0, &[]));
        let tuned = ["autovacuum_analyze_scale_factor=0.02"];
        ok(&RULE, &with_table(5e7, 1_200_000, &tuned));
    }

    #[test]
    fn unread_tables_are_unknown() {
        let mut facts = healthy();
        postgres(&mut facts).tables = Fact::default();
        unknown(&RULE, &facts);
    }
}
