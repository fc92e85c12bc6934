//! Which indexes are worth reading in full, and how many there are of each kind.

use std::collections::BTreeMap;

use ::postgres::{Client, Error, Row};
use dbdyno_model::postgres::Indexes;

use super::index_parts::{self, Parts};
use super::reader::count;

/// Those to be read in full, in the same order in each list, and all indexes in numbers.
#[derive(Debug, Default)]
pub(super) struct Picked {
    pub(super) oids: Vec<u32>,
    /// Another index that does all that this one does.
    pub(super) covers: Vec<Option<u32>>,
    pub(super) duplicates: Vec<bool>,
    /// Of all partitioned indexes, picked or not.
    pub(super) parts: BTreeMap<u32, Parts>,
    pub(super) all: Indexes,
}

/// All indexes are read once, without opening any, and those picked that lead in one of the orders:
/// 250 at most. Only indexes that share their first column with another one of the table are
/// compared: as text, since that is how their columns, operator classes, collations and directions
/// can be compared from the left. What a node tree says of its place in a command is cut out of it
/// before. Those of one key serve the same scans alike where the method is btree or hash (403 and 405),
/// while options of others decide how well: pages a range of BRIN, the length of a signature, the lists
/// of vectors. A partitioned index stands for its parts, whose pages and scans are given with it, and is
/// left out where all pages are summed up or ordered. What is kept of every index is narrow, so that
/// sorting tens of thousands fits into work_mem.
const SQL: &str = "WITH constrained AS MATERIALIZED (
    SELECT DISTINCT conindid FROM pg_constraint WHERE conindid <> 0
), i AS MATERIALIZED (
    SELECT x.indexrelid, x.indrelid, x.indkey[0] AS first_column,
        c.relam, c.relpages::int8 AS relpages, c.relispartition, x.indisunique,
        x.indisprimary, x.indisexclusion, x.indimmediate, x.indisreplident, x.indisclustered,
        x.indisvalid AND x.indisready AND x.indislive AS is_valid,
        pg_stat_get_numscans(x.indexrelid) AS scans, false AS is_partitioned, false AS is_bound
    FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid
    WHERE c.relkind = 'i' AND x.indrelid >= 16384 AND c.relpersistence <> 't'
        AND c.relnamespace <> 'pg_toast'::regnamespace
    UNION ALL
    SELECT x.indexrelid, x.indrelid, x.indkey[0], c.relam, p.pages, false, x.indisunique,
        x.indisprimary, x.indisexclusion, x.indimmediate, x.indisreplident, x.indisclustered,
        x.indisvalid AND x.indisready AND x.indislive, p.scans, true, p.is_bound
    FROM unnest($1::oid[], $2::int8[], $3::int8[], $4::bool[])
            AS p (indexrelid, pages, scans, is_bound)
        JOIN pg_index x ON x.indexrelid = p.indexrelid
        JOIN pg_class c ON c.oid = x.indexrelid
), crowded AS MATERIALIZED (
    SELECT indrelid, relam, first_column FROM i
    GROUP BY indrelid, relam, first_column HAVING count(*) > 1
), unused AS NOT MATERIALIZED (
    SELECT indexrelid, relpages FROM i
    WHERE scans = 0 AND is_valid AND NOT indisunique AND NOT indisexclusion
        AND NOT indisreplident AND NOT indisclustered AND NOT relispartition AND NOT is_bound
), shapes AS MATERIALIZED (
    SELECT i.*, CASE WHEN x.indnkeyatts = x.indnatts THEN x.indkey::text
            ELSE array_to_string((x.indkey::int2[])[0:x.indnkeyatts - 1], ' ') END || ' ' AS keys,
        CASE WHEN x.indnkeyatts = x.indnatts THEN ''
            ELSE array_to_string((x.indkey::int2[])[x.indnkeyatts:x.indnatts - 1], ' ') END
            AS included,
        x.indclass::text || ' ' AS classes, x.indcollation::text || ' ' AS collations,
        x.indoption::text || ' ' AS directions,
        regexp_replace(coalesce(x.indexprs::text, ''), ':location -?[0-9]+', '', 'g')
            AS expressions,
        regexp_replace(coalesce(x.indpred::text, ''), ':location -?[0-9]+', '', 'g')
            AS predicate,
        CASE WHEN i.relam IN (403, 405) THEN '' ELSE (
                SELECT coalesce(c.reloptions::text, '') FROM pg_class c
                WHERE c.oid = i.indexrelid
            ) || coalesce((
                SELECT string_agg(k.attnum::text || k.attoptions::text, ' ' ORDER BY k.attnum)
                FROM pg_attribute k
                WHERE k.attrelid = i.indexrelid AND k.attoptions IS NOT NULL
            ), '') END AS parameters,
        {nulls} AS nulls_not_distinct, k.conindid IS NOT NULL AS is_constrained,
        CASE WHEN i.indisprimary THEN 3 WHEN k.conindid IS NOT NULL THEN 2
            WHEN i.indisunique THEN 1 ELSE 0 END AS worth
    FROM i JOIN crowded o ON o.indrelid = i.indrelid AND o.relam = i.relam
            AND o.first_column = i.first_column
        JOIN pg_index x ON x.indexrelid = i.indexrelid
        LEFT JOIN constrained k ON k.conindid = i.indexrelid
    WHERE i.is_valid
), covers AS MATERIALIZED (
    SELECT DISTINCT ON (a.indexrelid) a.indexrelid, b.indexrelid AS cover,
        a.keys = b.keys AND a.included = b.included AS is_duplicate
    FROM shapes a JOIN shapes b ON b.indrelid = a.indrelid AND b.relam = a.relam
        AND b.first_column = a.first_column AND b.indexrelid <> a.indexrelid
        JOIN pg_am m ON m.oid = a.relam
    WHERE NOT a.is_constrained AND NOT a.indisreplident AND NOT a.indisclustered
        AND NOT a.relispartition AND NOT a.is_bound AND b.parameters = a.parameters
        AND starts_with(b.keys, a.keys) AND starts_with(b.classes, a.classes)
        AND starts_with(b.collations, a.collations) AND starts_with(b.directions, a.directions)
        AND b.predicate = a.predicate
        AND (b.keys = a.keys OR (m.amname = 'btree' AND a.expressions = ''))
        AND (a.expressions = '' OR b.expressions = a.expressions)
        AND (a.included = '' OR (b.included = a.included AND b.keys = a.keys))
        AND (NOT a.indisunique OR (b.indisunique AND b.indimmediate AND b.keys = a.keys
            AND b.nulls_not_distinct = a.nulls_not_distinct))
        AND (b.keys <> a.keys OR b.included <> a.included OR b.worth > a.worth
            OR (b.worth = a.worth AND b.indexrelid < a.indexrelid))
    ORDER BY a.indexrelid, length(b.keys) DESC, b.worth DESC, b.indexrelid
), totals AS MATERIALIZED (
    SELECT count(*) AS all_indexes, count(*) FILTER (WHERE NOT is_valid) AS all_invalid,
        (coalesce(sum(relpages) FILTER (WHERE NOT is_partitioned), 0)
            * current_setting('block_size')::int8)::int8 AS all_bytes,
        (SELECT count(*) FROM unused) AS all_unused,
        (SELECT (coalesce(sum(relpages), 0)
            * current_setting('block_size')::int8)::int8 FROM unused) AS all_unused_bytes,
        (SELECT count(*) FROM covers) AS all_redundant
    FROM i
), picked AS (
    (SELECT indexrelid FROM i WHERE NOT is_valid ORDER BY relpages DESC, indexrelid LIMIT 50)
    UNION (SELECT indexrelid FROM i WHERE NOT is_partitioned
        ORDER BY relpages DESC, indexrelid LIMIT 100)
    UNION (SELECT indexrelid FROM unused ORDER BY relpages DESC, indexrelid LIMIT 50)
    UNION (SELECT c.indexrelid FROM covers c JOIN i ON i.indexrelid = c.indexrelid
        ORDER BY i.relpages DESC, c.indexrelid LIMIT 50)
)
SELECT p.indexrelid, v.cover, coalesce(v.is_duplicate, false) AS is_duplicate, totals.*
FROM picked p LEFT JOIN covers v ON v.indexrelid = p.indexrelid CROSS JOIN totals";

pub(super) fn read(client: &mut Client, version: u32) -> Result<Picked, Error> {
    let mut picked = Picked {
        parts: index_parts::read(client)?,
        ..Picked::default()
    };
    let partitioned: Vec<u32> = picked.parts.keys().copied().collect();
    let pages: Vec<i64> = picked.parts.values().map(|parts| parts.pages).collect();
    let scans: Vec<i64> = picked.parts.values().map(|parts| parts.scans).collect();
    let bound: Vec<bool> = picked.parts.values().map(|parts| parts.is_bound).collect();
    let rows = client.query(&sql(version), &[&partitioned, &pages, &scans, &bound])?;
    for row in &rows {
        picked.oids.push(row.try_get("indexrelid")?);
        picked.covers.push(row.try_get("cover")?);
        picked.duplicates.push(row.try_get("is_duplicate")?);
        // Every row carries them; without a row there is nothing to count.
        picked.all = decode_totals(row)?;
    }
    Ok(picked)
}

fn sql(version: u32) -> String {
    let nulls = if version < 150_000 {
        "false"
    } else {
        "x.indnullsnotdistinct"
    };
    SQL.replace("{nulls}", nulls)
}

fn decode_totals(row: &Row) -> Result<Indexes, Error> {
    Ok(Indexes {
        indexes: count(row.try_get("all_indexes")?),
        bytes: count(row.try_get("all_bytes")?),
        invalid: count(row.try_get("all_invalid")?),
        unused: count(row.try_get("all_unused")?),
        unused_bytes: count(row.try_get("all_unused_bytes")?),
        redundant: count(row.try_get("all_redundant")?),
        listed: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::sql;

    #[test]
    fn older_servers_are_not_asked_for_what_they_do_not_have() {
        assert!(!sql(140_000).contains("indnullsnotdistinct"));
        assert!(sql(150_000).contains("indnullsnotdistinct"));
        assert!(!sql(180_000).contains('{'));
    }
}
