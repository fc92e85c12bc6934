//! Sequences that end within 32 bits, with how far they have come.

use ::postgres::{Client, Error, Row};
use dbdyno_model::postgres::{Sequence, SequenceColumn, Sequences};

use super::reader::{Subject, count};
use super::text::{text, text_or_none};

pub(super) const SUBJECT: Subject = Subject::new(
    "postgres.sequences",
    "pg_sequence, last_value of each sequence",
);

/// A sequence's value can only be read from the sequence itself, and pg_sequences would lock each
/// one above AccessShare until the statement ends. So only those are read whose end, or whose
/// column's end, lies within 32 bits, and of these the thousand on the tables with the most rows,
/// living or ever inserted. One without a table counts as one of a million rows, and so does that of a
/// partitioned table, whose rows are counted with its partitions.
const SQL: &str = "WITH locked AS MATERIALIZED (
    SELECT relation FROM pg_locks
    WHERE locktype = 'relation' AND mode = 'AccessExclusiveLock'
), s AS MATERIALIZED (
    SELECT q.seqrelid, q.seqtypid, q.seqincrement, q.seqcycle, c.relname, c.relnamespace,
        CASE WHEN c.relpersistence = 'u' AND pg_is_in_recovery()
            OR q.seqrelid IN (SELECT relation FROM locked) THEN false
            ELSE has_schema_privilege(c.relnamespace, 'USAGE')
                AND has_sequence_privilege(q.seqrelid, 'SELECT') END AS is_readable,
        t.oid AS table_oid, t.relname AS table_name, t.relnamespace AS table_namespace,
        a.attname, a.atttypid,
        CASE WHEN q.seqincrement > 0 THEN least(q.seqmax, CASE a.atttypid
                WHEN 'int2'::regtype THEN 32767 WHEN 'int4'::regtype THEN 2147483647 END)
            ELSE greatest(q.seqmin, CASE a.atttypid
                WHEN 'int2'::regtype THEN -32768 WHEN 'int4'::regtype THEN -2147483648 END)
            END AS last_possible,
        coalesce(greatest(t.reltuples, pg_stat_get_tuples_inserted(t.oid),
            CASE t.relkind WHEN 'p' THEN 1000000 END), 1000000) AS weight
    FROM pg_sequence q JOIN pg_class c ON c.oid = q.seqrelid AND c.relpersistence <> 't'
        LEFT JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = q.seqrelid
            AND d.objsubid = 0 AND d.refclassid = 'pg_class'::regclass
            AND d.refobjsubid > 0 AND d.deptype IN ('a', 'i')
        LEFT JOIN pg_class t ON t.oid = d.refobjid
        LEFT JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
), totals AS MATERIALIZED (
    SELECT count(*) AS all_sequences,
        count(*) FILTER (WHERE last_possible NOT BETWEEN -2147483648 AND 2147483647) AS all_wide,
        count(*) FILTER (WHERE last_possible BETWEEN -2147483648 AND 2147483647
            AND NOT is_readable) AS all_unreadable
    FROM s
), picked AS (
    SELECT * FROM s
    WHERE is_readable AND last_possible BETWEEN -2147483648 AND 2147483647
    ORDER BY weight DESC, seqrelid LIMIT 1000
)
SELECT totals.*,
    CASE WHEN p.seqrelid IS NOT NULL THEN format('%I.%I', n.nspname, p.relname) END AS qualified,
    n.nspname::text AS schema_name, p.relname::text AS sequence_name,
    format_type(p.seqtypid, NULL) AS data_type, p.seqincrement, p.seqcycle, p.last_possible,
    tn.nspname::text AS table_schema, p.table_name::text AS table_name,
    p.attname::text AS column_name, format_type(p.atttypid, NULL) AS column_type,
    pg_stat_get_tuples_inserted(p.table_oid) AS inserted
FROM totals LEFT JOIN picked p ON true
    LEFT JOIN pg_namespace n ON n.oid = p.relnamespace
    LEFT JOIN pg_namespace tn ON tn.oid = p.table_namespace
ORDER BY p.weight DESC, p.seqrelid";

/// Sequences that one statement reads: each is a table of its own to the planner.
const AT_ONCE: usize = 200;

pub(super) fn read(client: &mut Client, _version: u32) -> Result<Sequences, Error> {
    let rows = client.query(SQL, &[])?;
    let Some(first) = rows.first() else {
        return Ok(Sequences::default());
    };
    let mut sequences = Sequences {
        sequences: count(first.try_get("all_sequences")?),
        wide: count(first.try_get("all_wide")?),
        unreadable: count(first.try_get("all_unreadable")?),
        left_out: 0,
        listed: Vec::with_capacity(rows.len()),
    };
    let mut qualified = Vec::with_capacity(rows.len());
    for row in &rows {
        // Where nothing was picked the totals stand alone.
        let Some(name) = text_or_none(row, "qualified")? else {
            continue;
        };
        // The driver sends UTF-8, and so cannot name what is not.
        if name.contains(char::REPLACEMENT_CHARACTER) {
            sequences.unreadable += 1;
            continue;
        }
        qualified.push(name);
        sequences.listed.push(decode(row)?);
    }
    for (names, listed) in qualified
        .chunks(AT_ONCE)
        .zip(sequences.listed.chunks_mut(AT_ONCE))
    {
        for row in client.query(&values_sql(names), &[])? {
            let place: i32 = row.try_get(0)?;
            let is_called: bool = row.try_get(2)?;
            let place = usize::try_from(place).unwrap_or(usize::MAX);
            if let Some(sequence) = listed.get_mut(place) {
                sequence.last_value = is_called.then_some(row.try_get(1)?);
            }
        }
    }
    sequences.left_out = sequences
        .sequences
        .saturating_sub(sequences.wide)
        .saturating_sub(sequences.unreadable)
        .saturating_sub(sequences.listed.len() as u64);
    Ok(sequences)
}

/// The names are quoted by the server.
fn values_sql(names: &[String]) -> String {
    names
        .iter()
        .enumerate()
        .map(|(place, name)| format!("SELECT {place}::int4, last_value, is_called FROM {name}"))
        .collect::<Vec<_>>()
        .join(" UNION ALL ")
}

fn decode(row: &Row) -> Result<Sequence, Error> {
    let table = text_or_none(row, "table_name")?;
    let column = match table {
        Some(table) => Some(decode_column(row, table)?),
        None => None,
    };
    Ok(Sequence {
        schema: text(row, "schema_name")?,
        name: text(row, "sequence_name")?,
        data_type: row.try_get("data_type")?,
        last_value: None,
        increment: row.try_get("seqincrement")?,
        limit: row.try_get("last_possible")?,
        cycles: row.try_get("seqcycle")?,
        column,
    })
}

fn decode_column(row: &Row, table: String) -> Result<SequenceColumn, Error> {
    let inserted: Option<i64> = row.try_get("inserted")?;
    Ok(SequenceColumn {
        schema: text(row, "table_schema")?,
        table,
        column: text(row, "column_name")?,
        data_type: row.try_get("column_type")?,
        inserted: inserted.map_or(0, count),
    })
}

#[cfg(test)]
mod tests {
    use super::values_sql;

    #[test]
    fn many_sequences_are_read_by_one_statement() {
        let names = ["public.a".to_owned(), "\"S\".\"b\"".to_owned()];
        assert_eq!(
            values_sql(&names),
            "SELECT 0::int4, last_value, is_called FROM public.a \
             UNION ALL SELECT 1::int4, last_value, is_called FROM \"S\".\"b\""
        );
    }
}
