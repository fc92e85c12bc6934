//! How an index is dropped, with the way back.

use dbdyno_model::finding::Statement;
use dbdyno_model::postgres::{Cover, Index};
use dbdyno_model::words::plural;

use crate::sql::{CostExt, literal, qualified, statement};

/// With its schema, quoted where SQL needs it.
pub(super) fn name(index: &Index) -> String {
    qualified(&index.schema, &index.name)
}

/// Prints what builds it again.
pub(super) fn definition(index: &Index) -> Statement {
    let why = if index.parts.is_some() {
        "keep what it prints: without ONLY that is the way back, while nobody can write"
    } else {
        "keep what it prints: that is the way back"
    };
    let name = literal(&name(index));
    statement(format!("SELECT pg_get_indexdef({name}::regclass)"), why)
}

/// A partitioned index goes with all of its parts, and not concurrently.
pub(super) fn dropped(index: &Index, why: &str, costs: &str) -> Statement {
    let name = name(index);
    if index.parts.is_some() {
        let costs = format!(
            "{costs}; nobody can read or write the table while it waits for its lock on it and each partition, which lock_timeout bounds"
        );
        statement(format!("DROP INDEX {name}"), why).costing(costs)
    } else {
        statement(format!("DROP INDEX CONCURRENTLY {name}"), why).costing(costs)
    }
}

/// `, its parts on 12 partitions together`; nothing for an index that has none.
pub(super) fn of_parts(index: &Index) -> String {
    index.parts.as_ref().map_or(String::new(), |parts| {
        format!(
            ", its parts on {} together",
            plural(parts.indexes, "partition")
        )
    })
}

/// Whether that cover is gone once the index is.
pub(super) fn goes_with(cover: &Cover, index: &Index) -> bool {
    cover
        .part_of
        .as_ref()
        .is_some_and(|whole| whole.schema == index.schema && whole.name == index.name)
}
