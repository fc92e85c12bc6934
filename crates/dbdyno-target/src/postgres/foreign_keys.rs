//! Foreign keys whose own columns no index begins with.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use ::postgres::{Client, Error, Row};
use dbdyno_model::postgres::{ForeignKeys, UnindexedForeignKey};

use super::reader::{Subject, count, count_or_none};
use super::sizes;
use super::text::{text, texts};

/// The last one tells the sizes of tables that have no pages in pg_class.
pub(super) const SUBJECT: Subject = Subject::new(
    "postgres.foreign_keys",
    "pg_constraint, pg_index, pg_class, pg_relation_size()",
);

/// How many keys are listed.
const LISTED: usize = 100;

/// An index serves the check when its first columns are the key's in any order; one that leaves
/// out nothing but nulls does too, since a null refers to no row. Partitions' own constraints are
/// their parent's, and one that is not enforced, as 18 allows, is never checked. A partitioned table
/// is looked through partition by partition, each with its own constraint below the table's: those
/// with an index of their own are served as well as by one of the whole, and what is deleted from
/// a partitioned parent is counted with its partitions. A table that was
/// never vacuumed or analysed has no pages, and its true size costs opening it: three hundred of
/// those are measured, first those whose parents lose rows, then those of the most rows, which stand
/// in at 50 a page where nothing else tells. Those left over count only where the parent loses rows.
const SQL: &str = "WITH RECURSIVE f AS MATERIALIZED (
    SELECT c.oid, c.conname, c.conrelid, c.confrelid, c.conkey
    FROM pg_constraint c
    WHERE c.contype = 'f' AND c.conparentid = 0 AND c.conrelid >= 16384 AND {enforced}
), bare AS MATERIALIZED (
    SELECT k.*, CASE WHEN t.relkind <> 'p' THEN greatest(t.relpages,
            (pg_stat_get_live_tuples(t.oid) + pg_stat_get_dead_tuples(t.oid)) / 50)
            * current_setting('block_size')::int8 END AS table_bytes,
        t.relkind <> 'p' AND t.relpages = 0 AS is_uncounted, t.relkind = 'p' AS is_partitioned,
        t.relname, t.relnamespace
    FROM f k JOIN pg_class t ON t.oid = k.conrelid
    WHERE NOT EXISTS ({serving})
), part AS (
    SELECT b.oid AS whole, c.oid, c.conrelid, c.conkey
    FROM bare b JOIN pg_constraint c ON c.conparentid = b.oid AND c.conrelid <> b.conrelid
    WHERE b.is_partitioned
    UNION ALL SELECT p.whole, c.oid, c.conrelid, c.conkey
    FROM part p JOIN pg_constraint c ON c.conparentid = p.oid AND c.conrelid <> p.conrelid
), leaf AS MATERIALIZED (
    SELECT k.whole, k.conrelid, k.conkey, CASE WHEN r.relpages > 0 THEN r.relpages ELSE
        (pg_stat_get_live_tuples(r.oid) + pg_stat_get_dead_tuples(r.oid)) / 50 END AS pages
    FROM part k JOIN pg_class r ON r.oid = k.conrelid
    WHERE r.relkind = 'r' AND NOT EXISTS ({serving})
), begun AS MATERIALIZED (
    SELECT DISTINCT l.whole, l.conrelid
    FROM leaf l JOIN pg_index x ON x.indrelid = l.conrelid
        JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_am m ON m.oid = i.relam
    WHERE x.indisvalid AND m.amname IN ('btree', 'hash') AND x.indpred IS NULL
        AND x.indkey[0] = ANY (l.conkey)
), parts AS MATERIALIZED (
    SELECT l.whole, (coalesce(sum(l.pages), 0)
            * current_setting('block_size')::int8)::int8 AS partition_bytes,
        bool_and(b.whole IS NOT NULL) AS is_partly_indexed
    FROM leaf l LEFT JOIN begun b ON b.whole = l.whole AND b.conrelid = l.conrelid
    GROUP BY l.whole
), parent AS MATERIALIZED (
    SELECT DISTINCT b.confrelid FROM bare b JOIN pg_class p ON p.oid = b.confrelid
    WHERE p.relkind = 'p'
), below AS (
    SELECT confrelid AS parent, confrelid AS part FROM parent
    UNION ALL SELECT b.parent, h.inhrelid FROM below b JOIN pg_inherits h ON h.inhparent = b.part
), lost AS MATERIALIZED (
    SELECT parent, sum(pg_stat_get_tuples_deleted(part))::int8 AS deleted,
        sum(pg_stat_get_tuples_updated(part))::int8 AS updated
    FROM below GROUP BY parent
), unindexed AS MATERIALIZED (
    SELECT b.*, p.partition_bytes, p.is_partly_indexed,
        coalesce(l.deleted, pg_stat_get_tuples_deleted(b.confrelid)) AS parent_deleted,
        coalesce(l.updated, pg_stat_get_tuples_updated(b.confrelid)) AS parent_updated
    FROM bare b LEFT JOIN parts p ON p.whole = b.oid LEFT JOIN lost l ON l.parent = b.confrelid
    WHERE NOT b.is_partitioned OR p.whole IS NOT NULL
), picked AS (
    (SELECT oid FROM unindexed WHERE NOT is_uncounted
        ORDER BY table_bytes DESC NULLS FIRST, partition_bytes DESC, oid LIMIT 100)
    UNION ALL (SELECT oid FROM unindexed WHERE is_uncounted
        ORDER BY parent_deleted > 0 DESC, table_bytes DESC, oid LIMIT 300)
)
SELECT u.conrelid AS table_oid, u.is_uncounted, u.conname::text AS constraint_name,
    n.nspname::text AS schema_name, u.relname::text AS table_name,
    (SELECT array_agg(a.attname::text ORDER BY k.place)
        FROM unnest(u.conkey) WITH ORDINALITY AS k(number, place)
        JOIN pg_attribute a ON a.attrelid = u.conrelid AND a.attnum = k.number) AS column_names,
    coalesce(u.is_partly_indexed, EXISTS (
            SELECT FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid
                JOIN pg_am m ON m.oid = i.relam
            WHERE x.indrelid = u.conrelid AND x.indisvalid AND m.amname IN ('btree', 'hash')
                AND x.indpred IS NULL AND x.indkey[0] = ANY (u.conkey))) AS is_partly_indexed,
    u.table_bytes, u.partition_bytes,
    pn.nspname::text AS parent_schema, p.relname::text AS parent_name,
    u.parent_deleted, u.parent_updated,
    (SELECT count(*) FROM f) AS all_keys, (SELECT count(*) FROM unindexed) AS all_unindexed,
    (SELECT count(*) FROM unindexed WHERE is_uncounted AND parent_deleted > 0) AS all_uncounted
FROM unindexed u JOIN picked ON picked.oid = u.oid
    JOIN pg_namespace n ON n.oid = u.relnamespace
    JOIN pg_class p ON p.oid = u.confrelid JOIN pg_namespace pn ON pn.oid = p.relnamespace
ORDER BY schema_name, table_name, constraint_name";

/// An index that serves the check of `k`.
const SERVING: &str = "SELECT FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid
        JOIN pg_am m ON m.oid = i.relam
    WHERE x.indrelid = k.conrelid AND x.indisvalid AND m.amname IN ('btree', 'hash')
        AND x.indnkeyatts >= cardinality(k.conkey)
        AND (x.indkey::int2[])[0:cardinality(k.conkey) - 1] @> k.conkey
        AND (x.indpred IS NULL OR (x.indpred::text LIKE '{NULLTEST %:nulltesttype 1 %'
            AND substring(x.indpred::text FROM ':varattno ([0-9]+)')::int2 = ANY (k.conkey)))";

/// How many there are where all of them are indexed.
const ALL: &str = "SELECT count(*) FROM pg_constraint c \
     WHERE contype = 'f' AND conparentid = 0 AND conrelid >= 16384 AND {enforced}";

pub(super) fn read(client: &mut Client, version: u32) -> Result<ForeignKeys, Error> {
    let rows = client.query(&of_version(SQL, version), &[])?;
    let Some(first) = rows.first() else {
        let all = client.query_one(&of_version(ALL, version), &[])?;
        let all = count(all.try_get(0)?);
        return Ok(ForeignKeys {
            foreign_keys: all,
            ..ForeignKeys::default()
        });
    };
    let sizes = read_sizes(client, &rows)?;
    let mut listed = Vec::with_capacity(rows.len());
    let mut measured = 0;
    for row in &rows {
        let mut key = decode(row)?;
        if let Some(size) = sizes.get(&row.try_get::<_, u32>("table_oid")?) {
            key.table_bytes = Some(*size);
            measured += u64::from(key.parent_deleted > 0);
        }
        listed.push(key);
    }
    // Partitioned tables come first; equal ones stay in the order of their names.
    listed.sort_by_key(|key| Reverse(key.table_bytes.unwrap_or(u64::MAX)));
    listed.truncate(LISTED);
    Ok(ForeignKeys {
        foreign_keys: count(first.try_get("all_keys")?),
        unindexed: count(first.try_get("all_unindexed")?),
        unmeasured: count(first.try_get("all_uncounted")?).saturating_sub(measured),
        listed,
    })
}

fn of_version(sql: &str, version: u32) -> String {
    let enforced = if version < 180_000 {
        "true"
    } else {
        "c.conenforced"
    };
    sql.replace("{enforced}", enforced)
        .replace("{serving}", SERVING)
}

/// Of the tables whose pages nobody has counted, by their oids; without those that are locked.
fn read_sizes(client: &mut Client, rows: &[Row]) -> Result<BTreeMap<u32, u64>, Error> {
    let mut oids = BTreeSet::new();
    for row in rows {
        if row.try_get::<_, bool>("is_uncounted")? {
            oids.insert(row.try_get::<_, u32>("table_oid")?);
        }
    }
    let oids: Vec<u32> = oids.into_iter().collect();
    let sizes = sizes::read(client, sizes::Of::TableAlone, &oids)?;
    let known = |(oid, size): (u32, Option<u64>)| Some((oid, size?));
    Ok(oids.into_iter().zip(sizes).filter_map(known).collect())
}

fn decode(row: &Row) -> Result<UnindexedForeignKey, Error> {
    Ok(UnindexedForeignKey {
        name: text(row, "constraint_name")?,
        schema: text(row, "schema_name")?,
        table: text(row, "table_name")?,
        columns: texts(row, "column_names")?,
        table_bytes: count_or_none(row.try_get("table_bytes")?),
        partition_bytes: count_or_none(row.try_get("partition_bytes")?),
        partly_indexed: row.try_get("is_partly_indexed")?,
        parent_schema: text(row, "parent_schema")?,
        parent: text(row, "parent_name")?,
        parent_deleted: count(row.try_get("parent_deleted")?),
        parent_updated: count(row.try_get("parent_updated")?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_servers_are_not_asked_for_what_they_do_not_have() {
        for sql in [SQL, ALL] {
            assert!(!of_version(sql, 170_000).contains("conenforced"));
            assert!(of_version(sql, 180_000).contains("c.conenforced"));
            // What a predicate looks like in pg_index has a brace of its own.
            let sql = of_version(sql, 180_000);
            assert!(!sql.contains("{e") && !sql.contains("{s"));
        }
    }
}
