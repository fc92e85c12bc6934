//! Autovacuum switched off, for the server or for a table.
//!
//! ## What it finds
//! `autovacuum` or `track_counts` off, or a table with `autovacuum_enabled=false`.
//!
//! ## Why it matters
//! Dead rows are never removed and statistics never renewed: tables and indexes grow until the disk
//! is full, and plans go wrong. Only the vacuums that are forced before transaction ids run out
//! still come, all at once and at the worst moment.
//!
//! ## What to do
//! Set both to on. For a table: `ALTER TABLE … RESET (autovacuum_enabled)`. What made someone
//! switch it off is mended by its cost limit and thresholds.
//!
//! ## Risk
//! The first runs after a long pause read and write a lot; `autovacuum_vacuum_cost_limit` bounds
//! how fast.
//!
//! ## When it does not apply
//! A bulk load that switches it on again at its end and then runs VACUUM (ANALYZE) itself. On a
//! standby the options of tables are the primary's.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/routine-vacuuming.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::words::{plural, verb};
use dbdyno_model::{Facts, Outcome, Severity};

use super::tables;
use crate::postgres::settings::{self, SettingEvidence, value};
use crate::rule::{FindingExt, Rule, need_ref, safe, server, settle};
use crate::scope::{LISTED, ScopeExt, in_all, on_primary};
use crate::sql::{StatementExt, statement};

pub(super) const RULE: Rule = Rule {
    id: "maintenance.autovacuum",
    severity: Severity::Critical,
    confidence: Confidence::High,
    sources: &["https://www.postgresql.org/docs/current/routine-vacuuming.html"],
    check,
    source_text: include_str!("autovacuum.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    let off: Vec<&str> = ["autovacuum", "track_counts"]
        .into_iter()
        .map(|name| settings::flag(postgres, name).map(|on| (!on).then_some(name)))
        .filter_map(Result::transpose)
        .collect::<Result<_, _>>()?;
    if !off.is_empty() {
        let mut finding = RULE
            .finding(format!(
                "{} off: dead rows are never removed",
                off.join(" and ")
            ))
            .keeps_running();
        for name in off {
            finding = finding.shows(postgres, name).recommend(safe(
                name,
                value("on"),
                "dead rows are removed and statistics renewed",
            ));
        }
        return Ok(finding.into_outcome());
    }
    on_primary(postgres, "an option of a table")?;
    let tables = need_ref(&postgres.tables, "tables")?;
    let excluded: Vec<String> = tables
        .iter()
        .filter(|table| tables::option(table, "autovacuum_enabled").is_some_and(is_off))
        .map(tables::name)
        .collect();
    let Some(first) = excluded.first() else {
        return Ok(Outcome::Ok);
    };
    // Older facts do not say how many there are beside those that are listed.
    let all = postgres.table_totals.value().map_or(excluded.len(), |all| {
        in_all(all.excluded_from_autovacuum).max(excluded.len())
    });
    let mut finding = RULE
        .finding(format!(
            "{} {} excluded from autovacuum, first: {first}",
            plural(all as u64, "table"),
            verb(all as u64, "is", "are")
        ))
        .of_database(postgres)
        .evidence("autovacuum_enabled", "false", &postgres.tables.origin);
    for table in excluded.iter().take(LISTED) {
        finding = finding.statement(statement(
            format!("ALTER TABLE {table} RESET (autovacuum_enabled)"),
            "its dead rows are removed and its statistics renewed",
        ));
    }
    let told = excluded.len().min(LISTED);
    Ok(finding
        .and_more(all - told, "such table", &postgres.tables.origin)
        .into_outcome())
}

/// reloptions keep what was written: every spelling of a boolean, and any beginning of one that no other
/// one has.
pub(super) fn is_off(value: &str) -> bool {
    let value = value.to_ascii_lowercase();
    let begins = |word: &str, least: usize| value.len() >= least && word.starts_with(&value);
    value == "0" || begins("false", 1) || begins("no", 1) || begins("off", 2)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, not_applicable, ok, postgres, set, unknown};
    use dbdyno_model::postgres::{ReplicationRole, Table, TableTotals};
    use dbdyno_model::{Effect, Fact};

    #[test]
    fn off_is_found_and_switched_on() {
        let mut facts = healthy();
        set(&mut facts, "autovacuum", "off");
        let finding = finding(&RULE, &facts);
        insta::assert_snapshot!(finding.message, @"autovacuum off: dead rows are never removed");
        assert_eq!(finding.recommendations[0].setting, "autovacuum");
        assert_eq!(finding.effect, Effect::Availability);
    }

    #[test]
    fn an_excluded_table_is_found() {
        let mut facts = healthy();
        let table = |name: &str, options: &[&str]| Table {
            schema: "public".into(),
            name: name.into(),
            options: options.iter().map(|option| (*option).into()).collect(),
            ..Table::default()
        };
        postgres(&mut facts).tables = Fact::known(
            vec![
                table("orders", &["fillfactor=90", "autovacuum_enabled=OFF"]),
                table("stock", &["autovacuum_enabled=true"]),
            ],
            "pg_class",
        );
        let finding = finding(&RULE, &facts);
        insta::assert_snapshot!(finding.message, @"1 table is excluded from autovacuum, first: public.orders");
        assert_eq!(
            finding.statements[0].sql,
            "ALTER TABLE public.orders RESET (autovacuum_enabled)"
        );
    }

    #[test]
    fn every_spelling_that_the_server_takes_is_understood() {
        for off in ["0", "f", "fals", "FALSE", "n", "No", "of", "off"] {
            assert!(super::is_off(off), "{off}");
        }
        for on in ["", "1", "o", "on", "t", "true", "y", "yes", "00"] {
            assert!(!super::is_off(on), "{on}");
        }
    }

    #[test]
    fn tables_that_are_not_listed_are_counted() {
        let mut facts = healthy();
        let table = Table {
            options: vec!["autovacuum_enabled=off".into()],
            ..Table::default()
        };
        postgres(&mut facts).tables = Fact::known(vec![table; 12], "pg_class");
        postgres(&mut facts).table_totals = Fact::known(
            TableTotals {
                excluded_from_autovacuum: 40,
                ..TableTotals::default()
            },
            "pg_class",
        );
        let finding = finding(&RULE, &facts);
        assert!(finding.message.starts_with("40 tables are "));
        assert_eq!(finding.statements.len(), 10);
        assert_eq!(finding.evidence[2].value, "30 more such tables");
    }

    #[test]
    fn a_standby_is_asked_for_its_settings_alone() {
        let mut facts = healthy();
        let table = Table {
            options: vec!["autovacuum_enabled=off".into()],
            ..Table::default()
        };
        let server = postgres(&mut facts);
        server.tables = Fact::known(vec![table], "pg_class");
        server.role = Fact::known(ReplicationRole::Standby, "test");
        not_applicable(&RULE, &facts);
        set(&mut facts, "autovacuum", "off");
        finding(&RULE, &facts);
    }

    #[test]
    fn on_is_fine_and_unread_tables_are_unknown() {
        let mut facts = healthy();
        ok(&RULE, &facts);
        postgres(&mut facts).tables = Fact::default();
        unknown(&RULE, &facts);
    }
}
