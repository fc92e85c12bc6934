//! Foreign keys whose own columns no index begins with.

use ::postgres::{Client, Error, Row};
use dbdyno_model::postgres::{ForeignKeys, UnindexedForeignKey};

use super::reader::{Subject, count, count_or_none};
use super::text::{text, texts};

pub(super) const SUBJECT: Subject =
    Subject::new("postgres.foreign_keys", "pg_constraint, pg_index");

/// An index serves the check when its first columns are the key's in any order; one that leaves
/// out nothing but nulls does too, since a null refers to no row. Partitions' own constraints are
/// their parent's. A table that was never vacuumed has no pages, so rows stand in at 50 a page.
/// The hundred on the largest tables are listed, the rest is counted.
const SQL: &str = "WITH f AS MATERIALIZED (
    SELECT c.oid, c.conname, c.conrelid, c.confrelid, c.conkey
    FROM pg_constraint c
    WHERE c.contype = 'f' AND c.conparentid = 0 AND c.conrelid >= 16384
), unindexed AS MATERIALIZED (
    SELECT f.*, CASE WHEN t.relkind <> 'p' THEN greatest(t.relpages,
            (pg_stat_get_live_tuples(t.oid) + pg_stat_get_dead_tuples(t.oid)) / 50)
            * current_setting('block_size')::int8 END AS table_bytes,
        t.relname, t.relnamespace
    FROM f JOIN pg_class t ON t.oid = f.conrelid
    WHERE NOT EXISTS (
        SELECT FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid
            JOIN pg_am m ON m.oid = i.relam
        WHERE x.indrelid = f.conrelid AND x.indisvalid AND m.amname IN ('btree', 'hash')
            AND (x.indkey::int2[])[0:cardinality(f.conkey) - 1] @> f.conkey
            AND (x.indpred IS NULL OR (x.indpred::text LIKE '{NULLTEST %:nulltesttype 1 %'
                AND substring(x.indpred::text FROM ':varattno ([0-9]+)')::int2
                    = ANY (f.conkey))))
)
SELECT u.conname::text AS constraint_name, n.nspname::text AS schema_name,
    u.relname::text AS table_name,
    (SELECT array_agg(a.attname::text ORDER BY k.place)
        FROM unnest(u.conkey) WITH ORDINALITY AS k(number, place)
        JOIN pg_attribute a ON a.attrelid = u.conrelid AND a.attnum = k.number) AS column_names,
    u.table_bytes, pn.nspname::text AS parent_schema, p.relname::text AS parent_name,
    pg_stat_get_tuples_deleted(p.oid) AS parent_deleted,
    pg_stat_get_tuples_updated(p.oid) AS parent_updated,
    (SELECT count(*) FROM f) AS all_keys, (SELECT count(*) FROM unindexed) AS all_unindexed
FROM unindexed u JOIN pg_namespace n ON n.oid = u.relnamespace
    JOIN pg_class p ON p.oid = u.confrelid JOIN pg_namespace pn ON pn.oid = p.relnamespace
ORDER BY u.table_bytes DESC NULLS FIRST, schema_name, table_name, constraint_name
LIMIT 100";

/// How many there are where all of them are indexed.
const ALL: &str = "SELECT count(*) FROM pg_constraint \
     WHERE contype = 'f' AND conparentid = 0 AND conrelid >= 16384";

pub(super) fn read(client: &mut Client, _version: u32) -> Result<ForeignKeys, Error> {
    let rows = client.query(SQL, &[])?;
    let Some(first) = rows.first() else {
        let all = count(client.query_one(ALL, &[])?.try_get(0)?);
        return Ok(ForeignKeys {
            foreign_keys: all,
            ..ForeignKeys::default()
        });
    };
    Ok(ForeignKeys {
        foreign_keys: count(first.try_get("all_keys")?),
        unindexed: count(first.try_get("all_unindexed")?),
        listed: rows.iter().map(decode).collect::<Result<_, Error>>()?,
    })
}

fn decode(row: &Row) -> Result<UnindexedForeignKey, Error> {
    Ok(UnindexedForeignKey {
        name: text(row, "constraint_name")?,
        schema: text(row, "schema_name")?,
        table: text(row, "table_name")?,
        columns: texts(row, "column_names")?,
        table_bytes: count_or_none(row.try_get("table_bytes")?),
        parent_schema: text(row, "parent_schema")?,
        parent: text(row, "parent_name")?,
        parent_deleted: count(row.try_get("parent_deleted")?),
        parent_updated: count(row.try_get("parent_updated")?),
    })
}
