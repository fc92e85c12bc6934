//! Indexes that were never finished.
//!
//! ## What it finds
//! Invalid indexes that nobody is building or dropping now: what a `CREATE INDEX CONCURRENTLY`,
//! `REINDEX CONCURRENTLY` or `DROP INDEX CONCURRENTLY` left behind when it was broken off. An index of
//! a partitioned table stays invalid from `CREATE INDEX … ON ONLY` until each partition has a valid part
//! that is attached to it.
//!
//! ## Why it matters
//! No query uses such an index. Every write of the table still keeps it up, unless its first build
//! failed, as that of a unique one does on duplicate values. A unique one that is kept up may refuse
//! rows although it guarantees nothing. Of a partitioned index the parts that there are serve queries,
//! while partitions without one are read as a whole, and a unique one guarantees nothing as a whole.
//!
//! ## What to do
//! Build it with `REINDEX INDEX CONCURRENTLY`. One whose name ends in `_ccnew` or `_ccold` is what
//! a broken rebuild left beside the index itself: drop it; likewise one that somebody meant to drop.
//! For a partitioned index build what is missing with `CREATE INDEX CONCURRENTLY` on each partition, and
//! attach it with `ALTER INDEX … ATTACH PARTITION`: `REINDEX` of the whole builds no part that is missing.
//!
//! ## Risk
//! None to data. A unique index that failed on duplicate values fails again until they are gone.
//!
//! ## When it does not apply
//! While an index is being built. A partitioned index that is meant for new partitions alone. Where the role may not see that, look at
//! `pg_stat_progress_create_index` before anything is dropped.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/sql-createindex.html#SQL-CREATEINDEX-CONCURRENTLY>
//! - <https://www.postgresql.org/docs/current/sql-reindex.html#SQL-REINDEX-CONCURRENTLY>
//! - <https://www.postgresql.org/docs/current/sql-alterindex.html>

use dbdyno_model::finding::{Confidence, Statement};
use dbdyno_model::postgres::{Index, Postgres};
use dbdyno_model::words::{plural, verb};
use dbdyno_model::{Facts, Finding, Needs, Outcome, Severity};

use super::removal::name;
use crate::rule::{FindingExt, Rule, humane_bytes, need_ref, server, settle};
use crate::scope::{LISTED, ScopeExt, database, in_all, on_primary};
use crate::sql::{StatementExt, concurrent_build, literal, qualified, statement};

pub(super) const RULE: Rule = Rule {
    id: "schema.invalid_index",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &[
        "https://www.postgresql.org/docs/current/sql-createindex.html#SQL-CREATEINDEX-CONCURRENTLY",
        "https://www.postgresql.org/docs/current/sql-reindex.html#SQL-REINDEX-CONCURRENTLY",
        "https://www.postgresql.org/docs/current/sql-alterindex.html",
    ],
    check,
    source_text: include_str!("invalid_index.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    on_primary(postgres, "an index")?;
    let indexes = need_ref(&postgres.indexes, "indexes")?;
    let invalid = || indexes.listed.iter().filter(|index| !index.valid);
    let left: Vec<&Index> = invalid()
        .filter(|index| index.building != Some(true))
        .collect();
    let building = invalid().count() - left.len();
    let Some(first) = left.first() else {
        return Ok(Outcome::Ok);
    };
    let all = in_all(indexes.invalid)
        .saturating_sub(building)
        .max(left.len());
    let origin = &postgres.indexes.origin;
    let is_whole = |index: &&&Index| index.parts.is_some();
    let wholes = left.iter().filter(is_whole).count();
    let plain = left.len() - wholes;
    let written = left
        .iter()
        .filter(|index| index.ready && index.parts.is_none());
    let effect = match (plain, wholes, written.count()) {
        (0, _, _) => "some partition has no valid part".to_owned(),
        (_, 0, 0) => "used by no query".to_owned(),
        (_, 0, written) => {
            format!("used by no query, {written} written with each row all the same")
        }
        (_, wholes, _) => {
            format!("used by no query, but for the valid parts of {wholes} on partitioned tables")
        }
    };
    let mut finding = RULE
        .finding(format!(
            "{} of {} {} invalid: {effect}; first: {}",
            plural(all as u64, "index"),
            database(postgres),
            verb(all as u64, "is", "are"),
            name(first)
        ))
        .of_database(postgres);
    for one in left.iter().take(LISTED) {
        if one.parts.is_some() {
            finding = completed(finding, one, origin);
            continue;
        }
        let value = format!(
            "{}, {} on {}",
            if one.ready {
                "written with each row"
            } else {
                "not written: its build failed"
            },
            humane_bytes(one.size_bytes),
            qualified(&one.schema, &one.table)
        );
        finding = finding
            .evidence(name(one), value, origin)
            .statement(mended(postgres, one));
    }
    if left.iter().any(|index| index.building.is_none()) {
        finding = finding.evidence(
            "being built now",
            "the role may not see that",
            "pg_stat_progress_create_index",
        );
    }
    let more = all - left.len().min(LISTED);
    Ok(finding.and_more(more, "such index", origin).into_outcome())
}

fn mended(postgres: &Postgres, index: &Index) -> Statement {
    let name = name(index);
    if is_leftover(&index.name) {
        statement(
            format!("DROP INDEX CONCURRENTLY {name}"),
            "a rebuild that was broken off left it; the index itself is another one",
        )
    } else {
        concurrent_build(
            postgres,
            format!("REINDEX INDEX CONCURRENTLY {name}"),
            "builds it; a unique one only where no value is there twice; drop it instead where a drop was broken off",
        )
    }
}

/// Lists the partitions that lack a part, and says how they get one. One that is attached already makes
/// the whole valid only when another one is attached after it was built.
fn completed(finding: Finding, index: &Index, origin: &str) -> Finding {
    let name = name(index);
    let table = qualified(&index.schema, &index.table);
    let parts = index.parts.as_ref().map_or(0, |parts| parts.indexes);
    let lacking = format!(
        "SELECT t.relid FROM pg_partition_tree({}) t WHERE t.isleaf AND NOT EXISTS (\
         SELECT FROM pg_partition_tree({}) i JOIN pg_index x ON x.indexrelid = i.relid \
         WHERE x.indrelid = t.relid AND x.indisvalid)",
        literal(&table),
        literal(&name)
    );
    finding
        .evidence(
            name.clone(),
            format!("{}, on some partitions of {table}", plural(parts, "part")),
            origin,
        )
        .statement(statement(lacking, "the partitions without a valid part"))
        .host_action(
            format!(
                "on each partition that this prints: where a part is invalid, REINDEX INDEX CONCURRENTLY it; where there is none, build the same index with CREATE INDEX CONCURRENTLY and then ALTER INDEX {name} ATTACH PARTITION it (below a partition of partitions, attach it to the index of that one): the last one that is attached makes the whole valid. Where none is left to be attached, build another index of the same kind and drop this one"
            ),
            Needs::Online,
        )
}

/// `_ccnew`, `_ccold`, and either with a number behind it.
fn is_leftover(name: &str) -> bool {
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit());
    name.ends_with("_ccnew") || name.ends_with("_ccold")
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, not_applicable, ok, postgres, unknown};
    use dbdyno_model::postgres::{Index, IndexParts, Indexes, ReplicationRole};
    use dbdyno_model::{Fact, Facts};

    /// One whose first build was done.
    fn invalid(name: &str, building: Option<bool>) -> Index {
        Index {
            schema: "public".into(),
            table: "orders".into(),
            name: name.into(),
            size_bytes: 8192,
            ready: true,
            building,
            ..Index::default()
        }
    }

    fn with(listed: Vec<Index>) -> Facts {
        let mut facts = healthy();
        let indexes = Indexes {
            invalid: listed.len() as u64,
            listed,
            ..Indexes::default()
        };
        postgres(&mut facts).indexes = Fact::known(indexes, "pg_index");
        facts
    }

    #[test]
    fn what_was_left_behind_is_built_or_dropped() {
        let found = finding(
            &RULE,
            &with(vec![
                invalid("by_date", Some(false)),
                invalid("by_date_ccnew1", Some(false)),
                invalid("just_now", Some(true)),
            ]),
        );
        insta::assert_snapshot!(found.message, @"2 indexes of database postgres are invalid: used by no query, 2 written with each row all the same; first: public.by_date");
        assert_eq!(
            found.statements[0].sql,
            "REINDEX INDEX CONCURRENTLY public.by_date"
        );
        assert_eq!(
            found.statements[1].sql,
            "DROP INDEX CONCURRENTLY public.by_date_ccnew1"
        );
    }

    #[test]
    fn one_that_failed_on_duplicates_is_not_said_to_be_written() {
        let failed = Index {
            ready: false,
            ..invalid("by_number", Some(false))
        };
        let found = finding(&RULE, &with(vec![failed]));
        insta::assert_snapshot!(found.message, @"1 index of database postgres is invalid: used by no query; first: public.by_number");
        let value = &found.evidence[1].value;
        assert!(value.starts_with("not written"), "{value}");
    }

    /// REINDEX builds no part that is missing, and CREATE INDEX CONCURRENTLY refuses the whole.
    #[test]
    fn a_partitioned_one_is_completed_part_by_part() {
        let whole = Index {
            name: "by_day".into(),
            parts: Some(IndexParts {
                indexes: 3,
                ..IndexParts::default()
            }),
            ..invalid("", Some(false))
        };
        let found = finding(&RULE, &with(vec![whole.clone()]));
        insta::assert_snapshot!(found.message, @"1 index of database postgres is invalid: some partition has no valid part; first: public.by_day");
        assert_eq!(found.statements.len(), 1);
        assert!(found.statements[0].sql.starts_with("SELECT t.relid FROM"));
        let action = &found.host_actions[0].action;
        assert!(
            action.contains("ALTER INDEX public.by_day ATTACH PARTITION"),
            "{action}"
        );
        let both = vec![invalid("by_date", Some(false)), whole];
        let found = finding(&RULE, &with(both));
        insta::assert_snapshot!(found.message, @"2 indexes of database postgres are invalid: used by no query, but for the valid parts of 1 on partitioned tables; first: public.by_date");
        assert_eq!(found.statements.len(), 2);
    }

    #[test]
    fn servers_whose_concurrent_builds_miss_rows_are_updated_first() {
        let mut facts = with(vec![invalid("by_date", Some(false))]);
        let why = |facts: &Facts| finding(&RULE, facts).statements[0].why.clone();
        for (version, is_sound) in [(140_003, false), (140_004, true), (130_010, true)] {
            postgres(&mut facts).version_num = version;
            assert_eq!(!why(&facts).contains("update to 14.4"), is_sound);
        }
    }

    #[test]
    fn a_role_that_sees_no_builds_is_told() {
        let found = finding(&RULE, &with(vec![invalid("by_date", None)]));
        let last = found.evidence.last().unwrap();
        assert_eq!(last.fact, "being built now");
    }

    #[test]
    fn valid_ones_and_builds_are_fine_and_what_was_not_read_unknown() {
        let valid = Index {
            valid: true,
            ..invalid("by_date", None)
        };
        ok(&RULE, &with(vec![valid]));
        let mut facts = with(vec![invalid("just_now", Some(true))]);
        ok(&RULE, &facts);
        postgres(&mut facts).indexes = Fact::default();
        unknown(&RULE, &facts);
        postgres(&mut facts).role = Fact::known(ReplicationRole::Standby, "test");
        not_applicable(&RULE, &facts);
    }
}
