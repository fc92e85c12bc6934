//! The tables that matter most, with what vacuum and the planner need to know, and a count of all.

use std::cmp::Reverse;

use ::postgres::{Client, Error, Row};
use dbdyno_model::Fact;
use dbdyno_model::postgres::{Table, TableTotals, TableUsage};

use super::error::CollectError;
use super::partitions;
use super::reader::{Reader, Subject, count, count_or_none};
use super::sizes;
use super::text::text;
use super::widths::Widths;

const SUBJECT: Subject = Subject::new("postgres.tables", "pg_class, pg_stat_all_tables");

/// Tables in full, with their oids, and all of them in numbers.
#[derive(Debug, Default)]
pub(super) struct Found {
    listed: Vec<(u32, Table)>,
    totals: TableTotals,
}

impl Found {
    pub(super) fn oids(&self) -> impl Iterator<Item = u32> + '_ {
        self.listed.iter().map(|(oid, _)| *oid)
    }

    pub(super) fn with(self, widths: &Widths) -> (Vec<Table>, TableTotals) {
        let with_width = |(oid, table): (u32, Table)| Table {
            row_bytes: widths.row_bytes(oid),
            ..table
        };
        (
            self.listed.into_iter().map(with_width).collect(),
            self.totals,
        )
    }
}

/// Largest by the planner's pages, since asking for true sizes opens every table; a table that was
/// never vacuumed has no pages there, so rows stand in at 50 a page. Ten thousand tables are read
/// once; the 325 at most that lead in one of the orders are then read in full: more would only be
/// ones that nobody reads about in a report. A table whose access method keeps no transaction ids has
/// zero there, and an age of zero rather than of two thousand million.
const SQL: &str = "WITH g AS MATERIALIZED (
    SELECT current_setting('block_size')::int8 AS block,
        current_setting('autovacuum_vacuum_threshold')::float8 AS base,
        current_setting('autovacuum_vacuum_scale_factor')::float8 AS scale,
        nullif(current_setting('autovacuum_vacuum_max_threshold', true)::float8, -1) AS most
), s AS MATERIALIZED (
    SELECT c.oid, c.relnamespace, c.relname, c.relkind, c.relispartition, c.relpages,
        c.reltuples, c.reloptions, {frozen} AS frozen_pages,
        coalesce(x.relpages, 0) AS toast_pages,
        coalesce(greatest(age(nullif(c.relfrozenxid, '0'::xid)),
            age(nullif(x.relfrozenxid, '0'::xid))), 0) AS xid_age,
        greatest(mxid_age(nullif(c.relminmxid, '0'::xid)),
            mxid_age(nullif(x.relminmxid, '0'::xid))) AS multixact_age,
        pg_stat_get_live_tuples(c.oid) AS live, pg_stat_get_dead_tuples(c.oid) AS dead,
        pg_stat_get_mod_since_analyze(c.oid) AS modified,
        pg_stat_get_tuples_returned(c.oid) AS sequential_rows,
        pg_stat_get_tuples_updated(c.oid) AS updated,
        k.indrelid IS NOT NULL AS has_primary_key
    FROM pg_class c LEFT JOIN pg_class x ON x.oid = c.reltoastrelid
        LEFT JOIN pg_index k ON k.indrelid = c.oid AND k.indisprimary
    WHERE c.relkind IN ('r', 'm') AND c.oid >= 16384 AND c.relpersistence <> 't'
), t AS MATERIALIZED (
    SELECT s.*, greatest(s.relpages + s.toast_pages, (s.live + s.dead) / 50) AS pages,
        s.dead / greatest(least(g.most, g.base + g.scale * greatest(s.reltuples, 0)), 1) AS due
    FROM s, g
), totals AS MATERIALIZED (
    SELECT count(*) AS all_tables,
        (sum(pages) * current_setting('block_size')::int8)::int8 AS all_bytes,
        sum(dead)::int8 AS all_dead,
        count(*) FILTER (WHERE reloptions IS NULL AND due > 1) AS all_due,
        count(*) FILTER (WHERE relkind = 'r' AND NOT relispartition AND NOT has_primary_key)
            AS all_without_key,
        count(*) FILTER (WHERE reloptions::text ~* 'autovacuum_enabled=(f|of|n|0)')
            AS all_excluded
    FROM t
), picked AS (
    (SELECT oid FROM t ORDER BY pages DESC, oid LIMIT 150)
    UNION (SELECT oid FROM t WHERE dead > 0 ORDER BY dead DESC, oid LIMIT 50)
    UNION (SELECT oid FROM t WHERE due > 1 ORDER BY due DESC, oid LIMIT 25)
    UNION (SELECT oid FROM t ORDER BY xid_age DESC, oid LIMIT 25)
    UNION (SELECT oid FROM t WHERE modified > 0 ORDER BY modified DESC, oid LIMIT 25)
    UNION (SELECT oid FROM t WHERE sequential_rows > 0
        ORDER BY sequential_rows DESC, oid LIMIT 25)
    UNION (SELECT oid FROM t WHERE reloptions::text ~* 'autovacuum_enabled=(f|of|n|0)'
        ORDER BY pages DESC, oid LIMIT 25)
)
SELECT t.oid, n.nspname::text AS schema_name, t.relname::text AS table_name,
    t.relpages * current_setting('block_size')::int8 AS size_by_pages,
    t.reltuples::float8 AS reltuples, t.relpages::int8 AS relpages, t.frozen_pages,
    t.live, t.dead, t.modified,
    pg_stat_get_ins_since_vacuum(t.oid) AS inserted_since_vacuum,
    extract(epoch FROM clock_timestamp() - greatest(pg_stat_get_last_vacuum_time(t.oid),
        pg_stat_get_last_autovacuum_time(t.oid)))::float8 AS since_vacuum_s,
    extract(epoch FROM clock_timestamp() - greatest(pg_stat_get_last_analyze_time(t.oid),
        pg_stat_get_last_autoanalyze_time(t.oid)))::float8 AS since_analyze_s,
    t.xid_age::int8 AS xid_age, t.multixact_age::int8 AS multixact_age, t.reloptions,
    CASE WHEN t.relkind = 'r' AND NOT t.relispartition THEN t.has_primary_key END
        AS has_primary_key,
    pg_stat_get_numscans(t.oid) AS sequential_scans, t.sequential_rows,
    (SELECT sum(pg_stat_get_numscans(i.indexrelid))::int8
        FROM pg_index i WHERE i.indrelid = t.oid) AS index_scans,
    pg_stat_get_tuples_fetched(t.oid) AS index_rows_by_bitmap,
    (SELECT sum(pg_stat_get_tuples_fetched(i.indexrelid))::int8
        FROM pg_index i WHERE i.indrelid = t.oid) AS index_rows,
    pg_stat_get_tuples_inserted(t.oid) AS inserted, t.updated,
    pg_stat_get_tuples_hot_updated(t.oid) AS hot_updated, {newpage} AS newpage_updated,
    pg_stat_get_tuples_deleted(t.oid) AS deleted,
    pg_stat_get_vacuum_count(t.oid) + pg_stat_get_autovacuum_count(t.oid) AS vacuums,
    totals.*
FROM t JOIN picked ON picked.oid = t.oid JOIN pg_namespace n ON n.oid = t.relnamespace
    CROSS JOIN totals
ORDER BY schema_name, table_name";

pub(super) fn read(reader: &mut Reader<'_>) -> Result<Fact<Found>, CollectError> {
    reader.read(&SUBJECT, |client, version| {
        let mut found = read_found(client, version)?;
        partitions::add(client, &mut found.totals)?;
        let oids: Vec<u32> = found.oids().collect();
        let sizes = sizes::read(client, sizes::Of::All, &oids)?;
        for ((_, table), size) in found.listed.iter_mut().zip(sizes) {
            table.size_bytes = size.unwrap_or(table.size_bytes);
        }
        // Equal ones stay in the order of their names.
        found
            .listed
            .sort_by_key(|(_, table)| Reverse(table.size_bytes));
        Ok(found)
    })
}

fn sql(version: u32) -> String {
    let newpage = if version < 160_000 {
        "NULL::int8"
    } else {
        "pg_stat_get_tuples_newpage_updated(t.oid)"
    };
    let frozen = if version < 180_000 {
        "NULL::int8"
    } else {
        "c.relallfrozen::int8"
    };
    SQL.replace("{newpage}", newpage)
        .replace("{frozen}", frozen)
}

/// With the sizes that the planner's pages tell.
fn read_found(client: &mut Client, version: u32) -> Result<Found, Error> {
    let rows = client.query(&sql(version), &[])?;
    let listed = rows
        .iter()
        .map(|row| Ok((row.try_get("oid")?, decode(row, version)?)))
        .collect::<Result<Vec<_>, Error>>()?;
    // Every row carries the totals; without a row there is nothing to count.
    let totals = rows.first().map(decode_totals).transpose()?;
    let totals = TableTotals {
        listed: listed.len() as u64,
        ..totals.unwrap_or_default()
    };
    Ok(Found { listed, totals })
}

fn decode_totals(row: &Row) -> Result<TableTotals, Error> {
    Ok(TableTotals {
        tables: count(row.try_get("all_tables")?),
        listed: 0,
        bytes: count(row.try_get("all_bytes")?),
        dead_tuples: count(row.try_get("all_dead")?),
        due_for_vacuum: count(row.try_get("all_due")?),
        without_primary_key: count(row.try_get("all_without_key")?),
        excluded_from_autovacuum: count(row.try_get("all_excluded")?),
        ..TableTotals::default()
    })
}

fn decode(row: &Row, version: u32) -> Result<Table, Error> {
    let options: Option<Vec<String>> = row.try_get("reloptions")?;
    let pages: i64 = row.try_get("relpages")?;
    let since_vacuum_s: Option<f64> = row.try_get("since_vacuum_s")?;
    let since_analyze_s: Option<f64> = row.try_get("since_analyze_s")?;
    Ok(Table {
        schema: text(row, "schema_name")?,
        name: text(row, "table_name")?,
        size_bytes: count(row.try_get("size_by_pages")?),
        rows_estimate: rows_estimate(row.try_get("reltuples")?, pages, version),
        live_tuples: count(row.try_get("live")?),
        dead_tuples: count(row.try_get("dead")?),
        modified_since_analyze: count(row.try_get("modified")?),
        inserted_since_vacuum: count_or_none(row.try_get("inserted_since_vacuum")?),
        never_vacuumed: since_vacuum_s.is_none(),
        never_analyzed: since_analyze_s.is_none(),
        xid_age: count(row.try_get("xid_age")?),
        options: options.unwrap_or_default(),
        pages: Some(count(pages)),
        frozen_pages: count_or_none(row.try_get("frozen_pages")?),
        multixact_age: count_or_none(row.try_get("multixact_age")?),
        since_vacuum_s,
        since_analyze_s,
        has_primary_key: row.try_get("has_primary_key")?,
        row_bytes: None,
        usage: Some(decode_usage(row)?),
    })
}

fn decode_usage(row: &Row) -> Result<TableUsage, Error> {
    // No row, no sum: a table without an index.
    let by_index =
        |name: &str| -> Result<u64, Error> { Ok(count_or_none(row.try_get(name)?).unwrap_or(0)) };
    Ok(TableUsage {
        sequential_scans: count(row.try_get("sequential_scans")?),
        sequential_rows: count(row.try_get("sequential_rows")?),
        index_scans: by_index("index_scans")?,
        index_rows: by_index("index_rows")?
            .saturating_add(count(row.try_get("index_rows_by_bitmap")?)),
        inserted: count(row.try_get("inserted")?),
        updated: count(row.try_get("updated")?),
        hot_updated: count(row.try_get("hot_updated")?),
        newpage_updated: count_or_none(row.try_get("newpage_updated")?),
        deleted: count(row.try_get("deleted")?),
        vacuums: count(row.try_get("vacuums")?),
    })
}

/// Never analysed is -1 from 14 on; before, it could not be told from a table that was empty.
fn rows_estimate(tuples: f64, pages: i64, version: u32) -> Option<f64> {
    let is_unknown = tuples < 0.0 || (version < 140_000 && tuples == 0.0 && pages == 0);
    (!is_unknown).then_some(tuples)
}

#[cfg(test)]
mod tests {
    use super::{rows_estimate, sql};

    #[test]
    fn a_table_that_was_never_analysed_has_no_estimate() {
        assert_eq!(rows_estimate(-1.0, 0, 150_000), None);
        assert_eq!(rows_estimate(0.0, 0, 130_000), None);
        assert_eq!(rows_estimate(0.0, 0, 150_000), Some(0.0));
        assert_eq!(rows_estimate(7.0, 1, 130_000), Some(7.0));
    }

    #[test]
    fn older_servers_are_not_asked_for_what_they_do_not_count() {
        assert!(!sql(150_000).contains("newpage_updated(") && !sql(150_000).contains('{'));
        assert!(sql(160_000).contains("newpage_updated("));
        assert!(!sql(170_000).contains("relallfrozen"));
        assert!(sql(180_000).contains("relallfrozen"));
    }
}
