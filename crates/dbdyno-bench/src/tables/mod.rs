//! Tables of our own that a workload loads, recognises, checks, measures and drops, on either engine.
//!
//! A workload says what they hold ([`Contents`]); how rows get there, what vouches for them and how
//! large they become is the same for all.

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
pub(crate) use stored::{clean, field, is_left, read_back, recognise};

use crate::generate::{Generated, Generator};
use crate::ledger::{Begun, Done, INNODB, Ledger, Plan, Start, Step, ahead};
use crate::tpcc::mysql::load_data::{Form, Source};
use crate::tpcc::mysql::loader::encode_nowhere;
use crate::tpcc::postgres::copy_into::{Copy, copy_nowhere};
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

/// Creates and fills the tables on `threads` connections, or goes on with that. Blocks.
pub(crate) fn load(
    connection: &Connection,
    contents: &dyn Contents,
    threads: usize,
    start: Start,
    progress: &(dyn Fn(Progress) + Sync),
    stop: &AtomicBool,
) -> Result<Loaded, LoadError> {
    contents.validate().map_err(LoadError::Invalid)?;
    let engine = connection.engine;
    let ledger = Ledger::new(engine, units_table(contents), contents.identity());
    let order = Order {
        connection,
        contents,
        ledger: &ledger,
        threads: threads.max(1),
        start,
        progress,
        stop,
    };
    match engine {
        Engine::Postgres => postgres::load(order),
        Engine::MySql => mysql::load(order),
    }
}

/// Encodes all rows as this engine takes them, and sends them nowhere.
pub(crate) fn generate(
    generator: &Generator<'_>,
    engine: Engine,
    contents: &dyn Contents,
) -> Result<Generated, LoadError> {
    contents.validate().map_err(LoadError::Invalid)?;
    let table = |_: &Range<u64>| contents.table();
    let units = units(contents.rows());
    generator.generate(
        &units,
        contents.rows(),
        &table,
        &|unit, meter| match engine {
            Engine::Postgres => copy_nowhere(meter, |copy| contents.copy(unit.clone(), copy)),
            Engine::MySql => encode_nowhere(contents.lines(Form::File, unit.clone()), meter),
        },
    )
}

/// Holds the record of a load that is under way.
fn units_table(contents: &dyn Contents) -> String {
    format!("{}_units", contents.table())
}

/// What to load, how to connect, and whom to tell and obey.
#[derive(Clone, Copy)]
struct Order<'a> {
    connection: &'a Connection,
    contents: &'a dyn Contents,
    ledger: &'a Ledger,
    threads: usize,
    start: Start,
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

    /// What is done already; none where all of it is.
    fn begin(&self, link: &mut Link) -> Result<Option<Done>, LoadError> {
        let (contents, engine) = (self.contents, self.connection.engine);
        let own = (contents.stored(), stored::create(contents));
        let all = [own].into_iter().chain(contents.create(engine));
        let options = match engine {
            Engine::Postgres => "",
            Engine::MySql => INNODB,
        };
        let plan = Plan {
            ledger: self.ledger,
            tables: all
                .map(|(name, create)| (name.to_owned(), format!("{create} {options}")))
                .collect(),
            insert: Some(stored::begin(contents)),
        };
        match plan.begin(link, self.start)? {
            Begun::Ready(done) => Ok(Some(done)),
            Begun::Unrecorded(table) if table == contents.stored() => {
                stored::left_to_resume(link, contents).map(|()| None)
            }
            Begun::Unrecorded(table) => Err(LoadError::Exists {
                table,
                source: None,
            }),
        }
    }

    fn units(&self, done: &Done) -> Result<(Vec<Range<u64>>, u64), LoadError> {
        let units = done.ahead(units(self.contents.rows()), unit_name)?;
        let rows = units.iter().map(|unit| unit.end - unit.start).sum();
        Ok((units, rows))
    }

    /// Statements about the table of the rows.
    fn steps(&self, statements: impl IntoIterator<Item = String>) -> Vec<Step> {
        let table = self.contents.table();
        let statements = statements.into_iter();
        statements.map(|sql| Step::new(table, sql)).collect()
    }

    /// Those that index the rows and are not there yet.
    fn indexes(&self, link: &mut Link) -> Result<Vec<Step>, LoadError> {
        let engine = self.connection.engine;
        ahead(self.steps(self.contents.indexes(engine)), link, engine)
    }

    /// The last statements, one after the other.
    fn finish(&self, link: &mut Link) -> Result<(), LoadError> {
        let engine = self.connection.engine;
        for step in ahead(self.steps(self.contents.finish(engine)), link, engine)? {
            step.run(link, engine, "alter")?;
        }
        Ok(())
    }

    /// Says that the load has ended.
    fn close(&self, link: &mut Link) -> Result<(), LoadError> {
        let ready = stored::finish(self.contents);
        self.ledger.close(link, Some(&ready))
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

/// As the record of a load names it.
fn unit_name(unit: &Range<u64>) -> String {
    format!("rows {} to {}", unit.start, unit.end)
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
