//! pg_stat_statements: what the connected database's statements cost, read at both ends of the window.

use std::collections::HashMap;
use std::time::Instant;

use ::postgres::error::SqlState;
use ::postgres::{Client, Error, Row};
use dbdyno_model::Fact;
use dbdyno_model::postgres::{Statements, TrackedStatement};

use super::error::CollectError;
use super::query_text::without_literals;
use super::reader::{Reader, Subject, count, count_or_none};
use super::text::text;

const SUBJECT: Subject = Subject::new("postgres.statements", "pg_stat_statements");

/// The extension as it is in this database.
#[derive(Debug, Clone)]
struct Extension {
    /// Quoted.
    schema: String,
    version: (u32, u32),
}

/// Execution and planning are counted apart, and the log counted at all, from here on.
const OLDEST: (u32, u32) = (1, 8);
const WITH_INFO: (u32, u32) = (1, 9);
const WITH_JIT: (u32, u32) = (1, 10);

/// Calls and time of each statement at the beginning of the window.
type Counters = HashMap<i64, (i64, f64)>;

/// What the first reading left for the second, or why there is nothing to read.
pub(super) struct Opening(Result<Begun, String>);

struct Begun {
    extension: Extension,
    counters: Counters,
    at: Instant,
}

pub(super) fn open(reader: &mut Reader<'_>) -> Result<Opening, CollectError> {
    match find(reader)? {
        Ok(extension) => Ok(Opening(begin(reader, extension)?)),
        Err(why) => Ok(Opening(Err(why))),
    }
}

/// The extension, or why it cannot be read.
fn find(reader: &mut Reader<'_>) -> Result<Result<Extension, String>, CollectError> {
    let fact = reader.read(&SUBJECT, |client, _| read_extension(client))?;
    let found = match fact.value() {
        None => Err(fact.why_unknown().unwrap_or("unknown").to_owned()),
        Some(None) => Err("the extension is not in this database".to_owned()),
        Some(Some(extension)) if extension.version < OLDEST => Err(format!(
            "version {}.{} of the extension is older than the server: ALTER EXTENSION \
             pg_stat_statements UPDATE",
            extension.version.0, extension.version.1
        )),
        Some(Some(extension)) => Ok(extension.clone()),
    };
    // Without the privilege the numbers are there, and neither text nor id.
    if found.is_ok() && !reader.sees_all_sessions {
        reader.deny(&SUBJECT);
        return Ok(Err(
            "the role may not see the statements of others".to_owned()
        ));
    }
    Ok(found)
}

fn begin(
    reader: &mut Reader<'_>,
    extension: Extension,
) -> Result<Result<Begun, String>, CollectError> {
    let (fact, at) = reader.read_at(&SUBJECT, |client, _| {
        loaded(read_counters(client, &extension))
    })?;
    let why = fact.why_unknown().map(str::to_owned);
    let mut counters = None;
    fact.map(|read| counters = read);
    Ok(match (counters, why) {
        (Some(counters), _) => Ok(Begun {
            extension,
            counters,
            at,
        }),
        (None, Some(why)) => Err(why),
        (None, None) => Err(NOT_LOADED.to_owned()),
    })
}

const NOT_LOADED: &str = "the extension is there, but not in shared_preload_libraries";

/// The second reading, at the end of the window where there was one.
pub(super) fn close(
    reader: &mut Reader<'_>,
    opening: Opening,
    is_window: bool,
) -> Result<Fact<Statements>, CollectError> {
    let begun = match opening.0 {
        Ok(begun) => begun,
        Err(why) => return Ok(Fact::unknown(why, SUBJECT.origin)),
    };
    let (fact, ended) = reader.read_at(&SUBJECT, |client, _| {
        read_statements(client, &begun.extension)
    })?;
    Ok(fact.map(|mut statements| {
        if is_window {
            statements.window_s = ended.duration_since(begun.at).as_secs_f64();
            for statement in &mut statements.listed {
                since(statement, &begun.counters);
            }
        }
        statements
    }))
}

/// What a statement did in the window; one that was reset or forgotten meanwhile did nobody knows
/// what, and one that is new began with nothing.
fn since(statement: &mut TrackedStatement, before: &Counters) {
    let id = statement.id.parse::<i64>().unwrap_or(0);
    let (calls, ms) = before.get(&id).copied().unwrap_or((0, 0.0));
    statement.calls_in_window = statement.calls.checked_sub(count(calls));
    statement.ms_in_window = (statement.total_ms >= ms).then_some(statement.total_ms - ms);
}

fn read_extension(client: &mut Client) -> Result<Option<Extension>, Error> {
    const SQL: &str = "SELECT quote_ident(n.nspname), e.extversion FROM pg_extension e \
         JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'pg_stat_statements'";
    let row = client.query_opt(SQL, &[])?;
    row.map(|row| -> Result<Extension, Error> {
        let version: String = row.try_get(1)?;
        Ok(Extension {
            schema: row.try_get(0)?,
            version: parse_version(&version),
        })
    })
    .transpose()
}

/// `1.10` is (1, 10), and newer than `1.9`.
fn parse_version(text: &str) -> (u32, u32) {
    let mut parts = text.split('.').map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
}

/// None where the library is not loaded, which the view only says when it is read.
fn loaded<T>(result: Result<T, Error>) -> Result<Option<T>, Error> {
    match result {
        Err(error) if error.code() == Some(&SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE) => Ok(None),
        other => other.map(Some),
    }
}

/// Without the texts, which lie in a file.
fn read_counters(client: &mut Client, extension: &Extension) -> Result<Counters, Error> {
    let sql = format!(
        "SELECT queryid, sum(calls)::int8, sum(total_exec_time)::float8 \
         FROM {}.pg_stat_statements(false) WHERE queryid IS NOT NULL \
             AND dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) \
         GROUP BY queryid ORDER BY 3 DESC LIMIT 10000",
        extension.schema
    );
    client
        .query(&sql, &[])?
        .iter()
        .map(|row| Ok((row.try_get(0)?, (row.try_get(1)?, row.try_get(2)?))))
        .collect()
}

/// The sixty at most that lead in time, calls, blocks, temporary blocks or log are listed. Calls of
/// one statement by several roles, and from within functions, are added up.
const SQL: &str = "WITH s AS MATERIALIZED (
    SELECT queryid, sum(calls)::int8 AS calls, sum(total_exec_time)::float8 AS total_ms,
        sum(rows)::int8 AS returned, sum(shared_blks_hit)::int8 AS blocks_hit,
        sum(shared_blks_read)::int8 AS blocks_read,
        sum(temp_blks_written)::int8 AS temp_written, sum(wal_bytes)::int8 AS wal,
        {jit}::float8 AS jit
    FROM {schema}.pg_stat_statements(false) WHERE queryid IS NOT NULL
        AND dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
    GROUP BY queryid
), totals AS MATERIALIZED (
    SELECT count(*) AS all_statements, coalesce(sum(calls), 0)::int8 AS all_calls,
        coalesce(sum(total_ms), 0)::float8 AS all_ms,
        coalesce(sum(temp_written), 0)::int8 AS all_temp, coalesce(sum(wal), 0)::int8 AS all_wal,
        sum(jit)::float8 AS all_jit
    FROM s
), picked AS MATERIALIZED (
    (SELECT queryid FROM s ORDER BY total_ms DESC, queryid LIMIT 20)
    UNION (SELECT queryid FROM s ORDER BY calls DESC, queryid LIMIT 10)
    UNION (SELECT queryid FROM s ORDER BY blocks_hit + blocks_read DESC, queryid LIMIT 10)
    UNION (SELECT queryid FROM s WHERE temp_written > 0
        ORDER BY temp_written DESC, queryid LIMIT 10)
    UNION (SELECT queryid FROM s WHERE wal > 0 ORDER BY wal DESC, queryid LIMIT 10)
), texts AS MATERIALIZED (
    SELECT queryid, min(left(query, 4000)) AS query
    FROM {schema}.pg_stat_statements(true)
    WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND queryid IN (SELECT queryid FROM picked)
    GROUP BY queryid
)
SELECT totals.*, s.queryid, s.calls, s.total_ms, s.returned, s.blocks_hit, s.blocks_read,
    s.temp_written, s.wal, s.jit, coalesce(texts.query, '') AS query
FROM totals LEFT JOIN (s JOIN picked ON picked.queryid = s.queryid
    LEFT JOIN texts ON texts.queryid = s.queryid) ON true
ORDER BY s.total_ms DESC, s.queryid";

/// The deforming of tuples, counted from 1.11 on, is part of the generation.
const JIT: &str = "sum(jit_generation_time + jit_inlining_time + jit_optimization_time \
     + jit_emission_time)";

fn read_statements(client: &mut Client, extension: &Extension) -> Result<Statements, Error> {
    let jit = if extension.version < WITH_JIT {
        "NULL"
    } else {
        JIT
    };
    // The schema last: its name may hold anything.
    let sql = SQL
        .replace("{jit}", jit)
        .replace("{schema}", &extension.schema);
    let rows = client.query(&sql, &[])?;
    let Some(first) = rows.first() else {
        return Ok(Statements::default());
    };
    let (age_s, evictions) = read_info(client, extension)?;
    let mut statements = Statements {
        age_s,
        evictions,
        statements: count(first.try_get("all_statements")?),
        calls: count(first.try_get("all_calls")?),
        total_ms: first.try_get("all_ms")?,
        temp_blocks_written: count(first.try_get("all_temp")?),
        wal_bytes: count(first.try_get("all_wal")?),
        jit_ms: first.try_get("all_jit")?,
        window_s: 0.0,
        listed: Vec::with_capacity(rows.len()),
    };
    for row in &rows {
        // Where nothing was counted the totals stand alone.
        if let Some(id) = row.try_get::<_, Option<i64>>("queryid")? {
            statements.listed.push(decode(row, id)?);
        }
    }
    Ok(statements)
}

fn decode(row: &Row, id: i64) -> Result<TrackedStatement, Error> {
    Ok(TrackedStatement {
        id: id.to_string(),
        text: without_literals(&text(row, "query")?),
        calls: count(row.try_get("calls")?),
        total_ms: row.try_get("total_ms")?,
        rows: count(row.try_get("returned")?),
        blocks_hit: count(row.try_get("blocks_hit")?),
        blocks_read: count(row.try_get("blocks_read")?),
        temp_blocks_written: count(row.try_get("temp_written")?),
        wal_bytes: count(row.try_get("wal")?),
        jit_ms: row.try_get("jit")?,
        calls_in_window: None,
        ms_in_window: None,
    })
}

/// Seconds since the last reset, and how many statements had to be forgotten.
fn read_info(
    client: &mut Client,
    extension: &Extension,
) -> Result<(Option<f64>, Option<u64>), Error> {
    if extension.version < WITH_INFO {
        return Ok((None, None));
    }
    let sql = format!(
        "SELECT extract(epoch FROM clock_timestamp() - stats_reset)::float8, dealloc \
         FROM {}.pg_stat_statements_info()",
        extension.schema
    );
    let row = client.query_one(&sql, &[])?;
    Ok((row.try_get(0)?, count_or_none(row.try_get(1)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_parts() {
        assert_eq!(parse_version("1.10"), (1, 10));
        assert!(parse_version("1.10") > parse_version("1.9"));
        assert!(parse_version("1.7") < OLDEST && parse_version("odd") < OLDEST);
    }

    #[test]
    fn the_window_is_the_difference_where_there_is_one() {
        let before = HashMap::from([(7, (10, 100.0)), (8, (10, 100.0))]);
        let mut statement = TrackedStatement {
            id: "7".into(),
            calls: 15,
            total_ms: 130.0,
            ..TrackedStatement::default()
        };
        since(&mut statement, &before);
        assert_eq!(
            (statement.calls_in_window, statement.ms_in_window),
            (Some(5), Some(30.0))
        );
        // Reset in the window.
        statement.id = "8".into();
        statement.calls = 3;
        statement.total_ms = 1.0;
        since(&mut statement, &before);
        assert_eq!(
            (statement.calls_in_window, statement.ms_in_window),
            (None, None)
        );
        statement.id = "9".into();
        since(&mut statement, &before);
        assert_eq!(statement.calls_in_window, Some(3));
    }
}
