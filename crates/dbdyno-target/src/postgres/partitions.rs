//! Partitioned tables, which hold no rows themselves: how many there are, and which have no primary key.

use ::postgres::{Client, Error};
use dbdyno_model::postgres::{PartitionedTable, TableTotals};

use super::reader::count;
use super::text::{text, text_or_none};

/// A table whose partitions each have a primary key can name its rows: the key of the whole would have
/// to contain the columns that it is partitioned by. One with a foreign table below it cannot have a
/// key at all. No table is opened, and none is walked that has a key.
const SQL: &str = "WITH RECURSIVE root AS MATERIALIZED (
    SELECT c.oid, c.relnamespace, c.relname,
        EXISTS (SELECT FROM pg_index k WHERE k.indrelid = c.oid AND k.indisprimary)
            AS has_primary_key
    FROM pg_class c
    WHERE c.relkind = 'p' AND NOT c.relispartition AND c.oid >= 16384
        AND c.relpersistence <> 't'
), below AS (
    SELECT r.oid AS root, r.oid FROM root r WHERE NOT r.has_primary_key
    UNION ALL
    SELECT b.root, h.inhrelid FROM below b JOIN pg_inherits h ON h.inhparent = b.oid
), leaf AS MATERIALIZED (
    SELECT b.root, c.relkind, CASE WHEN c.relpages > 0 THEN c.relpages + coalesce(x.relpages, 0)
            ELSE (pg_stat_get_live_tuples(c.oid) + pg_stat_get_dead_tuples(c.oid)) / 50 END AS pages,
        EXISTS (SELECT FROM pg_index k WHERE k.indrelid = c.oid AND k.indisprimary)
            AS has_primary_key
    FROM below b JOIN pg_class c ON c.oid = b.oid LEFT JOIN pg_class x ON x.oid = c.reltoastrelid
    WHERE c.relkind <> 'p'
), keyless AS MATERIALIZED (
    SELECT r.oid, r.relnamespace, r.relname, count(l.root) AS partitions,
        coalesce(sum(l.pages), 0)::int8 * current_setting('block_size')::int8 AS size
    FROM root r LEFT JOIN leaf l ON l.root = r.oid
    WHERE NOT r.has_primary_key
    GROUP BY r.oid, r.relnamespace, r.relname
    HAVING NOT coalesce(bool_and(l.has_primary_key), false)
        AND NOT coalesce(bool_or(l.relkind = 'f'), false)
)
SELECT (SELECT count(*) FROM root) AS all_partitioned,
    (SELECT count(*) FROM keyless) AS all_keyless,
    k.schema_name, k.table_name, k.partitions, k.size
FROM (SELECT 1) AS always (one) LEFT JOIN (
    SELECT n.nspname::text AS schema_name, k.relname::text AS table_name, k.partitions, k.size
    FROM keyless k JOIN pg_namespace n ON n.oid = k.relnamespace
    ORDER BY k.size DESC, schema_name, table_name LIMIT 25
) k ON true
ORDER BY k.size DESC, k.schema_name, k.table_name";

/// Adds what there is of them to what is known of the other tables.
pub(super) fn add(client: &mut Client, totals: &mut TableTotals) -> Result<(), Error> {
    for row in &client.query(SQL, &[])? {
        // Every row carries both, and there is one where no table is listed.
        totals.partitioned = count(row.try_get("all_partitioned")?);
        totals.partitioned_without_primary_key = count(row.try_get("all_keyless")?);
        let Some(name) = text_or_none(row, "table_name")? else {
            continue;
        };
        totals.keyless.push(PartitionedTable {
            schema: text(row, "schema_name")?,
            name,
            partitions: count(row.try_get("partitions")?),
            size_bytes: count(row.try_get("size")?),
        });
    }
    Ok(())
}
