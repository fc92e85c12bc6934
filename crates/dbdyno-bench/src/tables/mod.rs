//! Tables of our own that a workload loads, recognises, checks, measures and drops, on either engine.
//!
//! A workload says what they hold ([`Contents`]); how rows get there, what vouches for them and how
//! large they become is the same for all.

mod create;
mod demands;
pub(crate) mod footprint;
mod mysql;
pub(crate) mod numbers;
mod postgres;
mod stored;

use std::io;
use std::ops::Range;
use std::sync::atomic::AtomicBool;

use dbdyno_model::connection::{Connection, Engine};

pub(crate) use demands::{Demand, check};
pub use stored::ReadBackError;
pub(crate) use stored::{clean, field, read_back, recognise};

use crate::tpcc::crew::refused;
use crate::tpcc::mysql::load_data::{Form, Source};
use crate::tpcc::postgres::copy_into::Copy;
use crate::tpcc::{self, ClientError, LoadError, Loaded, Progress};
use crate::wire::{Link, WireError};

/// What is loaded: one table of rows with its indexes, and small tables beside it.
pub(crate) trait Contents: Sync {
    /// The table of the rows.
    fn table(&self) -> &'static str;

    /// The table that vouches for the others.
    fn stored(&self) -> &'static str;

    /// All that decides which rows there are, in letters, digits, `_`, `=` and blanks.
    fn identity(&self) -> String;

    /// Why it cannot be loaded or run.
    fn validate(&self) -> Result<(), String>;

    fn rows(&self) -> u64;

    /// All tables but the one that vouches, each with the statement that creates it.
    fn create(&self, engine: Engine) -> Vec<(&'static str, String)>;

    /// Statements that index the rows when they are there; any number runs at once.
    fn indexes(&self, engine: Engine) -> Vec<String>;

    /// Statements that follow, one after the other.
    fn finish(&self, engine: Engine) -> Vec<String>;

    /// What LOAD DATA has to be told of a line; nothing where its fields are the columns.
    fn fields(&self) -> &'static str;

    /// These rows in the order in which PostgreSQL's heap shall hold them.
    fn copy(&self, rows: Range<u64>, to: &mut Copy<'_>) -> io::Result<()>;

    /// These rows in the order of InnoDB's primary key.
    fn lines(&self, form: Form, rows: Range<u64>) -> Source;

    /// Bytes of one record in InnoDB's index of this name, its header included.
    fn record_bytes(&self, index: &str) -> Option<u64>;
}

/// Creates and fills the tables on `threads` connections. Blocks.
pub(crate) fn load(
    connection: &Connection,
    contents: &dyn Contents,
    threads: usize,
    progress: &(dyn Fn(Progress) + Sync),
    stop: &AtomicBool,
) -> Result<Loaded, LoadError> {
    contents.validate().map_err(LoadError::Invalid)?;
    let order = Order {
        connection,
        contents,
        threads: threads.max(1),
        progress,
        stop,
    };
    match connection.engine {
        Engine::Postgres => postgres::load(order),
        Engine::MySql => mysql::load(order),
    }
}

/// What to load, how to connect, and whom to tell and obey.
#[derive(Clone, Copy)]
struct Order<'a> {
    connection: &'a Connection,
    contents: &'a dyn Contents,
    threads: usize,
    progress: &'a (dyn Fn(Progress) + Sync),
    stop: &'a AtomicBool,
}

impl Order<'_> {
    fn unreachable(&self, source: impl Into<ClientError>) -> LoadError {
        LoadError::Connect {
            server: self.connection.display(),
            source: source.into(),
        }
    }

    /// Says that the load has ended.
    fn vouch(&self, link: &mut Link) -> Result<(), LoadError> {
        let done = link.run(&stored::finish(self.contents));
        done.map_err(refused("update", self.contents.stored()))?;
        Ok(())
    }
}

/// A connection whose statements may take as long as they need.
pub(crate) fn open(connection: &Connection) -> Result<Link, ClientError> {
    match connection.engine {
        Engine::Postgres => postgres::open(connection),
        Engine::MySql => tpcc::mysql::connect::open(connection),
    }
}

/// The one number that a statement returns.
fn number(link: &mut Link, sql: &str) -> Result<i64, WireError> {
    let mut found = None;
    link.rows(sql, |mut row| {
        found = Some(row.int()?);
        Ok(())
    })?;
    found.ok_or_else(|| WireError::protocol("no row where there is always one"))
}

/// Ranges of rows that threads take one after the other: small enough that all threads have some of
/// a small table, large enough that beginning one does not count.
fn units(rows: u64) -> Vec<Range<u64>> {
    let size = (rows / 64).clamp(500, 100_000);
    let units = 0..rows.div_ceil(size);
    let unit = |index: u64| index * size..((index + 1) * size).min(rows);
    units.map(unit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_follow_each_other_to_the_last_row() {
        for rows in [0, 1, 499, 500, 501, 2_000, 1_000_003, 20_000_000] {
            let units = units(rows);
            let mut next = 0;
            for unit in &units {
                assert_eq!(unit.start, next);
                assert!(!unit.is_empty());
                next = unit.end;
            }
            assert_eq!(next, rows);
        }
        assert_eq!(units(2_000).len(), 4);
    }
}
