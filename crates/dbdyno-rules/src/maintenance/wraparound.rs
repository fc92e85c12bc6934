//! Transaction ids that run out.
//!
//! ## What it finds
//! A database whose oldest unfrozen transaction (or multixact) is more than 500 million ids old;
//! from 1,000 million on it is critical.
//!
//! ## Why it matters
//! Ids are reused after two thousand million. Shortly before, the server refuses every write until
//! the oldest tables are frozen.
//!
//! ## What to do
//! Find what holds the oldest ids back (`maintenance.xmin_horizon`) and end it, then run a plain
//! `VACUUM` of the oldest tables as a superuser, in normal operation. At this age it freezes by
//! itself; `FREEZE` only makes it do more than is needed, and single-user mode is not needed
//! either.
//!
//! ## Risk
//! Freezing reads and may write the whole table. What the ids last for is told at the rate of the
//! sample, and only where that was ten minutes or longer.
//!
//! ## When it does not apply
//! Nowhere. On a standby the primary's ids are told, and nothing but the primary can freeze them.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/routine-vacuuming.html#VACUUM-FOR-WRAPAROUND>

use dbdyno_model::finding::Confidence;
use dbdyno_model::postgres::{Postgres, ReplicationRole, Table};
use dbdyno_model::{Facts, Finding, Needs, Outcome, Severity};

use super::tables;
use crate::postgres::settings::SettingEvidence;
use crate::rule::{FindingExt, Rule, need_ref, server, settle};
use crate::scope::{humane_count, humane_time};
use crate::sql::{StatementExt, statement};

pub(super) const RULE: Rule = Rule {
    id: "maintenance.wraparound",
    severity: Severity::Critical,
    confidence: Confidence::High,
    sources: &[
        "https://www.postgresql.org/docs/current/routine-vacuuming.html#VACUUM-FOR-WRAPAROUND",
    ],
    check,
    source_text: include_str!("wraparound.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

const WARN_AGE: u64 = 500_000_000;
const CRITICAL_AGE: u64 = 1_000_000_000;

/// Ids after which the server stops writing, nearly.
const LAST_AGE: u64 = 2_000_000_000;

/// A rate over less may be a moment's.
const LONG_WINDOW_S: f64 = 600.0;

/// Tables to vacuum first.
const OLDEST: usize = 5;

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    let databases = need_ref(&postgres.databases, "ages of the databases")?;
    let ages = databases.iter().flat_map(|database| {
        [
            (database.xid_age, TRANSACTIONS, &database.name),
            (database.multixact_age, MULTIXACTS, &database.name),
        ]
    });
    let Some((age, kind, database)) = ages.max().filter(|(age, ..)| *age > WARN_AGE) else {
        return Ok(Outcome::Ok);
    };
    let severity = if age > CRITICAL_AGE {
        Severity::Critical
    } else {
        Severity::Warn
    };
    let left = LAST_AGE.saturating_sub(age) as f64;
    let mut finding = RULE
        .finding(format!(
            "database {database} has {kind} {:.0} million old, {:.0} million before writing stops",
            age as f64 / 1e6,
            left / 1e6
        ))
        .severity(severity)
        .keeps_running()
        .evidence("age", age, postgres.databases.origin.clone())
        .shows(postgres, "autovacuum_freeze_max_age");
    let rate = postgres.transaction_ids.rate(|ids| Some(ids.next as f64));
    if let Some(per_s) = rate.filter(|per_s| *per_s > 0.0 && kind == TRANSACTIONS)
        && postgres.transaction_ids.seconds >= LONG_WINDOW_S
    {
        let value = format!(
            "{} a second over {}: enough for {}",
            humane_count(per_s),
            humane_time(postgres.transaction_ids.seconds),
            humane_time(left / per_s)
        );
        finding = finding.evidence("ids used up", value, "pg_current_snapshot()");
    }
    Ok(vacuum_first(finding, postgres, database, kind).into_outcome())
}

const TRANSACTIONS: &str = "transaction ids";
const MULTIXACTS: &str = "multixact ids";

/// The oldest tables, where the database is the one that was read.
fn vacuum_first(finding: Finding, postgres: &Postgres, database: &str, kind: &str) -> Finding {
    if postgres.role.get() == Some(ReplicationRole::Standby) {
        return finding.host_action(
            format!(
                "on the primary: VACUUM of the oldest tables of {database}; a standby cannot freeze, \
                 and replays what the primary freezes"
            ),
            Needs::Online,
        );
    }
    let connected = postgres
        .database
        .latest()
        .is_some_and(|connected| connected.name == database);
    let tables = postgres.tables.value().filter(|_| connected);
    let age = |table: &Table| match kind {
        MULTIXACTS => table.multixact_age.unwrap_or(0),
        _ => table.xid_age,
    };
    let mut oldest: Vec<&Table> = tables
        .into_iter()
        .flatten()
        .filter(|table| age(table) > WARN_AGE)
        .collect();
    oldest.sort_by_key(|table| (std::cmp::Reverse(age(table)), tables::name(table)));
    if oldest.is_empty() {
        return finding.host_action(
            format!("VACUUM of the oldest tables of {database}, as a superuser connected to it"),
            Needs::Online,
        );
    }
    oldest.iter().take(OLDEST).fold(finding, |finding, table| {
        let name = tables::name(table);
        finding
            .evidence(
                format!("age of {name}"),
                age(table),
                &postgres.tables.origin,
            )
            .statement(statement(
                format!("VACUUM (VERBOSE) {name}"),
                "its oldest rows are frozen",
            ))
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, ok, postgres, unknown};
    use dbdyno_model::host::Sampled;
    use dbdyno_model::postgres::{Database, DatabaseAge, ReplicationRole, Table, TransactionIds};
    use dbdyno_model::{Fact, Facts, Severity};

    fn aged(xid_age: u64, multixact_age: u64) -> Facts {
        let mut facts = healthy();
        let shop = DatabaseAge {
            name: "shop".into(),
            xid_age,
            multixact_age,
            ..DatabaseAge::default()
        };
        postgres(&mut facts).databases =
            Fact::known(vec![DatabaseAge::default(), shop], "pg_database");
        facts
    }

    #[test]
    fn an_old_database_is_found_and_grows_critical() {
        let found = finding(&RULE, &aged(600_000_000, 0));
        insta::assert_snapshot!(found.message, @"database shop has transaction ids 600 million old, 1400 million before writing stops");
        assert_eq!(found.severity, Severity::Warn);
        assert_eq!(
            finding(&RULE, &aged(1_200_000_000, 0)).severity,
            Severity::Critical
        );
        finding(&RULE, &aged(2_100_000_000, 0));
    }

    #[test]
    fn another_database_is_named_and_the_connected_one_s_tables_are_vacuumed() {
        let mut facts = aged(600_000_000, 0);
        let found = finding(&RULE, &facts);
        assert_eq!(found.statements, []);
        assert!(found.host_actions[0].action.contains("of shop"));
        let name = |mut database: Database| {
            database.name = "shop".into();
            database
        };
        let server = postgres(&mut facts);
        server.database.after = server.database.after.clone().map(name);
        let table = |name: &str, xid_age| Table {
            schema: "public".into(),
            name: name.into(),
            xid_age,
            ..Table::default()
        };
        server.tables = Fact::known(
            vec![
                table("young", 1000),
                table("old", 550_000_000),
                table("Oldest", 600_000_000),
            ],
            "pg_class",
        );
        let found = finding(&RULE, &facts);
        let sql: Vec<&str> = found
            .statements
            .iter()
            .map(|one| one.sql.as_str())
            .collect();
        assert_eq!(
            sql,
            [
                "VACUUM (VERBOSE) public.\"Oldest\"",
                "VACUUM (VERBOSE) public.old"
            ]
        );
    }

    #[test]
    fn a_standby_is_told_and_sent_to_its_primary() {
        let mut facts = aged(1_200_000_000, 0);
        let server = postgres(&mut facts);
        server.role = Fact::known(ReplicationRole::Standby, "test");
        server.database.after = server.database.after.clone().map(|mut database| {
            database.name = "shop".into();
            database
        });
        let old = Table {
            xid_age: 1_200_000_000,
            ..Table::default()
        };
        server.tables = Fact::known(vec![old], "pg_class");
        let found = finding(&RULE, &facts);
        assert_eq!(found.severity, Severity::Critical);
        assert_eq!(found.statements, []);
        assert!(found.host_actions[0].action.starts_with("on the primary: "));
    }

    #[test]
    fn the_time_left_is_told_at_the_rate_of_a_long_window() {
        let mut facts = aged(600_000_000, 0);
        let ids = |next| Fact::known(TransactionIds { next }, "pg_current_snapshot()");
        postgres(&mut facts).transaction_ids = Sampled {
            before: ids(1_000_000),
            after: ids(1_700_000),
            seconds: 700.0,
        };
        let found = finding(&RULE, &facts);
        insta::assert_snapshot!(found.evidence[2].value, @"1000 a second over 11.7 minutes: enough for 16.2 days");
        postgres(&mut facts).transaction_ids.seconds = 1.0;
        assert_eq!(finding(&RULE, &facts).evidence.len(), 2);
    }

    #[test]
    fn multixacts_count_too() {
        assert!(
            finding(&RULE, &aged(10, 700_000_000))
                .message
                .contains("multixact")
        );
    }

    #[test]
    fn young_is_fine_and_unread_unknown() {
        let mut facts = aged(200_000_000, 10);
        ok(&RULE, &facts);
        postgres(&mut facts).databases = Fact::default();
        unknown(&RULE, &facts);
    }
}
