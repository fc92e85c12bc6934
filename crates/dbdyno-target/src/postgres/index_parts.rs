//! Partitioned indexes, and what their parts on the partitions come to together.

use std::collections::BTreeMap;

use ::postgres::{Client, Error, Row};
use dbdyno_model::postgres::IndexParts;

use super::reader::count;

/// Sums over the parts of one partitioned index, whose own counters stand still.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) pages: i64,
    pub(super) scans: i64,
    pub(super) blocks_fetched: i64,
    pub(super) blocks_hit: i64,
    /// Some part enforces something, or is what its partition is clustered or replicated by.
    pub(super) is_bound: bool,
    pub(super) told: IndexParts,
}

/// Those that are no parts themselves: parts come and go with them. What one partition goes by keeps the
/// whole. No index is opened, and where nothing is partitioned this reads next to nothing.
const SQL: &str = "WITH RECURSIVE root AS MATERIALIZED (
    SELECT x.indexrelid FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid
    WHERE c.relkind = 'I' AND NOT c.relispartition AND x.indrelid >= 16384
        AND c.relpersistence <> 't'
), below AS (
    SELECT indexrelid AS root, indexrelid AS part FROM root
    UNION ALL
    SELECT b.root, h.inhrelid FROM below b JOIN pg_inherits h ON h.inhparent = b.part
), part AS MATERIALIZED (
    SELECT b.root, c.oid, c.relkind = 'i' AS is_leaf, c.relpages, x.indrelid,
        x.indkey::int2[] AS keys, x.indisclustered OR x.indisreplident AS is_gone_by
    FROM below b JOIN pg_class c ON c.oid = b.part JOIN pg_index x ON x.indexrelid = b.part
), bound AS MATERIALIZED (
    SELECT root FROM part WHERE is_gone_by
    UNION SELECT p.root FROM part p JOIN pg_constraint k ON k.conindid = p.oid
), serving AS MATERIALIZED (
    SELECT DISTINCT p.root FROM part p JOIN pg_constraint f ON f.conrelid = p.indrelid
    WHERE f.contype = 'f' AND f.conparentid = 0
        AND p.keys[0:cardinality(f.conkey) - 1] @> f.conkey
)
SELECT root, root IN (SELECT root FROM bound) AS is_bound,
    root IN (SELECT root FROM serving) AS is_serving,
    count(*) FILTER (WHERE is_leaf) AS parts,
    coalesce(sum(relpages) FILTER (WHERE is_leaf), 0)::int8 AS pages,
    coalesce(sum(pg_stat_get_numscans(oid)), 0)::int8 AS scans,
    coalesce(sum(pg_stat_get_blocks_fetched(oid)), 0)::int8 AS blocks_fetched,
    coalesce(sum(pg_stat_get_blocks_hit(oid)), 0)::int8 AS blocks_hit,
    coalesce(sum(pg_stat_get_tuples_inserted(indrelid)) FILTER (WHERE is_leaf), 0)::int8
        AS inserted
FROM part GROUP BY root";

/// By the oid of the partitioned index.
pub(super) fn read(client: &mut Client) -> Result<BTreeMap<u32, Parts>, Error> {
    let rows = client.query(SQL, &[])?;
    rows.iter()
        .map(|row| Ok((row.try_get("root")?, decode(row)?)))
        .collect()
}

fn decode(row: &Row) -> Result<Parts, Error> {
    let is_bound: bool = row.try_get("is_bound")?;
    let is_serving: bool = row.try_get("is_serving")?;
    Ok(Parts {
        pages: row.try_get("pages")?,
        scans: row.try_get("scans")?,
        blocks_fetched: row.try_get("blocks_fetched")?,
        blocks_hit: row.try_get("blocks_hit")?,
        is_bound,
        told: IndexParts {
            indexes: count(row.try_get("parts")?),
            inserted: count(row.try_get("inserted")?),
            bound: is_bound || is_serving,
        },
    })
}
