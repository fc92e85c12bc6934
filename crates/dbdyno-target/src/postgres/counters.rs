//! The light sample that is taken every second of a benchmark run, in one round trip.

use ::postgres::types::Type;
use ::postgres::{Client, Row, Statement};

use super::database::USER_TABLES;
use super::error::CollectError;
use super::reader::{count, count_or_none, read_committed};
use super::wal::POSITION;

/// Counters as they stood at one moment; none is what the version lacks or this sample left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// None on a standby.
    pub wal_position_bytes: Option<u64>,
    /// From 14 on.
    pub full_page_images: Option<u64>,
    pub checkpoints_timed: u64,
    pub checkpoints_requested: u64,
    pub blocks_hit: u64,
    pub blocks_read: u64,
    /// Not a counter: how many there are in the tables of the database.
    pub dead_tuples: u64,
    /// Not a counter either; in every fifth sample only, where it is costly to find out.
    pub database_bytes: Option<u64>,
}

/// Names and operators mean PostgreSQL's own, whatever stands in other schemas.
const LIMITS: &str = "SET search_path = pg_catalog, pg_temp; \
     SET default_transaction_isolation = 'read committed'; SET statement_timeout = '5s'; \
     SET default_transaction_read_only = on; SET jit = off";

/// A size that takes the server longer than this is read less often.
const COSTLY_MS: f64 = 2.0;
const EVERY_COSTLY: u64 = 5;

/// A session that reads the counters again and again.
pub struct CounterReader {
    client: Client,
    with_size: Statement,
    without_size: Statement,
    size_ms: f64,
    samples: u64,
}

impl std::fmt::Debug for CounterReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CounterReader")
            .field("size_ms", &self.size_ms)
            .field("samples", &self.samples)
            .finish_non_exhaustive()
    }
}

impl CounterReader {
    /// Prepares the session; it is read-only from here on, and gives up on a slow server.
    ///
    /// # Errors
    /// Where a view cannot be read.
    pub fn new(mut client: Client, version_num: u32) -> Result<Self, CollectError> {
        client
            .batch_execute(&session(version_num))
            .map_err(CollectError::Session)?;
        let mut prepare = |has_size| {
            client
                .prepare_typed(&sql(version_num, has_size), &[] as &[Type])
                .map_err(CollectError::Counters)
        };
        let (with_size, without_size) = (prepare(true)?, prepare(false)?);
        Ok(Self {
            client,
            with_size,
            without_size,
            size_ms: 0.0,
            samples: 0,
        })
    }

    /// The counters as they stand now.
    ///
    /// # Errors
    /// Where the server does not answer.
    pub fn read(&mut self) -> Result<Counters, CollectError> {
        let is_costly = self.size_ms > COSTLY_MS;
        let has_size = !is_costly || self.samples.is_multiple_of(EVERY_COSTLY);
        self.samples += 1;
        let statement = if has_size {
            &self.with_size
        } else {
            &self.without_size
        };
        let row = self
            .client
            .query_one(statement, &[])
            .map_err(CollectError::Counters)?;
        let (counters, size_ms) = decode(&row).map_err(CollectError::Counters)?;
        if let Some(size_ms) = size_ms {
            self.size_ms = size_ms;
        }
        Ok(counters)
    }

    /// The session, for whatever comes after the run.
    pub fn into_client(self) -> Client {
        self.client
    }
}

/// Reads the counters once.
///
/// # Errors
/// Where a view cannot be read.
pub fn counters(client: &mut Client, version_num: u32) -> Result<Counters, CollectError> {
    let row = read_committed(client, |client| {
        client.batch_execute("SET LOCAL search_path = pg_catalog, pg_temp")?;
        client.query_one(&sql(version_num, true), &[])
    })
    .map_err(CollectError::Counters)?;
    Ok(decode(&row).map_err(CollectError::Counters)?.0)
}

/// Until 14 a transaction keeps the statistics it saw first, and each sample is a transaction of
/// its own; from 15 on they lie in shared memory, and copying them only costs time.
fn session(version: u32) -> String {
    let statistics = if version < 150_000 {
        ""
    } else {
        "; SET stats_fetch_consistency = none"
    };
    format!("{LIMITS}{statistics}")
}

fn sql(version: u32, has_size: bool) -> String {
    // The clock on both sides: the target list is evaluated from left to right.
    let size = if has_size {
        "clock_timestamp() AS began, pg_database_size(current_database()) AS size, \
         clock_timestamp() AS ended"
    } else {
        "NULL::timestamptz AS began, NULL::int8 AS size, NULL::timestamptz AS ended"
    };
    let images = if version < 140_000 {
        "NULL::int8"
    } else {
        "(SELECT wal_fpi FROM pg_stat_wal)"
    };
    let checkpoints = if version < 170_000 {
        "SELECT checkpoints_timed AS timed, checkpoints_req AS requested FROM pg_stat_bgwriter"
    } else {
        "SELECT num_timed AS timed, num_requested AS requested FROM pg_stat_checkpointer"
    };
    format!(
        "SELECT {POSITION}, {images}, c.timed, c.requested, d.blks_hit, d.blks_read, \
         (SELECT coalesce(sum(pg_stat_get_dead_tuples(oid)), 0)::int8 FROM {USER_TABLES}), \
         s.size, (extract(epoch FROM s.ended - s.began) * 1000)::float8 \
         FROM ({checkpoints}) c, pg_stat_database d, (SELECT {size} OFFSET 0) s \
         WHERE d.datname = current_database()"
    )
}

/// The counters, and how long the server took to find the size.
fn decode(row: &Row) -> Result<(Counters, Option<f64>), ::postgres::Error> {
    let counters = Counters {
        wal_position_bytes: count_or_none(row.try_get(0)?),
        full_page_images: count_or_none(row.try_get(1)?),
        checkpoints_timed: count(row.try_get(2)?),
        checkpoints_requested: count(row.try_get(3)?),
        blocks_hit: count(row.try_get(4)?),
        blocks_read: count(row.try_get(5)?),
        dead_tuples: count(row.try_get(6)?),
        database_bytes: count_or_none(row.try_get(7)?),
    };
    Ok((counters, row.try_get(8)?))
}
