//! Tables without a primary key.
//!
//! ## What it finds
//! Tables, partitions and materialized views not counted, that have no primary key; and partitioned
//! tables without one, where some partition has none of its own either.
//!
//! ## Why it matters
//! No row of such a table can be named: duplicates stay unseen, and logical replication refuses
//! updates and deletes unless a whole row stands in for the key, which scans the table for each row
//! on the other side.
//!
//! ## What to do
//! Make the columns that tell rows apart the primary key. Where a unique index on columns without
//! nulls exists, `ALTER TABLE … ADD PRIMARY KEY USING INDEX` takes it over; else build one with
//! `CREATE UNIQUE INDEX CONCURRENTLY` first. The key of a partitioned table contains the columns that it
//! is partitioned by, and takes over no index as a whole: give each partition its key in that way, then
//! `ALTER TABLE ONLY … ADD PRIMARY KEY` and `ALTER INDEX … ATTACH PARTITION` for each.
//!
//! ## Risk
//! None to data. Setting columns NOT NULL scans the table under a lock.
//!
//! ## When it does not apply
//! Tables that are only ever appended to or replaced as a whole, such as staging tables. Partitioned
//! tables with a foreign table among their partitions, which can have no key. Standbys, on which nothing
//! is to be altered.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/ddl-constraints.html#DDL-CONSTRAINTS-PRIMARY-KEYS>
//! - <https://www.postgresql.org/docs/current/ddl-partitioning.html>
//! - <https://www.postgresql.org/docs/current/logical-replication-publication.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::postgres::{Index, PartitionedTable, Postgres, Table};
use dbdyno_model::words::{plural, verb};
use dbdyno_model::{Facts, Finding, Needs, Outcome, Severity};

use crate::maintenance::tables;
use crate::rule::{FindingExt, Rule, humane_bytes, need_ref, server, settle};
use crate::scope::{LISTED, ScopeExt, database, in_all, on_primary};
use crate::sql::{identifier, qualified};

pub(super) const RULE: Rule = Rule {
    id: "schema.primary_key",
    severity: Severity::Info,
    confidence: Confidence::High,
    sources: &[
        "https://www.postgresql.org/docs/current/ddl-constraints.html#DDL-CONSTRAINTS-PRIMARY-KEYS",
        "https://www.postgresql.org/docs/current/ddl-partitioning.html",
        "https://www.postgresql.org/docs/current/logical-replication-publication.html",
    ],
    check,
    source_text: include_str!("primary_key.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    on_primary(postgres, "a key of a table")?;
    let totals = need_ref(&postgres.table_totals, "tables")?;
    let wholes = totals.partitioned_without_primary_key;
    let without = in_all(totals.without_primary_key.saturating_add(wholes));
    if without == 0 {
        return Ok(Outcome::Ok);
    }
    let plain = postgres.tables.value().into_iter().flatten();
    let mut listed: Vec<Keyless<'_>> = plain
        .filter(|table| table.has_primary_key == Some(false))
        .map(Keyless::Plain)
        .chain(totals.keyless.iter().map(Keyless::Partitioned))
        .collect();
    listed.sort_by_key(|table| (std::cmp::Reverse(table.size_bytes()), table.name()));
    let largest = listed.first().map_or(String::new(), |table| {
        let size = humane_bytes(table.size_bytes());
        format!(", the largest {} ({size})", table.name())
    });
    let origin = &postgres.tables.origin;
    let mut finding = RULE
        .finding(format!(
            "{without} of {} of {} {} no primary key{largest}",
            plural(totals.tables.saturating_add(totals.partitioned), "table"),
            database(postgres),
            verb(without as u64, "has", "have")
        ))
        .of_database(postgres);
    for table in listed.iter().take(LISTED) {
        let size = humane_bytes(table.size_bytes());
        let value = match table {
            Keyless::Plain(_) => size,
            Keyless::Partitioned(whole) => format!("{size} in {} partitions", whole.partitions),
        };
        finding = finding.evidence(table.name(), value, origin);
    }
    let told = listed.len().min(LISTED);
    Ok(with_key(finding, postgres, &listed)
        .and_more(without.saturating_sub(told), "such table", origin)
        .into_outcome())
}

#[derive(Clone, Copy)]
enum Keyless<'a> {
    Plain(&'a Table),
    Partitioned(&'a PartitionedTable),
}

impl Keyless<'_> {
    fn name(&self) -> String {
        match self {
            Self::Plain(table) => tables::name(table),
            Self::Partitioned(table) => qualified(&table.schema, &table.name),
        }
    }

    fn size_bytes(&self) -> u64 {
        match self {
            Self::Plain(table) => table.size_bytes,
            Self::Partitioned(table) => table.size_bytes,
        }
    }
}

/// What a unique index of the table offers, for the tables that are listed.
fn with_key(finding: Finding, postgres: &Postgres, listed: &[Keyless<'_>]) -> Finding {
    let indexes = postgres
        .indexes
        .value()
        .map_or(&[][..], |indexes| indexes.listed.as_slice());
    listed.iter().take(LISTED).fold(finding, |finding, table| {
        let Keyless::Plain(table) = *table else {
            return finding.host_action(for_partitions(&table.name()), Needs::Online);
        };
        let Some(index) = indexes.iter().find(|index| serves(index, table)) else {
            return finding;
        };
        finding.host_action(
            format!(
                "ALTER TABLE {} ADD PRIMARY KEY USING INDEX {}, where its columns have no nulls",
                tables::name(table),
                identifier(&index.name)
            ),
            Needs::Online,
        )
    })
}

/// No index of a partitioned table can be taken over, but those of its partitions can be attached.
fn for_partitions(name: &str) -> String {
    format!(
        "{name}: where columns tell its rows apart, those that it is partitioned by among them, CREATE UNIQUE INDEX CONCURRENTLY on each partition and ALTER TABLE of it ADD PRIMARY KEY USING INDEX; then ALTER TABLE ONLY {name} ADD PRIMARY KEY, and ALTER INDEX of that key ATTACH PARTITION each partition's"
    )
}

fn serves(index: &Index, table: &Table) -> bool {
    index.schema == table.schema
        && index.table == table.name
        && index.unique
        && index.valid
        && index.constraint.is_none()
        // That one is to be dropped.
        && index.covered_by.is_none()
        && !index.partial
        && !index.has_expressions
        && index.fit_for_key != Some(false)
        && index.method == "btree"
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, not_applicable, ok, postgres, unknown};
    use dbdyno_model::postgres::{
        Cover, Index, Indexes, PartitionedTable, ReplicationRole, Table, TableTotals,
    };
    use dbdyno_model::{Fact, Facts};

    fn with(without: u64, tables: Vec<Table>) -> Facts {
        let mut facts = healthy();
        let server = postgres(&mut facts);
        server.table_totals = Fact::known(
            TableTotals {
                tables: 40,
                without_primary_key: without,
                ..TableTotals::default()
            },
            "pg_class",
        );
        server.tables = Fact::known(tables, "pg_class");
        facts
    }

    fn table(name: &str, mib: u64, has_primary_key: Option<bool>) -> Table {
        Table {
            schema: "public".into(),
            name: name.into(),
            size_bytes: mib << 20,
            has_primary_key,
            ..Table::default()
        }
    }

    #[test]
    fn tables_are_found_largest_first_and_those_that_are_not_listed_are_counted() {
        let facts = with(
            3,
            vec![
                table("keyed", 900, Some(true)),
                table("log", 100, Some(false)),
                table("Events", 500, Some(false)),
                table("part", 700, None),
            ],
        );
        let found = finding(&RULE, &facts);
        insta::assert_snapshot!(found.message, @r#"3 of 40 tables of database postgres have no primary key, the largest public."Events" (500 MiB)"#);
        assert_eq!(found.evidence.last().unwrap().value, "1 more such table");
        assert_eq!(found.host_actions, []);
    }

    #[test]
    fn a_partitioned_table_is_as_large_as_its_partitions() {
        let mut facts = with(1, vec![table("log", 100, Some(false))]);
        let totals = &mut postgres(&mut facts).table_totals;
        *totals = totals.clone().map(|totals| TableTotals {
            partitioned: 2,
            partitioned_without_primary_key: 1,
            keyless: vec![PartitionedTable {
                schema: "public".into(),
                name: "measured".into(),
                partitions: 12,
                size_bytes: 700 << 20,
            }],
            ..totals
        });
        let found = finding(&RULE, &facts);
        insta::assert_snapshot!(found.message, @"2 of 42 tables of database postgres have no primary key, the largest public.measured (700 MiB)");
        assert_eq!(found.evidence[1].value, "700 MiB in 12 partitions");
        let action = &found.host_actions[0].action;
        assert!(
            action.contains("ALTER TABLE ONLY public.measured ADD PRIMARY KEY"),
            "{action}"
        );
    }

    #[test]
    fn a_unique_index_is_named_as_what_could_become_one() {
        let mut facts = with(1, vec![table("log", 100, Some(false))]);
        let index = Index {
            schema: "public".into(),
            table: "log".into(),
            name: "log_id".into(),
            method: "btree".into(),
            unique: true,
            valid: true,
            ..Index::default()
        };
        let again = Index {
            name: "log_id_again".into(),
            covered_by: Some(Cover {
                index: "log_id".into(),
                duplicate: true,
                part_of: None,
            }),
            ..index.clone()
        };
        let indexes = Indexes {
            listed: vec![again, index],
            ..Indexes::default()
        };
        postgres(&mut facts).indexes = Fact::known(indexes, "pg_index");
        let found = finding(&RULE, &facts);
        insta::assert_snapshot!(found.host_actions[0].action, @"ALTER TABLE public.log ADD PRIMARY KEY USING INDEX log_id, where its columns have no nulls");
        // Such as one in descending order, which the server refuses.
        let indexes = &mut postgres(&mut facts).indexes;
        *indexes = indexes.clone().map(|mut indexes| {
            for index in &mut indexes.listed {
                index.fit_for_key = Some(false);
            }
            indexes
        });
        assert_eq!(finding(&RULE, &facts).host_actions, []);
    }

    #[test]
    fn a_standby_is_not_applicable() {
        let mut facts = with(1, vec![table("log", 100, Some(false))]);
        postgres(&mut facts).role = Fact::known(ReplicationRole::Standby, "test");
        not_applicable(&RULE, &facts);
    }

    #[test]
    fn keys_everywhere_are_fine_and_unread_tables_unknown() {
        ok(&RULE, &with(0, Vec::new()));
        unknown(&RULE, &healthy());
    }
}
