//! B-tree indexes so tall that lookups read the storage more than once.
//!
//! ## What it finds
//! B-tree indexes of four levels or more, by an estimate from their size and the width of their
//! keys, of which a scan reads more than one block that is not in shared buffers.
//!
//! ## Why it matters
//! A lookup passes every level. The upper ones stay in memory while they are few pages; wide keys
//! make them many.
//!
//! ## What to do
//! Make the key shorter: a number instead of a text, fewer columns, a hash of a long value; move
//! columns that are only fetched to `INCLUDE`, which keeps them out of the upper levels; or
//! partition the table.
//!
//! ## Risk
//! A changed key serves other conditions than before.
//!
//! ## When it does not apply
//! Range scans, which read many leaves each. Blocks that are not in shared buffers may still be in
//! the kernel's cache. Upper levels are estimated with whole keys, which the server may cut short.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/btree-implementation.html>
//! - Tuning InnoDB Primary Keys, Percona blog, 2018-07-26, for counting levels

use dbdyno_model::finding::Confidence;
use dbdyno_model::postgres::Index;
use dbdyno_model::words::plural;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use crate::formulas::bloat::btree_fan_out;
use crate::formulas::btree::levels;
use crate::rule::{FindingExt, Rule, humane_bytes, humane_number, need_ref, server, settle};
use crate::scope::{LISTED, ScopeExt};
use crate::sql::qualified;

pub(super) const RULE: Rule = Rule {
    id: "schema.btree_levels",
    severity: Severity::Info,
    confidence: Confidence::Low,
    sources: &[
        "https://www.postgresql.org/docs/current/btree-implementation.html",
        "Tuning InnoDB Primary Keys, Percona blog, 2018-07-26",
    ],
    check,
    source_text: include_str!("btree_levels.rs"),
};

const TALL_LEVELS: f64 = 4.0;

/// Blocks that a scan reads from outside of shared buffers, on average.
const COLD_BLOCKS: f64 = 1.0;

/// Fewer say little of the average.
const LEAST_SCANS: u64 = 1000;

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

struct Tall<'a> {
    index: &'a Index,
    levels: f64,
    cold: f64,
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    let indexes = need_ref(&postgres.indexes, "indexes")?;
    let used = || {
        // The parts of a partitioned one are trees of their own.
        let is_used = |index: &&Index| {
            index.method == "btree" && index.parts.is_none() && index.scans >= LEAST_SCANS
        };
        indexes.listed.iter().filter(is_used)
    };
    let mut tall: Vec<Tall<'_>> = used()
        .filter_map(estimate)
        .filter(|one| one.levels >= TALL_LEVELS && one.cold > COLD_BLOCKS)
        .collect();
    tall.sort_by(|a, b| {
        b.cold
            .total_cmp(&a.cold)
            .then_with(|| name(a.index).cmp(&name(b.index)))
    });
    let Some(worst) = tall.first() else {
        let unknown = used().filter(|index| index.key_bytes.is_none()).count();
        if unknown > 0 {
            return Err(Outcome::Unknown(format!(
                "width of the keys of {}: expressions, never analysed, or the role may not SELECT the tables",
                plural(unknown as u64, "index")
            )));
        }
        return Ok(Outcome::Ok);
    };
    let origin = &postgres.indexes.origin;
    let mut finding = RULE
        .finding(format!(
            "{} has about {} levels, and each scan reads {} blocks from outside of shared buffers",
            name(worst.index),
            worst.levels,
            humane_number(worst.cold)
        ))
        .of_database(postgres);
    for one in tall.iter().take(LISTED) {
        let value = format!(
            "{} levels, keys of {} bytes, {}, {} blocks read by {} scans",
            one.levels,
            humane_number(one.index.key_bytes.unwrap_or_default()),
            humane_bytes(one.index.size_bytes),
            one.index.blocks_read,
            one.index.scans
        );
        finding = finding.evidence(name(one.index), value, origin);
    }
    Ok(finding
        .and_more(tall.len().saturating_sub(LISTED), "such index", origin)
        .host_action(
            format!("a shorter key for {}, or partitions", name(worst.index)),
            Needs::Migration,
        )
        .into_outcome())
}

/// None where the width of the key is not known.
fn estimate(index: &Index) -> Option<Tall<'_>> {
    // Nearly all pages are leaves.
    let leaves = index.pages as f64;
    Some(Tall {
        index,
        levels: levels(leaves, btree_fan_out(index.key_bytes?)),
        cold: index.blocks_read as f64 / index.scans as f64,
    })
}

fn name(index: &Index) -> String {
    qualified(&index.schema, &index.name)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, ok, postgres, unknown};
    use dbdyno_model::postgres::{Index, Indexes};
    use dbdyno_model::{Fact, Facts};

    fn index(key_bytes: f64, scans: u64, blocks_read: u64) -> Index {
        Index {
            schema: "public".into(),
            table: "documents".into(),
            name: "by_path".into(),
            method: "btree".into(),
            valid: true,
            size_bytes: 8 << 30,
            pages: 1 << 20,
            key_bytes: Some(key_bytes),
            scans,
            blocks_read,
            ..Index::default()
        }
    }

    fn with(index: Index) -> Facts {
        let mut facts = healthy();
        let indexes = Indexes {
            listed: vec![index],
            ..Indexes::default()
        };
        postgres(&mut facts).indexes = Fact::known(indexes, "pg_index");
        facts
    }

    #[test]
    fn wide_keys_that_are_read_from_the_storage_are_found() {
        let found = finding(&RULE, &with(index(400.0, 10_000, 25_000)));
        insta::assert_snapshot!(found.message, @"public.by_path has about 7 levels, and each scan reads 2.5 blocks from outside of shared buffers");
        assert!(found.host_actions[0].action.contains("shorter key"));
    }

    #[test]
    fn small_and_warm_indexes_and_few_scans_are_fine() {
        let small = Index {
            pages: 1 << 16,
            ..index(8.0, 10_000, 25_000)
        };
        ok(&RULE, &with(small));
        ok(&RULE, &with(index(400.0, 10_000, 100)));
        ok(&RULE, &with(index(400.0, 10, 1000)));
    }

    #[test]
    fn keys_of_unknown_width_and_unread_indexes_are_unknown() {
        let unseen = Index {
            key_bytes: None,
            ..index(1.0, 10_000, 25_000)
        };
        assert!(unknown(&RULE, &with(unseen)).contains("keys of 1 index:"));
        unknown(&RULE, &healthy());
    }
}
