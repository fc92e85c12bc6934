//! Indexes that no query has used.
//!
//! ## What it finds
//! Indexes of 10 MiB or more that were not scanned once since the statistics were reset, at least
//! 30 days ago, and that enforce nothing. An index of a partitioned table counts as a whole: one none of
//! whose parts was scanned on any partition.
//!
//! ## Why it matters
//! Each index makes every insert, and most updates, write more; it takes room in memory, in backups
//! and on every replica, and keeps updates from being HOT.
//!
//! ## What to do
//! Look at the same counter on every replica: each counts its own queries, and dbdyno sees this
//! server alone. Keep the definition, then `DROP INDEX CONCURRENTLY`. Where standbys are connected,
//! no statement that drops is given. A partitioned index cannot be dropped concurrently: `DROP INDEX`
//! takes the strongest lock on the table and each partition for a moment.
//!
//! ## Risk
//! A report that runs once a quarter becomes slow. Building the index again takes a scan of the
//! table.
//!
//! ## When it does not apply
//! Indexes of primary keys, unique and exclusion constraints and replica identities are never
//! listed; nor are those that a foreign key's check would use, that `CLUSTER` goes by, or whose
//! expressions give the planner statistics that it uses without a scan. Nor is one that
//! `schema.redundant_index` keeps in place of another: once the other is dropped, this one is
//! scanned. An index that was made after the reset has had less time. Its age is not recorded, but
//! each row that is inserted reads a block of each B-tree: where fewer were read than rows inserted,
//! that is told, and no statement that drops it is given.
//! Partitions' indexes come and go with their parent's, and scans of partitions that were dropped are
//! counted no more. From PostgreSQL 15 on a database counts since
//! it was made, which only `pg_stat_file()` tells: without it nothing is said. What was a standby
//! counted nothing of its primary's load: its days count from the promotion, by `pg_ls_waldir()`.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-ALL-INDEXES-VIEW>
//! - <https://www.postgresql.org/docs/current/sql-dropindex.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::postgres::{Index, Postgres};
use dbdyno_model::words::{plural, verb};
use dbdyno_model::{Facts, Finding, Needs, Outcome, Severity};

use super::removal::{self, name};
use crate::formulas::MIB;
use crate::rule::{FindingExt, Rule, humane_bytes, need_ref, server, settle};
use crate::scope::{
    DAY_S, LISTED, ScopeExt, database, humane_time, in_all, on_primary, primary_statistics_of,
};
use crate::sql::StatementExt;

pub(super) const RULE: Rule = Rule {
    id: "schema.unused_index",
    severity: Severity::Info,
    confidence: Confidence::Medium,
    sources: &[
        "https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-ALL-INDEXES-VIEW",
        "https://www.postgresql.org/docs/current/sql-dropindex.html",
    ],
    check,
    source_text: include_str!("unused_index.rs"),
};

/// A month has its end in it, and what runs then.
const LEAST_AGE_S: f64 = 30.0 * DAY_S;

/// Less is not worth the risk.
const LEAST_BYTES: u64 = 10 * MIB;

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    on_primary(postgres, "an index")?;
    let indexes = need_ref(&postgres.indexes, "indexes")?;
    let mut unused: Vec<&Index> = indexes
        .listed
        .iter()
        .filter(|index| is_unused(index) && index.size_bytes >= LEAST_BYTES)
        .filter(|index| !indexes.listed.iter().any(|other| relies_on(other, index)))
        .collect();
    unused.sort_by_key(|index| (std::cmp::Reverse(index.size_bytes), name(index)));
    let Some(largest) = unused.first() else {
        return Ok(Outcome::Ok);
    };
    need_ref(
        &postgres.replication.promotion,
        "indexes without a scan: whether the server was a standby",
    )?;
    let age_s = primary_statistics_of(postgres, LEAST_AGE_S, "indexes without a scan")?;
    let bytes: u64 = unused.iter().map(|index| index.size_bytes).sum();
    let origin = &postgres.indexes.origin;
    let mut finding = RULE
        .finding(format!(
            "{} of {} with {} {} not scanned once in {}, the largest {}",
            plural(unused.len() as u64, "index"),
            database(postgres),
            humane_bytes(bytes),
            verb(unused.len() as u64, "was", "were"),
            humane_time(age_s),
            name(largest)
        ))
        .of_database(postgres);
    for one in unused.iter().take(LISTED) {
        let size = humane_bytes(one.size_bytes) + &removal::of_parts(one);
        let value = if is_younger(one, postgres) {
            format!("{size}, made after the statistics began, or after its table was loaded")
        } else {
            size
        };
        finding = finding.evidence(format!("size of {}", name(one)), value, origin);
    }
    let all = in_all(indexes.unused).max(unused.len());
    let more = all - unused.len().min(LISTED);
    let finding = with_removal(finding, postgres, &unused);
    if more == 0 {
        return Ok(finding.into_outcome());
    }
    let others =
        format!("{more} more without a scan, small ones and those with another use among them");
    Ok(finding
        .evidence("not listed", others, origin)
        .into_outcome())
}

/// Enforces nothing, and serves nothing that is not counted as a scan.
fn is_unused(index: &Index) -> bool {
    index.scans == 0
        && index.valid
        && !index.unique
        && !index.primary
        && index.constraint.is_none()
        && !index.replica_identity
        && !index.clustered
        && !index.partition
        && index.parts.as_ref().is_none_or(|parts| !parts.bound)
        && !index.supports_foreign_key
        && !index.has_expressions
}

/// Whoever drops the one beside which the other is superfluous must not drop that other, too. On
/// a partition that may be a part of this one.
fn relies_on(other: &Index, index: &Index) -> bool {
    other.covered_by.as_ref().is_some_and(|cover| {
        let is_beside =
            cover.index == index.name && other.schema == index.schema && other.table == index.table;
        is_beside || removal::goes_with(cover, index)
    })
}

/// Older ones read at least a block for each row that was inserted meanwhile.
fn is_younger(index: &Index, postgres: &Postgres) -> bool {
    let tables = postgres.tables.value().map_or(&[][..], Vec::as_slice);
    let usage = tables
        .iter()
        .find(|table| table.schema == index.schema && table.name == index.table)
        .and_then(|table| table.usage.as_ref());
    let inserted = match &index.parts {
        Some(parts) => Some(parts.inserted),
        None => usage.map(|usage| usage.inserted),
    };
    index.method == "btree"
        && !index.partial
        && inserted.is_some_and(|inserted| index.blocks_fetched < inserted)
}

fn with_removal(finding: Finding, postgres: &Postgres, unused: &[&Index]) -> Finding {
    let standbys = postgres.activity.value().map(|activity| activity.standbys);
    match standbys {
        Some(0) => {}
        Some(count) => {
            return finding
                .evidence("connected standbys", count, "pg_stat_replication")
                .host_action(
                    "on each standby: SELECT indexrelid::regclass FROM pg_stat_user_indexes WHERE \
                     idx_scan = 0; drop here only what none of them uses",
                    Needs::Online,
                );
        }
        None => {
            return finding.host_action(
                "find out whether there are standbys, which the role may not see; each counts its \
                 own scans",
                Needs::Online,
            );
        }
    }
    let old = unused
        .iter()
        .take(LISTED)
        .filter(|index| !is_younger(index, postgres));
    old.fold(finding, |finding, index| {
        finding
            .statement(removal::definition(index))
            .statement(removal::dropped(
                index,
                "where it is not new, and no replica and no report that is still to run needs it",
                "plans that would use it are slow until it is built again",
            ))
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{
        finding, healthy, not_applicable, ok, postgres, unknown, with_statistics_of_days,
    };
    use dbdyno_model::postgres::{
        Cover, Index, IndexParts, Indexes, PartitionedIndex, Promotion, ReplicationRole, Table,
        TableUsage,
    };
    use dbdyno_model::{Fact, Facts};

    fn unused(name: &str, mib: u64) -> Index {
        Index {
            schema: "public".into(),
            table: "orders".into(),
            name: name.into(),
            method: "btree".into(),
            size_bytes: mib << 20,
            valid: true,
            ..Index::default()
        }
    }

    fn parts(bound: bool) -> IndexParts {
        IndexParts {
            indexes: 12,
            inserted: 1000,
            bound,
        }
    }

    fn with(days: f64, listed: Vec<Index>) -> Facts {
        let mut facts = healthy();
        with_statistics_of_days(&mut facts, days);
        let indexes = Indexes {
            unused: listed.len() as u64,
            listed,
            ..Indexes::default()
        };
        let server = postgres(&mut facts);
        server.indexes = Fact::known(indexes, "pg_index");
        server.tables = Fact::known(Vec::new(), "pg_class");
        facts
    }

    #[test]
    fn large_ones_are_found_with_the_way_back() {
        let facts = with(45.0, vec![unused("Note idx", 300), unused("small", 1)]);
        let found = finding(&RULE, &facts);
        insta::assert_snapshot!(found.message, @r#"1 index of database postgres with 300 MiB was not scanned once in 45 days, the largest public."Note idx""#);
        let sql: Vec<&str> = found
            .statements
            .iter()
            .map(|one| one.sql.as_str())
            .collect();
        assert_eq!(
            sql,
            [
                "SELECT pg_get_indexdef('public.\"Note idx\"'::regclass)",
                "DROP INDEX CONCURRENTLY public.\"Note idx\"",
            ]
        );
        let rest = found.evidence.last().unwrap();
        assert!(rest.value.starts_with("1 more"), "{}", rest.value);
    }

    /// A million rows were inserted, and the index read a thousand blocks: it was made yesterday.
    #[test]
    fn what_is_younger_than_the_statistics_is_not_dropped() {
        let mut young = unused("i", 300);
        young.blocks_fetched = 1000;
        let mut facts = with(45.0, vec![young.clone()]);
        let table = Table {
            schema: "public".into(),
            name: "orders".into(),
            usage: Some(TableUsage {
                inserted: 1_000_000,
                ..TableUsage::default()
            }),
            ..Table::default()
        };
        postgres(&mut facts).tables = Fact::known(vec![table.clone()], "pg_class");
        let found = finding(&RULE, &facts);
        assert_eq!(found.statements, []);
        assert!(found.evidence[1].value.contains("made after"));
        young.blocks_fetched = 3_000_000;
        let mut facts = with(45.0, vec![young]);
        postgres(&mut facts).tables = Fact::known(vec![table], "pg_class");
        assert_eq!(finding(&RULE, &facts).statements.len(), 2);
    }

    #[test]
    fn what_enforces_or_serves_something_is_never_listed() {
        let change: [fn(&mut Index); 11] = [
            |index| index.scans = 1,
            |index| index.valid = false,
            |index| index.unique = true,
            |index| index.primary = true,
            |index| index.constraint = Some("c".into()),
            |index| index.replica_identity = true,
            |index| index.clustered = true,
            |index| index.partition = true,
            |index| index.supports_foreign_key = true,
            |index| index.has_expressions = true,
            |index| index.parts = Some(parts(true)),
        ];
        for change in change {
            let mut index = unused("i", 300);
            change(&mut index);
            ok(&RULE, &with(45.0, vec![index]));
        }
    }

    /// `by_customer` is scanned and superfluous beside `by_customer_date`, which was never scanned:
    /// whoever did what each of two rules says would have neither.
    #[test]
    fn what_is_to_serve_in_place_of_another_is_never_listed() {
        let mut short = unused("by_customer", 200);
        short.scans = 1000;
        short.covered_by = Some(Cover {
            index: "by_customer_date".into(),
            duplicate: false,
            part_of: None,
        });
        let long = unused("by_customer_date", 300);
        ok(&RULE, &with(45.0, vec![short.clone(), long.clone()]));
        short.table = "invoices".into();
        let found = finding(&RULE, &with(45.0, vec![short, long]));
        assert!(found.message.contains("by_customer_date"));
    }

    #[test]
    fn a_partitioned_index_is_dropped_as_a_whole_where_it_is_old_enough() {
        let mut whole = unused("by_day", 300);
        whole.parts = Some(parts(false));
        whole.blocks_fetched = 5000;
        let found = finding(&RULE, &with(45.0, vec![whole.clone()]));
        assert_eq!(found.statements[1].sql, "DROP INDEX public.by_day");
        insta::assert_snapshot!(found.evidence[1].value, @"300 MiB, its parts on 12 partitions together");
        whole.blocks_fetched = 10;
        let found = finding(&RULE, &with(45.0, vec![whole]));
        assert_eq!(found.statements, []);
    }

    /// A partition's own index is superfluous beside a part of one that no partition scanned.
    #[test]
    fn nor_is_one_a_part_of_which_is_to_serve_in_place_of_another() {
        let mut whole = unused("by_customer", 300);
        whole.parts = Some(parts(false));
        let mut own = unused("orders_2026_again", 200);
        own.table = "orders_2026".into();
        own.scans = 1000;
        own.covered_by = Some(Cover {
            index: "orders_2026_customer_idx".into(),
            duplicate: true,
            part_of: Some(PartitionedIndex {
                schema: "public".into(),
                name: "by_customer".into(),
            }),
        });
        ok(&RULE, &with(45.0, vec![own, whole]));
    }

    #[test]
    fn young_statistics_decide_nothing() {
        let why = unknown(&RULE, &with(12.0, vec![unused("i", 300)]));
        insta::assert_snapshot!(why, @"indexes without a scan: the statistics are 12 days old, 30 days are needed");
    }

    /// Nobody asked it for anything while it followed another.
    #[test]
    fn what_was_a_standby_counts_from_its_promotion() {
        let mut facts = with(45.0, vec![unused("i", 300)]);
        let promotion = Promotion {
            age_s: Some(2.0 * 86_400.0),
        };
        let origin = "pg_ls_waldir()";
        postgres(&mut facts).replication.promotion = Fact::known(promotion, origin);
        let why = unknown(&RULE, &facts);
        insta::assert_snapshot!(why, @"indexes without a scan: the server was a standby until 2 days ago, 30 days are needed");
        postgres(&mut facts).replication.promotion = Fact::unknown("permission denied", origin);
        let why = unknown(&RULE, &facts);
        assert!(why.contains("was a standby: permission denied"), "{why}");
    }

    #[test]
    fn a_database_that_was_never_reset_is_not_as_old_as_the_server() {
        let mut facts = with(45.0, vec![unused("i", 300)]);
        let server = postgres(&mut facts);
        server.database.after = server.database.after.clone().map(|mut database| {
            database.stats_age_s = None;
            database
        });
        let why = unknown(&RULE, &facts);
        assert!(
            why.contains("since when the database counts is not known"),
            "{why}"
        );
    }

    #[test]
    fn nothing_is_dropped_where_standbys_may_use_it() {
        let mut facts = with(45.0, vec![unused("i", 300)]);
        let server = postgres(&mut facts);
        server.activity = server.activity.clone().map(|mut activity| {
            activity.standbys = 2;
            activity
        });
        let found = finding(&RULE, &facts);
        assert_eq!(found.statements, []);
        assert!(found.host_actions[0].action.starts_with("on each standby"));
        postgres(&mut facts).activity = Fact::unknown("permission denied", "pg_stat_activity");
        let found = finding(&RULE, &facts);
        assert_eq!(found.statements, []);
    }

    #[test]
    fn a_standby_is_not_applicable() {
        let mut facts = with(45.0, vec![unused("i", 300)]);
        postgres(&mut facts).role = Fact::known(ReplicationRole::Standby, "test");
        not_applicable(&RULE, &facts);
    }
}
