//! Indexes that are invalid, large, unused or covered by another one, and a count of all.

use ::postgres::error::SqlState;
use ::postgres::{Client, Error, Row};
use dbdyno_model::Fact;
use dbdyno_model::postgres::{Cover, Index, Indexes};

use super::error::CollectError;
use super::reader::{Reader, Subject, count};
use super::text::{text, text_or_none, texts};
use super::widths::Widths;

const SUBJECT: Subject = Subject::new("postgres.indexes", "pg_index, pg_stat_all_indexes");

/// Indexes in full with the table and the columns they lie on, and all of them in numbers.
#[derive(Debug, Default)]
pub(super) struct Found {
    listed: Vec<Listed>,
    all: Indexes,
}

#[derive(Debug)]
struct Listed {
    table: u32,
    /// Key and included ones; 0 stands for an expression.
    columns: Vec<i16>,
    index: Index,
}

impl Found {
    pub(super) fn tables(&self) -> impl Iterator<Item = u32> + '_ {
        self.listed.iter().map(|listed| listed.table)
    }

    pub(super) fn with(self, widths: &Widths) -> Indexes {
        let with_width = |listed: Listed| Index {
            key_bytes: widths.key_bytes(listed.table, &listed.columns),
            ..listed.index
        };
        Indexes {
            listed: self.listed.into_iter().map(with_width).collect(),
            ..self.all
        }
    }
}

/// All indexes are read once, without opening any; the 250 at most that lead in one of the orders
/// are then read in full. Only indexes that share their first column with another one of the table
/// are compared: as text, since that is how their columns, operator classes, collations and
/// directions can be compared from the left. What a node tree says of its place in a command is
/// cut out of it before. What is kept of every index is narrow, so that sorting tens of thousands
/// fits into work_mem; names are looked up for the picked ones, which are no more rows by then.
const SQL: &str = "WITH locked AS MATERIALIZED (
    SELECT relation FROM pg_locks
    WHERE locktype = 'relation' AND mode = 'AccessExclusiveLock'
), building AS MATERIALIZED (
    SELECT relid FROM pg_stat_progress_create_index
    WHERE relid IS NOT NULL AND datname = current_database()
), constrained AS MATERIALIZED (
    SELECT conindid, min(conname::text) AS constraint_name
    FROM pg_constraint WHERE conindid <> 0 GROUP BY conindid
), i AS MATERIALIZED (
    SELECT x.indexrelid, x.indrelid, x.indkey[0] AS first_column,
        c.relam, c.relpages, c.relispartition, x.indisunique,
        x.indisprimary, x.indisexclusion, x.indimmediate, x.indisreplident,
        x.indisvalid AND x.indisready AND x.indislive AS is_valid,
        pg_stat_get_numscans(x.indexrelid) AS scans
    FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid
    WHERE c.relkind = 'i' AND x.indrelid >= 16384 AND c.relpersistence <> 't'
        AND c.relnamespace <> 'pg_toast'::regnamespace
), crowded AS MATERIALIZED (
    SELECT indrelid, relam, first_column FROM i
    GROUP BY indrelid, relam, first_column HAVING count(*) > 1
), unused AS NOT MATERIALIZED (
    SELECT indexrelid, relpages FROM i
    WHERE scans = 0 AND is_valid AND NOT indisunique AND NOT indisexclusion
        AND NOT indisreplident AND NOT relispartition
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
        {nulls} AS nulls_not_distinct, k.constraint_name IS NOT NULL AS is_constrained,
        CASE WHEN i.indisprimary THEN 3 WHEN k.constraint_name IS NOT NULL THEN 2
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
    WHERE NOT a.is_constrained AND NOT a.indisreplident AND NOT a.relispartition
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
        (sum(relpages::int8) * current_setting('block_size')::int8)::int8 AS all_bytes,
        (SELECT count(*) FROM unused) AS all_unused,
        (SELECT (coalesce(sum(relpages::int8), 0)
            * current_setting('block_size')::int8)::int8 FROM unused) AS all_unused_bytes,
        (SELECT count(*) FROM covers) AS all_redundant
    FROM i
), picked AS MATERIALIZED (
    SELECT * FROM i WHERE indexrelid IN (
            (SELECT indexrelid FROM i WHERE NOT is_valid ORDER BY relpages DESC, indexrelid LIMIT 50)
        UNION (SELECT indexrelid FROM i ORDER BY relpages DESC, indexrelid LIMIT 100)
        UNION (SELECT indexrelid FROM unused ORDER BY relpages DESC, indexrelid LIMIT 50)
        UNION (SELECT c.indexrelid FROM covers c JOIN i ON i.indexrelid = c.indexrelid
            ORDER BY i.relpages DESC, c.indexrelid LIMIT 50))
)
SELECT i.indrelid AS table_oid, n.nspname::text AS schema_name, t.relname::text AS table_name,
    c.relname::text AS index_name, m.amname::text AS method,
    (SELECT array_agg(coalesce(a.attname::text, '(expression)') ORDER BY k.place)
        FROM unnest((x.indkey::int2[])[0:x.indnkeyatts - 1])
            WITH ORDINALITY AS k(number, place)
        LEFT JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = k.number)
        AS column_names,
    (x.indkey::int2[])[0:x.indnatts - 1] AS column_numbers,
    {size} AS size, i.relpages::int8 AS relpages, c.reltuples::float8 AS reltuples,
    (SELECT split_part(o, '=', 2)::int4 FROM unnest(c.reloptions) o
        WHERE o LIKE 'fillfactor=%') AS fill_factor,
    i.scans, {last_scan} AS since_last_scan_s,
    pg_stat_get_blocks_fetched(i.indexrelid) AS blocks_fetched,
    pg_stat_get_blocks_hit(i.indexrelid) AS blocks_hit,
    i.indisunique, i.indisprimary, i.is_valid,
    i.indrelid IN (SELECT relid FROM building) AS is_building,
    k.constraint_name, i.indisreplident, i.relispartition,
    EXISTS (SELECT FROM pg_constraint f WHERE f.contype = 'f' AND f.conrelid = i.indrelid
        AND (x.indkey::int2[])[0:cardinality(f.conkey) - 1] @> f.conkey) AS supports_foreign_key,
    x.indexprs IS NOT NULL AS has_expressions, x.indpred IS NOT NULL AS is_partial,
    covering.relname::text AS cover_name, coalesce(v.is_duplicate, false) AS is_duplicate,
    totals.*
FROM picked i JOIN pg_index x ON x.indexrelid = i.indexrelid
    JOIN pg_class c ON c.oid = i.indexrelid
    JOIN pg_class t ON t.oid = i.indrelid
    JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_am m ON m.oid = i.relam
    LEFT JOIN constrained k ON k.conindid = i.indexrelid
    LEFT JOIN covers v ON v.indexrelid = i.indexrelid
    LEFT JOIN pg_class covering ON covering.oid = v.cover
    CROSS JOIN totals
ORDER BY size DESC, schema_name, index_name";

/// An index that is rebuilt would make us wait for its lock.
const SIZE: &str = "CASE WHEN i.indexrelid IN (SELECT relation FROM locked) \
         OR i.indrelid IN (SELECT relation FROM locked) \
     THEN i.relpages * current_setting('block_size')::int8 \
     ELSE coalesce(pg_relation_size(i.indexrelid), 0) END";
const SIZE_WITHOUT_LOCK: &str = "i.relpages * current_setting('block_size')::int8";

pub(super) fn read(reader: &mut Reader<'_>) -> Result<Fact<Found>, CollectError> {
    let sees_builds = reader.sees_all_sessions;
    reader.read(&SUBJECT, |client, version| {
        match read_with(client, version, SIZE, sees_builds) {
            // The lock was taken after we looked.
            Err(error) if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) => {
                read_with(client, version, SIZE_WITHOUT_LOCK, sees_builds)
            }
            other => other,
        }
    })
}

fn sql(version: u32, size: &str) -> String {
    let nulls = if version < 150_000 {
        "false"
    } else {
        "x.indnullsnotdistinct"
    };
    let last_scan = if version < 160_000 {
        "NULL::float8"
    } else {
        "extract(epoch FROM clock_timestamp() - pg_stat_get_lastscan(i.indexrelid))::float8"
    };
    SQL.replace("{size}", size)
        .replace("{nulls}", nulls)
        .replace("{last_scan}", last_scan)
}

fn read_with(
    client: &mut Client,
    version: u32,
    size: &str,
    sees_builds: bool,
) -> Result<Found, Error> {
    let rows = client.query(&sql(version, size), &[])?;
    let listed = rows
        .iter()
        .map(|row| decode(row, version, sees_builds))
        .collect::<Result<Vec<_>, Error>>()?;
    // Every row carries the totals; without a row there is nothing to count.
    let all = rows.first().map(decode_totals).transpose()?;
    Ok(Found {
        listed,
        all: all.unwrap_or_default(),
    })
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

fn decode(row: &Row, version: u32, sees_builds: bool) -> Result<Listed, Error> {
    let fillfactor: Option<i32> = row.try_get("fill_factor")?;
    let fetched = count(row.try_get("blocks_fetched")?);
    let cover = text_or_none(row, "cover_name")?;
    let duplicate: bool = row.try_get("is_duplicate")?;
    let building: bool = row.try_get("is_building")?;
    let index = Index {
        schema: text(row, "schema_name")?,
        table: text(row, "table_name")?,
        name: text(row, "index_name")?,
        method: row.try_get("method")?,
        columns: texts(row, "column_names")?,
        size_bytes: count(row.try_get("size")?),
        pages: count(row.try_get("relpages")?),
        entries: entries(row.try_get("reltuples")?, version),
        fillfactor: fillfactor.and_then(|percent| u32::try_from(percent).ok()),
        key_bytes: None,
        scans: count(row.try_get("scans")?),
        since_last_scan_s: row.try_get("since_last_scan_s")?,
        blocks_fetched: fetched,
        blocks_read: fetched.saturating_sub(count(row.try_get("blocks_hit")?)),
        unique: row.try_get("indisunique")?,
        primary: row.try_get("indisprimary")?,
        valid: row.try_get("is_valid")?,
        building: sees_builds.then_some(building),
        constraint: text_or_none(row, "constraint_name")?,
        replica_identity: row.try_get("indisreplident")?,
        partition: row.try_get("relispartition")?,
        supports_foreign_key: row.try_get("supports_foreign_key")?,
        has_expressions: row.try_get("has_expressions")?,
        partial: row.try_get("is_partial")?,
        covered_by: cover.map(|index| Cover { index, duplicate }),
    };
    Ok(Listed {
        table: row.try_get("table_oid")?,
        columns: row.try_get("column_numbers")?,
        index,
    })
}

/// Never counted is -1 from 14 on; before, it could not be told from an index that was empty.
fn entries(tuples: f64, version: u32) -> Option<f64> {
    let is_unknown = tuples < 0.0 || (version < 140_000 && tuples == 0.0);
    (!is_unknown).then_some(tuples)
}

#[cfg(test)]
mod tests {
    use super::{entries, sql};

    #[test]
    fn older_servers_are_not_asked_for_what_they_do_not_have() {
        assert!(!sql(140_000, "0").contains("indnullsnotdistinct"));
        assert!(sql(150_000, "0").contains("indnullsnotdistinct"));
        assert!(!sql(150_000, "0").contains("lastscan"));
        assert!(sql(160_000, "0").contains("lastscan"));
        assert!(!sql(180_000, "0").contains('{'));
    }

    #[test]
    fn an_index_that_was_never_counted_has_no_entries() {
        assert_eq!(entries(-1.0, 180_000), None);
        assert_eq!(entries(0.0, 130_000), None);
        assert_eq!(entries(0.0, 140_000), Some(0.0));
    }
}
