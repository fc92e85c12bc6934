//! Indexes that are invalid, large, unused or covered by another one, and a count of all.

use std::cmp::Reverse;

use ::postgres::error::SqlState;
use ::postgres::{Client, Error, Row};
use dbdyno_model::Fact;
use dbdyno_model::postgres::{Cover, Index, Indexes, PartitionedIndex};

use super::error::CollectError;
use super::index_parts::Parts;
use super::index_picks::{self, Picked};
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

/// The picked ones in full; one that is gone by now is left out. Vacuum and statements lock an index
/// less than whoever builds or drops it concurrently, which no view shows of a drop. A partitioned index
/// is built where one of its parts is.
const SQL: &str = "WITH locked AS MATERIALIZED (
    SELECT relation FROM pg_locks
    WHERE locktype = 'relation' AND mode = 'AccessExclusiveLock'
), building AS MATERIALIZED (
    SELECT relid FROM pg_stat_progress_create_index
    WHERE relid IS NOT NULL AND datname = current_database()
    UNION ALL SELECT relation FROM pg_locks
    WHERE locktype = 'relation' AND granted AND relation = ANY ($1::oid[])
        AND mode IN ('ShareUpdateExclusiveLock', 'AccessExclusiveLock')
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
), building_below AS MATERIALIZED (
    SELECT h.inhparent FROM building b JOIN pg_inherits h ON h.inhrelid = b.relid
), constrained AS MATERIALIZED (
    SELECT conindid, min(conname::text) AS constraint_name
    FROM pg_constraint WHERE conindid = ANY ($1::oid[]) GROUP BY conindid
)
SELECT x.indexrelid AS index_oid, x.indrelid AS table_oid,
    n.nspname::text AS schema_name, t.relname::text AS table_name,
    c.relname::text AS index_name, m.amname::text AS method,
    (SELECT array_agg(coalesce(a.attname::text, '(expression)') ORDER BY k.place)
        FROM unnest((x.indkey::int2[])[0:x.indnkeyatts - 1])
            WITH ORDINALITY AS k(number, place)
        LEFT JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = k.number)
        AS column_names,
    (x.indkey::int2[])[0:x.indnatts - 1] AS column_numbers,
    {size} AS size, c.relpages::int8 AS relpages, c.reltuples::float8 AS reltuples,
    current_setting('block_size')::int8 AS block_size,
    (SELECT split_part(o, '=', 2)::int4 FROM unnest(c.reloptions) o
        WHERE o LIKE 'fillfactor=%') AS fill_factor,
    pg_stat_get_numscans(x.indexrelid) AS scans, {last_scan} AS since_last_scan_s,
    pg_stat_get_blocks_fetched(x.indexrelid) AS blocks_fetched,
    pg_stat_get_blocks_hit(x.indexrelid) AS blocks_hit,
    x.indisunique, x.indisprimary, x.indisvalid AND x.indisready AND x.indislive AS is_valid,
    x.indisready AND x.indislive AS is_ready,
    x.indrelid IN (SELECT relid FROM building)
        OR x.indexrelid IN (SELECT relid FROM building)
        OR (c.relkind = 'I' AND x.indrelid IN (SELECT inhparent FROM building_below))
        AS is_building,
    k.constraint_name, x.indisreplident, x.indisclustered, c.relispartition,
    EXISTS (SELECT FROM pg_constraint f WHERE f.contype = 'f' AND f.conrelid = x.indrelid
        AND (x.indkey::int2[])[0:cardinality(f.conkey) - 1] @> f.conkey) AS supports_foreign_key,
    x.indimmediate AND NOT {nulls} AND NOT EXISTS (
        SELECT FROM generate_series(0, x.indnkeyatts - 1) k
            JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = x.indkey[k]
            JOIN pg_opclass o ON o.oid = x.indclass[k]
        WHERE x.indoption[k] <> 0 OR x.indcollation[k] <> a.attcollation OR NOT o.opcdefault
    ) AS fit_for_key,
    x.indexprs IS NOT NULL AS has_expressions, x.indpred IS NOT NULL AS is_partial,
    covering.relname::text AS cover_name, p.is_duplicate,
    whole.schema_name AS whole_schema, whole.index_name AS whole_name
FROM unnest($1::oid[], $2::oid[], $3::bool[]) AS p (indexrelid, cover, is_duplicate)
    JOIN pg_index x ON x.indexrelid = p.indexrelid
    JOIN pg_class c ON c.oid = x.indexrelid
    JOIN pg_class t ON t.oid = x.indrelid
    JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_am m ON m.oid = c.relam
    LEFT JOIN constrained k ON k.conindid = x.indexrelid
    LEFT JOIN pg_class covering ON covering.oid = p.cover
    LEFT JOIN LATERAL (
        WITH RECURSIVE above AS (
            SELECT p.cover AS part WHERE covering.relispartition
            UNION ALL SELECT h.inhparent FROM above a JOIN pg_inherits h ON h.inhrelid = a.part
        )
        SELECT wn.nspname::text AS schema_name, w.relname::text AS index_name
        FROM above a JOIN pg_class w ON w.oid = a.part AND NOT w.relispartition
            JOIN pg_namespace wn ON wn.oid = w.relnamespace
    ) whole ON true
ORDER BY size DESC, schema_name, index_name";

/// An index that is rebuilt would make us wait for its lock.
const SIZE: &str = "CASE WHEN c.relkind = 'I' THEN 0 \
     WHEN x.indexrelid IN (SELECT relation FROM locked) \
         OR x.indrelid IN (SELECT relation FROM locked) \
     THEN c.relpages * current_setting('block_size')::int8 \
     ELSE coalesce(pg_relation_size(x.indexrelid), 0) END";
const SIZE_WITHOUT_LOCK: &str = "c.relpages * current_setting('block_size')::int8";

pub(super) fn read(reader: &mut Reader<'_>) -> Result<Fact<Found>, CollectError> {
    let sees_builds = reader.sees_all_sessions;
    reader.read(&SUBJECT, |client, version| {
        let picked = index_picks::read(client, version)?;
        let mut listed = match read_with(client, version, &picked, SIZE, sees_builds) {
            // The lock was taken after we looked.
            Err(error) if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) => {
                read_with(client, version, &picked, SIZE_WITHOUT_LOCK, sees_builds)
            }
            other => other,
        }?;
        // What is partitioned has its size from its parts; equal ones stay in the order of their names.
        listed.sort_by_key(|listed| Reverse(listed.index.size_bytes));
        Ok(Found {
            listed,
            all: picked.all,
        })
    })
}

fn sql(version: u32, size: &str) -> String {
    let last_scan = if version < 160_000 {
        "NULL::float8"
    } else {
        "extract(epoch FROM clock_timestamp() - pg_stat_get_lastscan(x.indexrelid))::float8"
    };
    let nulls = if version < 150_000 {
        "false"
    } else {
        "x.indnullsnotdistinct"
    };
    SQL.replace("{size}", size)
        .replace("{last_scan}", last_scan)
        .replace("{nulls}", nulls)
}

fn read_with(
    client: &mut Client,
    version: u32,
    picked: &Picked,
    size: &str,
    sees_builds: bool,
) -> Result<Vec<Listed>, Error> {
    let rows = client.query(
        &sql(version, size),
        &[&picked.oids, &picked.covers, &picked.duplicates],
    )?;
    let mut listed = Vec::with_capacity(rows.len());
    for row in &rows {
        let mut one = decode(row, version, sees_builds)?;
        if let Some(parts) = picked.parts.get(&row.try_get::<_, u32>("index_oid")?) {
            sum_up(&mut one.index, parts, count(row.try_get("block_size")?));
        }
        listed.push(one);
    }
    Ok(listed)
}

/// What a partitioned index has by its parts alone.
fn sum_up(index: &mut Index, parts: &Parts, block_size: u64) {
    let fetched = count(parts.blocks_fetched);
    index.pages = count(parts.pages);
    index.size_bytes = index.pages.saturating_mul(block_size);
    index.entries = None;
    index.scans = count(parts.scans);
    index.blocks_fetched = fetched;
    index.blocks_read = fetched.saturating_sub(count(parts.blocks_hit));
    index.parts = Some(parts.told.clone());
}

fn decode(row: &Row, version: u32, sees_builds: bool) -> Result<Listed, Error> {
    let fillfactor: Option<i32> = row.try_get("fill_factor")?;
    let fetched = count(row.try_get("blocks_fetched")?);
    let cover = text_or_none(row, "cover_name")?;
    let duplicate: bool = row.try_get("is_duplicate")?;
    let building: bool = row.try_get("is_building")?;
    let part_of = decode_whole(row)?;
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
        ready: row.try_get("is_ready")?,
        building: sees_builds.then_some(building),
        constraint: text_or_none(row, "constraint_name")?,
        replica_identity: row.try_get("indisreplident")?,
        clustered: row.try_get("indisclustered")?,
        partition: row.try_get("relispartition")?,
        parts: None,
        supports_foreign_key: row.try_get("supports_foreign_key")?,
        has_expressions: row.try_get("has_expressions")?,
        partial: row.try_get("is_partial")?,
        fit_for_key: Some(row.try_get("fit_for_key")?),
        covered_by: cover.map(|index| Cover {
            index,
            duplicate,
            part_of,
        }),
    };
    Ok(Listed {
        table: row.try_get("table_oid")?,
        columns: row.try_get("column_numbers")?,
        index,
    })
}

/// The partitioned index that the covering one goes with.
fn decode_whole(row: &Row) -> Result<Option<PartitionedIndex>, Error> {
    let Some(name) = text_or_none(row, "whole_name")? else {
        return Ok(None);
    };
    let schema = text(row, "whole_schema")?;
    Ok(Some(PartitionedIndex { schema, name }))
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
        assert!(!sql(150_000, "0").contains("lastscan"));
        assert!(sql(160_000, "0").contains("lastscan"));
        assert!(!sql(140_000, "0").contains("indnullsnotdistinct"));
        assert!(sql(150_000, "0").contains("indnullsnotdistinct"));
        assert!(!sql(180_000, "0").contains('{'));
    }

    #[test]
    fn an_index_that_was_never_counted_has_no_entries() {
        assert_eq!(entries(-1.0, 180_000), None);
        assert_eq!(entries(0.0, 130_000), None);
        assert_eq!(entries(0.0, 140_000), Some(0.0));
    }
}
