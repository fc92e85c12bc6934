//! Large tables that the planner knows nothing about.
//!
//! ## What it finds
//! Tables of more than 100 MiB for which no ANALYZE is on record and whose columns are not all known to
//! have statistics.
//!
//! ## Why it matters
//! After a bulk load, a restore or an upgrade the planner guesses how many rows a condition keeps.
//! One wrong guess turns a join of milliseconds into one of minutes.
//!
//! ## What to do
//! Run `vacuumdb --analyze-only -j CPUs` after a load, or `--analyze-in-stages` after an upgrade.
//! Parents of partitions need a manual `ANALYZE`: autovacuum never runs one.
//!
//! ## Risk
//! None. It reads a sample of each table.
//!
//! ## When it does not apply
//! Tables that autovacuum will reach within a minute; standbys, where the primary analyses. A crash, a
//! reset or a failover makes the server forget when it analysed a table, and pg_upgrade to 18 carries
//! statistics over without that: where the role may SELECT a table, its statistics are looked for.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/routine-vacuuming.html#VACUUM-FOR-STATISTICS>

use dbdyno_model::finding::Confidence;
use dbdyno_model::postgres::{ReplicationRole, Table};
use dbdyno_model::words::{plural, verb};
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use super::tables;
use crate::formulas::MIB;
use crate::rule::{FindingExt, Rule, humane_bytes, need_ref, server, settle};
use crate::scope::ScopeExt;
use crate::sql::{StatementExt, statement};

pub(super) const RULE: Rule = Rule {
    id: "maintenance.never_analyzed",
    severity: Severity::Info,
    confidence: Confidence::High,
    sources: &[
        "https://www.postgresql.org/docs/current/routine-vacuuming.html#VACUUM-FOR-STATISTICS",
    ],
    check,
    source_text: include_str!("never_analyzed.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

const LARGE_BYTES: u64 = 100 * MIB;

/// More tables than this are analysed by one command.
const LISTED: usize = 5;

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    if postgres.role.get() == Some(ReplicationRole::Standby) {
        return Err(Outcome::NotApplicable(
            "statistics come from the primary".to_owned(),
        ));
    }
    let tables = need_ref(&postgres.tables, "tables")?;
    let mut unknown: Vec<&Table> = tables
        .iter()
        .filter(|table| table.never_analyzed && table.size_bytes > LARGE_BYTES)
        // What was found in each column is there, whenever that was.
        .filter(|table| table.row_bytes.is_none())
        .collect();
    unknown.sort_by_key(|table| (std::cmp::Reverse(table.size_bytes), tables::name(table)));
    let Some(largest) = unknown.first() else {
        return Ok(Outcome::Ok);
    };
    let mut finding = RULE
        .finding(format!(
            "{} {} not analysed since the counters began, the largest {} with {}",
            plural(unknown.len() as u64, "large table"),
            verb(unknown.len() as u64, "was", "were"),
            tables::name(largest),
            humane_bytes(largest.size_bytes)
        ))
        .of_database(postgres)
        .evidence("last_analyze", "none", postgres.tables.origin.clone());
    if unknown.len() > LISTED {
        let command = "vacuumdb --analyze-only, with one job a CPU";
        return Ok(finding.host_action(command, Needs::Online).into_outcome());
    }
    for table in unknown {
        finding = finding.statement(statement(
            format!("ANALYZE {}", tables::name(table)),
            "the planner knows its rows",
        ));
    }
    Ok(finding.into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, not_applicable, ok, postgres, unknown};
    use dbdyno_model::postgres::{ReplicationRole, Table};
    use dbdyno_model::{Fact, Facts};

    fn with_tables(sizes_mib: &[u64]) -> Facts {
        let mut facts = healthy();
        let table = |(index, size): (usize, &u64)| Table {
            schema: "public".into(),
            name: format!("t{index}"),
            size_bytes: size << 20,
            never_analyzed: true,
            ..Table::default()
        };
        let tables = sizes_mib.iter().enumerate().map(table).collect();
        postgres(&mut facts).tables = Fact::known(tables, "pg_stat_user_tables");
        facts
    }

    #[test]
    fn large_tables_are_found_largest_first() {
        let finding = finding(&RULE, &with_tables(&[200, 10, 3000]));
        insta::assert_snapshot!(finding.message, @"2 large tables were not analysed since the counters began, the largest public.t2 with 2.9 GiB");
        assert_eq!(finding.statements[0].sql, "ANALYZE public.t2");
        assert_eq!(finding.statements.len(), 2);
    }

    /// As after a crash, or pg_upgrade to 18.
    #[test]
    fn a_table_whose_statistics_are_there_is_fine() {
        let mut facts = with_tables(&[3000]);
        let server = postgres(&mut facts);
        server.tables = server.tables.clone().map(|mut tables| {
            tables[0].row_bytes = Some(120.0);
            tables
        });
        ok(&RULE, &facts);
    }

    #[test]
    fn many_tables_take_one_command() {
        let finding = finding(&RULE, &with_tables(&[200; 20]));
        assert_eq!(finding.host_actions.len(), 1);
    }

    #[test]
    fn small_tables_are_fine_standbys_not_applicable_and_unread_ones_unknown() {
        let mut facts = with_tables(&[10]);
        ok(&RULE, &facts);
        postgres(&mut facts).tables = Fact::default();
        unknown(&RULE, &facts);
        postgres(&mut facts).role = Fact::known(ReplicationRole::Standby, "test");
        not_applicable(&RULE, &facts);
    }
}
