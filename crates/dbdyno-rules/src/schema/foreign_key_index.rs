//! Foreign keys that make each delete from the parent read a whole table.
//!
//! ## What it finds
//! A foreign key on a table of more than 100 MB, with its partitions, whose columns no valid index
//! begins with, while rows are deleted from the table it refers to. Where an index begins with one of
//! several columns, the finding is but a hint: how far that helps shows only `EXPLAIN`. So it is where
//! less than a row a day is deleted. Of a partitioned table only the partitions count that have no such
//! index, whether of their own or as part of the table's.
//!
//! ## Why it matters
//! For each row that is deleted from the parent the server looks for rows that refer to it. Without
//! an index that is a scan of the whole table, under a lock on the parent's row.
//!
//! ## What to do
//! `CREATE INDEX CONCURRENTLY` on the referencing columns. On a partitioned table build it on each
//! partition concurrently and then on the table: `CREATE INDEX` takes over what the partitions have.
//!
//! ## Risk
//! None to data. The index takes room, and a write for each new row.
//!
//! ## When it does not apply
//! Parents whose rows are never deleted and whose keys are never changed. Updates of a parent count
//! only where they change the key, which is not recorded. Of a partitioned parent the deletes from its
//! partitions count; a row that moves to another partition passes for a deleted one. A key that is
//! `NOT ENFORCED` is never checked.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/ddl-constraints.html#DDL-CONSTRAINTS-FK>

use dbdyno_model::finding::Confidence;
use dbdyno_model::postgres::{ForeignKeys, UnindexedForeignKey};
use dbdyno_model::words::{plural, verb};
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use crate::rule::{FindingExt, Rule, humane_bytes, need_ref, server, settle};
use crate::scope::{
    DAY_S, LISTED, ScopeExt, humane_count, on_primary, primary_age_s, primary_statistics_of,
};
use crate::sql::{CostExt, StatementExt, concurrent_build, identifiers, qualified};

pub(super) const RULE: Rule = Rule {
    id: "schema.foreign_key_index",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &["https://www.postgresql.org/docs/current/ddl-constraints.html#DDL-CONSTRAINTS-FK"],
    check,
    source_text: include_str!("foreign_key_index.rs"),
};

const LARGE_BYTES: u64 = 100_000_000;

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    on_primary(postgres, "an index")?;
    let keys = need_ref(&postgres.foreign_keys, "foreign keys")?;
    let large: Vec<&UnindexedForeignKey> = keys
        .listed
        .iter()
        .filter(|key| bytes(key).is_none_or(|bytes| bytes > LARGE_BYTES))
        .collect();
    let mut hurt: Vec<&UnindexedForeignKey> = large
        .iter()
        .copied()
        .filter(|key| key.parent_deleted > 0)
        .collect();
    // Each deleted row costs a scan of the table.
    hurt.sort_by_key(|key| {
        let read = u128::from(key.parent_deleted) * u128::from(bytes(key).unwrap_or(0));
        (
            key.partly_indexed,
            std::cmp::Reverse(read),
            key.name.clone(),
        )
    });
    let Some(worst) = hurt.first() else {
        if keys.unmeasured > 0 {
            return Err(Outcome::Unknown(unmeasured(keys)));
        }
        let is_more = keys.unindexed > keys.listed.len() as u64;
        if !large.is_empty() || is_more {
            // Nothing was deleted: since when? Of those that are not listed, some may be large.
            primary_statistics_of(postgres, DAY_S, "deletes from parents of large tables")?;
        }
        return Ok(Outcome::Ok);
    };
    let origin = &postgres.foreign_keys.origin;
    let lacks = match hurt.iter().any(|key| key.partly_indexed) {
        true => "no index on all of the columns",
        false => "no index",
    };
    // Those that are partly indexed come last.
    let looked = match worst.partly_indexed {
        true => "searched a part of",
        false => "scanned",
    };
    let age_s = primary_age_s(postgres);
    let is_costly = |key: &&UnindexedForeignKey| {
        let is_daily = age_s.is_none_or(|age_s| key.parent_deleted as f64 * DAY_S >= age_s);
        !key.partly_indexed && is_daily
    };
    let severity = if hurt.iter().any(is_costly) {
        RULE.severity
    } else {
        Severity::Info
    };
    let mut finding = RULE
        .finding(format!(
            "{} of large tables {} {lacks}: {} rows deleted from {} each {looked} {}{}",
            plural(hurt.len() as u64, "foreign key"),
            verb(hurt.len() as u64, "has", "have"),
            humane_count(worst.parent_deleted as f64),
            qualified(&worst.parent_schema, &worst.parent),
            table(worst),
            bytes(worst).map_or(String::new(), |bytes| format!(" ({})", humane_bytes(bytes)))
        ))
        .severity(severity)
        .of_database(postgres);
    for key in hurt.iter().take(LISTED) {
        let partly = if key.partly_indexed {
            ", an index begins with one of the columns"
        } else {
            ""
        };
        let value = format!(
            "{} ({}), {} rows deleted from {}{partly}",
            table(key),
            identifiers(&key.columns),
            key.parent_deleted,
            qualified(&key.parent_schema, &key.parent)
        );
        finding = finding.evidence(key.name.clone(), value, origin);
        finding = if key.table_bytes.is_some() {
            let sql = format!(
                "CREATE INDEX CONCURRENTLY ON {} ({})",
                table(key),
                identifiers(&key.columns)
            );
            // One index serves every key on the same columns.
            if finding.statements.iter().any(|given| given.sql == sql) {
                finding
            } else {
                finding.statement(
                    concurrent_build(postgres, sql, "a delete from the parent looks its rows up")
                        .costing("room for the index, and a write for each new row"),
                )
            }
        } else {
            finding.host_action(
                format!(
                    "an index on ({}) of each partition of {} that has none, concurrently, then on the table itself, which takes those over",
                    identifiers(&key.columns),
                    table(key)
                ),
                Needs::Online,
            )
        };
    }
    if keys.unmeasured > 0 {
        finding = finding.evidence("not known", unmeasured(keys), origin);
    }
    Ok(finding
        .evidence(
            "foreign keys without an index",
            format!(
                "{} of {}, on small tables and with parents that nobody deletes from among them",
                keys.unindexed, keys.foreign_keys
            ),
            origin,
        )
        .and_more(hurt.len().saturating_sub(LISTED), "such key", origin)
        .into_outcome())
}

fn unmeasured(keys: &ForeignKeys) -> String {
    format!(
        "size of the tables of {}: never vacuumed or analysed, and locked or too many to be asked for",
        plural(keys.unmeasured, "foreign key")
    )
}

/// None where older facts do not tell how large partitions are.
fn bytes(key: &UnindexedForeignKey) -> Option<u64> {
    key.table_bytes.or(key.partition_bytes)
}

fn table(key: &UnindexedForeignKey) -> String {
    qualified(&key.schema, &key.table)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{
        finding, healthy, not_applicable, ok, postgres, unknown, with_statistics_of_days,
    };
    use dbdyno_model::finding::Evidence;
    use dbdyno_model::postgres::{ForeignKeys, ReplicationRole, UnindexedForeignKey};
    use dbdyno_model::{Fact, Facts, Severity};

    fn key(name: &str, mib: Option<u64>, deleted: u64) -> UnindexedForeignKey {
        UnindexedForeignKey {
            name: name.into(),
            schema: "public".into(),
            table: "Lines".into(),
            columns: vec!["order".into(), "part".into()],
            table_bytes: mib.map(|mib| mib << 20),
            partition_bytes: None,
            partly_indexed: false,
            parent_schema: "public".into(),
            parent: "orders".into(),
            parent_deleted: deleted,
            parent_updated: 0,
        }
    }

    fn with(listed: Vec<UnindexedForeignKey>) -> Facts {
        let mut facts = healthy();
        let keys = ForeignKeys {
            foreign_keys: 20,
            unindexed: listed.len() as u64,
            unmeasured: 0,
            listed,
        };
        postgres(&mut facts).foreign_keys = Fact::known(keys, "pg_constraint");
        facts
    }

    #[test]
    fn deletes_that_scan_are_found_with_the_index_that_helps() {
        let found = finding(
            &RULE,
            &with(vec![
                key("small", Some(1), 5),
                key("large", Some(900), 12_000),
                key("idle", Some(900), 0),
            ]),
        );
        insta::assert_snapshot!(found.message, @r#"1 foreign key of large tables has no index: 12 thousand rows deleted from public.orders each scanned public."Lines" (900 MiB)"#);
        insta::assert_snapshot!(found.statements[0].sql, @r#"CREATE INDEX CONCURRENTLY ON public."Lines" ("order", part)"#);
        assert_eq!(found.statements.len(), 1);
    }

    #[test]
    fn one_index_serves_all_keys_on_the_same_columns() {
        let found = finding(
            &RULE,
            &with(vec![key("a", Some(900), 5), key("b", Some(900), 7)]),
        );
        assert_eq!(found.statements.len(), 1);
    }

    /// `(tenant, order)` with an index on `order`: no delete reads the whole table.
    #[test]
    fn an_index_on_a_part_of_the_key_is_told_and_makes_it_a_hint() {
        let mut part = key("part", Some(900), 12_000);
        part.partly_indexed = true;
        let found = finding(&RULE, &with(vec![part.clone()]));
        assert_eq!(found.severity, Severity::Info);
        insta::assert_snapshot!(found.message, @r#"1 foreign key of large tables has no index on all of the columns: 12 thousand rows deleted from public.orders each searched a part of public."Lines" (900 MiB)"#);
        let found = finding(&RULE, &with(vec![part, key("none", Some(200), 5)]));
        assert_eq!(found.severity, Severity::Warn);
        assert!(found.message.contains("5 rows"), "{}", found.message);
        assert!(found.evidence[2].value.ends_with("one of the columns"));
    }

    #[test]
    fn a_few_deletes_in_months_are_a_hint() {
        let mut facts = with(vec![key("rare", Some(900), 5)]);
        with_statistics_of_days(&mut facts, 90.0);
        assert_eq!(finding(&RULE, &facts).severity, Severity::Info);
        let mut facts = with(vec![key("daily", Some(900), 90)]);
        with_statistics_of_days(&mut facts, 90.0);
        assert_eq!(finding(&RULE, &facts).severity, Severity::Warn);
    }

    #[test]
    fn a_partitioned_table_takes_more_than_one_statement() {
        let found = finding(&RULE, &with(vec![key("p", None, 5)]));
        assert_eq!(found.statements, []);
        assert!(found.host_actions[0].action.contains("each partition"));
    }

    #[test]
    fn a_partitioned_table_is_as_large_as_its_partitions() {
        let mut parts = key("p", None, 5);
        parts.partition_bytes = Some(1 << 20);
        ok(&RULE, &with(vec![parts.clone()]));
        parts.partition_bytes = Some(900 << 20);
        let found = finding(&RULE, &with(vec![parts]));
        assert!(found.message.ends_with("(900 MiB)"), "{}", found.message);
        assert_eq!(found.statements, []);
    }

    #[test]
    fn small_tables_are_fine_and_idle_ones_after_a_day() {
        ok(&RULE, &with(vec![key("small", Some(1), 5)]));
        let mut facts = with(vec![key("idle", Some(900), 0)]);
        assert!(unknown(&RULE, &facts).contains("statistics are 6 seconds old"));
        with_statistics_of_days(&mut facts, 3.0);
        ok(&RULE, &facts);
    }

    #[test]
    fn tables_that_nobody_counted_or_measured_are_unknown_and_told_beside_a_finding() {
        let unmeasured = |key: UnindexedForeignKey| {
            let mut facts = with(vec![key]);
            let keys = ForeignKeys {
                unmeasured: 7,
                ..postgres(&mut facts).foreign_keys.value().unwrap().clone()
            };
            postgres(&mut facts).foreign_keys = Fact::known(keys, "pg_constraint");
            facts
        };
        let why = unknown(&RULE, &unmeasured(key("small", Some(1), 5)));
        assert!(why.contains("tables of 7 foreign keys"), "{why}");
        let found = finding(&RULE, &unmeasured(key("large", Some(900), 5)));
        let told = |evidence: &Evidence| evidence.value.contains("tables of 7 foreign keys");
        assert!(found.evidence.iter().any(told), "{found:?}");
    }

    #[test]
    fn many_keys_of_parents_that_lose_nothing_are_fine_after_a_day() {
        let mut facts = with(vec![key("small", Some(1), 0)]);
        let keys = &mut postgres(&mut facts).foreign_keys;
        *keys = keys.clone().map(|mut keys| {
            keys.unindexed = 400;
            keys
        });
        assert!(unknown(&RULE, &facts).contains("statistics are 6 seconds old"));
        with_statistics_of_days(&mut facts, 3.0);
        ok(&RULE, &facts);
    }

    #[test]
    fn what_was_not_read_is_unknown_and_a_standby_not_applicable() {
        let mut facts = healthy();
        unknown(&RULE, &facts);
        postgres(&mut facts).role = Fact::known(ReplicationRole::Standby, "test");
        not_applicable(&RULE, &facts);
    }
}
