//! Indexes that another index of the same table makes superfluous.
//!
//! ## What it finds
//! An index whose columns are the first ones of another index of the table, with the same operator
//! classes, collations, directions and predicate; or the same columns altogether.
//!
//! ## Why it matters
//! Whatever the shorter one is scanned for, the longer one can serve. Both are written with each
//! row, and both take room in memory.
//!
//! ## What to do
//! Keep the definition, then `DROP INDEX CONCURRENTLY`. An index of a partitioned table is dropped as a
//! whole, with its parts on all partitions, and not concurrently: `DROP INDEX` takes the strongest lock
//! on the table and each partition for a moment, which `lock_timeout` bounds while it waits.
//!
//! ## Risk
//! The longer index has larger entries, so that a scan of the shorter one's columns reads more
//! pages. Where that is most of the load, keep both.
//!
//! ## When it does not apply
//! Indexes that enforce a constraint, are a replica identity, are what `CLUSTER` goes by or belong to
//! a partitioned index are never listed, nor is a partitioned index of which that is true on some
//! partition; a unique index only beside another unique one on the same columns. Included columns have to be the same, and so have options of methods other than B-tree
//! and hash.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/indexes-multicolumn.html>
//! - <https://www.postgresql.org/docs/current/sql-dropindex.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::postgres::{Cover, Index};
use dbdyno_model::words::{plural, verb};
use dbdyno_model::{Facts, Outcome, Severity};

use super::removal::{self, name};
use crate::rule::{FindingExt, Rule, humane_bytes, need_ref, server, settle};
use crate::scope::{LISTED, ScopeExt, database, in_all, on_primary};
use crate::sql::{StatementExt, identifier};

pub(super) const RULE: Rule = Rule {
    id: "schema.redundant_index",
    severity: Severity::Info,
    confidence: Confidence::High,
    sources: &[
        "https://www.postgresql.org/docs/current/indexes-multicolumn.html",
        "https://www.postgresql.org/docs/current/sql-dropindex.html",
    ],
    check,
    source_text: include_str!("redundant_index.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    on_primary(postgres, "an index")?;
    let indexes = need_ref(&postgres.indexes, "indexes")?;
    let mut covered: Vec<(&Index, &Cover)> = indexes
        .listed
        .iter()
        .filter_map(|index| Some((index, index.covered_by.as_ref()?)))
        .collect();
    covered.sort_by_key(|(index, _)| (std::cmp::Reverse(index.size_bytes), name(index)));
    let Some((largest, cover)) = covered.first() else {
        return Ok(Outcome::Ok);
    };
    let all = in_all(indexes.redundant).max(covered.len());
    let origin = &postgres.indexes.origin;
    let mut finding = RULE
        .finding(format!(
            "{} of {} {} superfluous, the largest {} ({}) beside {}",
            plural(all as u64, "index"),
            database(postgres),
            verb(all as u64, "is", "are"),
            name(largest),
            humane_bytes(largest.size_bytes),
            identifier(&cover.index)
        ))
        .of_database(postgres);
    for (index, cover) in covered.iter().take(LISTED) {
        let beside = identifier(&cover.index);
        let parts = removal::of_parts(index);
        let (relation, costs) = if cover.duplicate {
            ("the same as", "nothing that the other one does not do")
        } else {
            (
                "the beginning of",
                "scans of its columns alone read the larger entries of the other one",
            )
        };
        let size = humane_bytes(index.size_bytes);
        let scans = plural(index.scans, "scan");
        finding = finding
            .evidence(
                name(index),
                format!("{relation} {beside}, {size}, {scans}{parts}"),
                origin,
            )
            .statement(removal::definition(index))
            .statement(removal::dropped(
                index,
                &format!("{beside} serves its scans"),
                costs,
            ));
    }
    let more = all - covered.len().min(LISTED);
    Ok(finding.and_more(more, "such index", origin).into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, not_applicable, ok, postgres, unknown};
    use dbdyno_model::postgres::{Cover, Index, IndexParts, Indexes, ReplicationRole};
    use dbdyno_model::{Fact, Facts};

    fn index(name: &str, mib: u64, cover: Option<(&str, bool)>) -> Index {
        Index {
            schema: "public".into(),
            table: "orders".into(),
            name: name.into(),
            size_bytes: mib << 20,
            scans: 7,
            covered_by: cover.map(|(index, duplicate)| Cover {
                index: index.into(),
                duplicate,
                part_of: None,
            }),
            ..Index::default()
        }
    }

    fn with(redundant: u64, listed: Vec<Index>) -> Facts {
        let mut facts = healthy();
        let indexes = Indexes {
            redundant,
            listed,
            ..Indexes::default()
        };
        postgres(&mut facts).indexes = Fact::known(indexes, "pg_index");
        facts
    }

    #[test]
    fn duplicates_and_beginnings_are_found_with_what_each_gives_up() {
        let facts = with(
            3,
            vec![
                index("orders_pkey", 900, None),
                index("by_customer", 200, Some(("by_customer_date", false))),
                index("id_again", 800, Some(("orders_pkey", true))),
            ],
        );
        let found = finding(&RULE, &facts);
        insta::assert_snapshot!(found.message, @"3 indexes of database postgres are superfluous, the largest public.id_again (800 MiB) beside orders_pkey");
        insta::assert_snapshot!(found.evidence[2].value, @"the beginning of by_customer_date, 200 MiB, 7 scans");
        assert_eq!(
            found.statements[1].sql,
            "DROP INDEX CONCURRENTLY public.id_again"
        );
        assert!(
            found.statements[3]
                .gives_up
                .as_ref()
                .is_some_and(|cost| cost.contains("larger entries"))
        );
        let rest = found.evidence.last().unwrap();
        assert_eq!(rest.value, "1 more such index");
    }

    /// Concurrently it cannot be dropped, and a part of it not at all.
    #[test]
    fn a_partitioned_index_goes_as_a_whole() {
        let mut whole = index("by_day", 900, Some(("by_day_and_shop", false)));
        whole.parts = Some(IndexParts {
            indexes: 12,
            ..IndexParts::default()
        });
        let found = finding(&RULE, &with(1, vec![whole]));
        let value = &found.evidence[1].value;
        assert!(
            value.ends_with("7 scans, its parts on 12 partitions together"),
            "{value}"
        );
        assert!(found.statements[0].why.contains("without ONLY"));
        assert_eq!(found.statements[1].sql, "DROP INDEX public.by_day");
        let costs = found.statements[1].gives_up.as_ref().unwrap();
        assert!(costs.contains("lock_timeout"), "{costs}");
    }

    #[test]
    fn none_is_fine_and_what_was_not_read_unknown() {
        let mut facts = with(0, vec![index("orders_pkey", 900, None)]);
        ok(&RULE, &facts);
        postgres(&mut facts).indexes = Fact::default();
        unknown(&RULE, &facts);
        postgres(&mut facts).role = Fact::known(ReplicationRole::Standby, "test");
        not_applicable(&RULE, &facts);
    }
}
