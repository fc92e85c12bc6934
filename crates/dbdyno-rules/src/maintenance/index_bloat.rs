//! B-tree indexes that are much larger than their entries need.
//!
//! ## What it finds
//! B-tree indexes whose leaves are less than half full, where that wastes more than 1 GiB, by an
//! estimate.
//!
//! ## Why it matters
//! A sparse index takes more memory and more reads for the same lookups. It does not shrink by
//! itself: VACUUM hands back only pages that are empty.
//!
//! ## What to do
//! `REINDEX INDEX CONCURRENTLY`, and first see what made it so: keys that only grow while old ones
//! are deleted here and there, a mass delete, a transaction that held vacuum back.
//!
//! ## Risk
//! None to data. It needs room for a second copy and waits for transactions that use the table. One
//! that is broken off leaves an invalid index behind, which `schema.invalid_index` finds.
//!
//! ## When it does not apply
//! The estimate packs the planner's number of entries, as wide as ANALYZE found their columns, into
//! leaves of the index's fillfactor. Equal keys share one entry from PostgreSQL 13 on, so that an
//! index on few values needs less than estimated: such bloat is not seen. Expressions, partial
//! indexes and other methods are not estimated. `pgstatindex` reads the index and knows.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/routine-reindex.html>
//! - <https://www.postgresql.org/docs/current/btree-implementation.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::postgres::Index;
use dbdyno_model::words::{plural, verb};
use dbdyno_model::{Facts, Outcome, Severity};

use crate::formulas::bloat::{BTREE_FILLFACTOR, btree_leaf_pages};
use crate::formulas::{GIB, PAGE_BYTES};
use crate::rule::{FindingExt, Rule, humane_bytes, need_ref, server, settle};
use crate::scope::{LISTED, ScopeExt, on_primary};
use crate::sql::{CostExt, StatementExt, concurrent_build, qualified};

pub(super) const RULE: Rule = Rule {
    id: "maintenance.index_bloat",
    severity: Severity::Info,
    confidence: Confidence::Medium,
    sources: &[
        "https://www.postgresql.org/docs/current/routine-reindex.html",
        "https://www.postgresql.org/docs/current/btree-implementation.html",
    ],
    check,
    source_text: include_str!("index_bloat.rs"),
};

/// Share of the leaves' room that is used.
const SPARSE_DENSITY: f64 = 0.5;
const MUCH_BYTES: u64 = GIB;

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

struct Sparse<'a> {
    index: &'a Index,
    wasted: u64,
    density: f64,
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    on_primary(postgres, "rebuilding an index")?;
    let indexes = need_ref(&postgres.indexes, "indexes")?;
    let candidates = || indexes.listed.iter().filter(|index| is_plain(index));
    let unknown = candidates().filter(|index| is_unknown(index)).count();
    let mut sparse: Vec<Sparse<'_>> = candidates()
        .filter_map(estimate)
        .filter(|one| one.density < SPARSE_DENSITY && one.wasted > MUCH_BYTES)
        .collect();
    sparse.sort_by_key(|one| (std::cmp::Reverse(one.wasted), name(one.index)));
    let Some(worst) = sparse.first() else {
        if unknown > 0 {
            return Err(Outcome::Unknown(format!(
                "width of the keys of {}: never analysed, or the role may not SELECT the tables, without which pg_stats shows nothing",
                plural(unknown as u64, "large index")
            )));
        }
        return Ok(Outcome::Ok);
    };
    let origin = "pg_class, pg_stats";
    let mut finding = RULE
        .finding(format!(
            "{} {} less than half full, {} with {:.0} % of {} (an estimate)",
            plural(sparse.len() as u64, "B-tree index"),
            verb(sparse.len() as u64, "is", "are"),
            name(worst.index),
            worst.density * 100.0,
            humane_bytes(worst.index.pages.saturating_mul(PAGE_BYTES))
        ))
        .of_database(postgres);
    for one in sparse.iter().take(LISTED) {
        let name = name(one.index);
        finding = finding
            .evidence(
                format!("not needed in {name}"),
                humane_bytes(one.wasted),
                origin,
            )
            .statement(
                concurrent_build(
                    postgres,
                    format!("REINDEX INDEX CONCURRENTLY {name}"),
                    "the same entries in fewer pages",
                )
                .costing("room for a second copy while it runs"),
            );
    }
    Ok(finding
        .and_more(sparse.len().saturating_sub(LISTED), "such index", origin)
        .into_outcome())
}

/// Whose entries are the table's rows, one each. A partitioned one has none, and its parts are listed too.
fn is_plain(index: &Index) -> bool {
    index.method == "btree"
        && index.valid
        && index.parts.is_none()
        && !index.partial
        && !index.has_expressions
}

/// None where something that it rests on was not read.
fn estimate(index: &Index) -> Option<Sparse<'_>> {
    let fillfactor = index.fillfactor.map_or(BTREE_FILLFACTOR, f64::from);
    let needed = btree_leaf_pages(index.entries?, index.key_bytes?, fillfactor);
    if index.pages == 0 {
        return None;
    }
    Some(Sparse {
        index,
        wasted: index
            .pages
            .saturating_sub(needed as u64)
            .saturating_mul(PAGE_BYTES),
        // Of all room, as pgstatindex tells it.
        density: needed * fillfactor / 100.0 / index.pages as f64,
    })
}

fn is_unknown(index: &Index) -> bool {
    // Where nobody has counted the entries, the pages are those of the empty index.
    let bytes = match index.entries {
        Some(_) => index.pages.saturating_mul(PAGE_BYTES),
        None => index.size_bytes,
    };
    bytes > MUCH_BYTES && (index.key_bytes.is_none() || index.entries.is_none())
}

fn name(index: &Index) -> String {
    qualified(&index.schema, &index.name)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, not_applicable, ok, postgres, unknown};
    use dbdyno_model::postgres::{Index, Indexes, ReplicationRole};
    use dbdyno_model::{Fact, Facts};

    /// A million pages, of which each takes 366 entries of four bytes.
    fn index(entries: f64) -> Index {
        Index {
            schema: "public".into(),
            table: "history".into(),
            name: "history_pkey".into(),
            method: "btree".into(),
            valid: true,
            unique: true,
            pages: 1_000_000,
            entries: Some(entries),
            key_bytes: Some(4.0),
            ..Index::default()
        }
    }

    fn with(index: Index) -> Facts {
        let mut facts = healthy();
        let indexes = Indexes {
            indexes: 1,
            listed: vec![index],
            ..Indexes::default()
        };
        postgres(&mut facts).indexes = Fact::known(indexes, "pg_index");
        facts
    }

    #[test]
    fn a_sparse_index_is_found_with_what_packs_it() {
        let found = finding(&RULE, &with(index(122e6)));
        insta::assert_snapshot!(found.message, @"1 B-tree index is less than half full, public.history_pkey with 30 % of 7.6 GiB (an estimate)");
        assert_eq!(
            found.statements[0].sql,
            "REINDEX INDEX CONCURRENTLY public.history_pkey"
        );
    }

    #[test]
    fn full_ones_and_those_that_cannot_be_estimated_are_left_alone() {
        ok(&RULE, &with(index(330e6)));
        let gin = Index {
            method: "gin".into(),
            ..index(1.0)
        };
        ok(&RULE, &with(gin));
        let partial = Index {
            partial: true,
            ..index(1.0)
        };
        ok(&RULE, &with(partial));
    }

    #[test]
    fn keys_without_statistics_are_unknown_and_a_standby_is_not_applicable() {
        let unseen = Index {
            key_bytes: None,
            ..index(122e6)
        };
        let uncounted = Index {
            size_bytes: 8 << 30,
            pages: 1,
            entries: None,
            key_bytes: None,
            ..index(0.0)
        };
        assert!(unknown(&RULE, &with(uncounted)).contains("of 1 large index:"));
        let mut facts = with(unseen);
        assert!(unknown(&RULE, &facts).contains("of 1 large index:"));
        postgres(&mut facts).indexes = Fact::default();
        unknown(&RULE, &facts);
        postgres(&mut facts).role = Fact::known(ReplicationRole::Standby, "test");
        not_applicable(&RULE, &facts);
    }
}
