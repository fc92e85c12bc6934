//! One connection that inserts rows or selects them by their keys.
//!
//! Each statement is waited for before the next is sent, as most clients do: a transaction of N
//! statements is N + 2 round trips, one that commits by itself is one.

use std::hint::black_box;
use std::time::{SystemTime, UNIX_EPOCH};

use super::config::{Config, Kind};
use super::filler::Filler;
use super::fresh::FreshKeys;
use super::layout::{RUNS, TABLE};
use super::pick::Pick;
use super::stream;
use super::value::{Shape, Value};
use crate::tables::{Contents as _, recognise};
use crate::tpcc::End;
use crate::tpcc::control::Control;
use crate::tpcc::random::Random;
use crate::tpcc::sql::{prepare, repeated};
use crate::wire::{Engine, Params, Sent, Session, Statement, WireError};

/// A row of the transaction that was drawn last.
#[derive(Debug, Clone, Copy)]
struct Drawn {
    /// None where the server gives it.
    key: Option<Value>,
    filler: u32,
}

#[derive(Debug)]
enum Source {
    Inserts(FreshKeys),
    Selects(Pick),
}

#[derive(Debug)]
pub struct Terminal {
    session: Session,
    control: Control,
    statement: Statement,
    source: Source,
    filler: Filler,
    random: Random,
    batch: usize,
    statements: u32,
    /// Whether a transaction is begun and committed, or each statement commits by itself.
    begins: bool,
    drawn: Vec<Drawn>,
}

impl Terminal {
    /// What the terminal draws depends on `seed`, `index`, and on how often there was one before;
    /// UUIDs of version 7 also on the time.
    ///
    /// # Errors
    /// The database holds another load or none, the server refuses a statement, or it is lost.
    pub async fn prepare(
        mut session: Session,
        config: &Config,
        seed: u64,
        index: u32,
    ) -> Result<Self, WireError> {
        config.validate().map_err(WireError::protocol)?;
        recognise(&mut session, config).await?;
        let control = Control::prepare(&mut session).await?;
        let statement = prepare(&mut session, &sql(config)).await?;
        let source = match config.kind {
            Kind::Inserts => {
                let run = count_run(&mut session, index).await?;
                Source::Inserts(FreshKeys::new(config, seed, index, run))
            }
            Kind::Selects => Source::Selects(Pick::new(config, seed, index)),
        };
        let rows = config.rows_per_transaction() as usize;
        Ok(Self {
            session,
            control,
            statement,
            source,
            filler: Filler::new(config.seed, config.filler),
            random: Random::stream(seed, &[stream::FRESH_FILLER, index.into()]),
            batch: config.batch as usize,
            statements: config.statements(),
            begins: config.transaction.is_some(),
            drawn: Vec::with_capacity(rows),
        })
    }

    /// Draws the rows of the next transaction; returns its index, which is always the same.
    #[expect(
        clippy::should_implement_trait,
        reason = "an endless draw is no iteration"
    )]
    pub fn next(&mut self) -> usize {
        let Self {
            source,
            random,
            drawn,
            ..
        } = self;
        drawn.clear();
        match source {
            Source::Inserts(keys) => {
                let now_ms = now_ms();
                let rows = self.batch * self.statements as usize;
                drawn.extend((0..rows).map(|_| Drawn {
                    key: keys.next(now_ms),
                    filler: Filler::draw(random),
                }));
            }
            Source::Selects(pick) => {
                for _ in 0..self.statements {
                    pick.statement(self.batch as u64, |key| {
                        let key = Some(key);
                        drawn.push(Drawn { key, filler: 0 });
                    });
                }
            }
        }
        0
    }

    /// One attempt at the transaction drawn last; may be repeated with the same input.
    ///
    /// # Errors
    /// The server refuses a statement, or is lost. Call [`Self::rollback`] before anything else.
    pub async fn execute(&mut self) -> Result<End, WireError> {
        if self.drawn.is_empty() {
            self.next();
        }
        if self.begins {
            self.control.queue_begin(&mut self.session)?;
            self.session.done().await?;
        }
        for rows in self.drawn.chunks(self.batch) {
            let (session, statement) = (&mut self.session, &self.statement);
            match &self.source {
                Source::Inserts(_) => insert(session, statement, &self.filler, rows).await?,
                Source::Selects(_) => select(session, statement, rows).await?,
            }
        }
        if self.begins {
            self.control.queue_commit(&mut self.session)?;
            self.session.done().await?;
        }
        Ok(End::Committed)
    }

    /// Ends what a failed attempt left open: answers that nobody took, and the transaction.
    ///
    /// # Errors
    /// The server is lost.
    pub async fn rollback(&mut self) -> Result<(), WireError> {
        self.session.rollback().await
    }

    pub(crate) fn sent(&self) -> Sent {
        self.session.sent()
    }

    pub(crate) fn into_session(self) -> Session {
        self.session
    }
}

fn sql(config: &Config) -> String {
    let batch = config.batch as usize;
    match (config.kind, Shape::of(config)) {
        (Kind::Inserts, Shape::Dense) => {
            let rows = repeated("(?)", batch);
            format!("INSERT INTO {TABLE} (filler) VALUES {rows}")
        }
        (Kind::Inserts, _) => {
            let rows = repeated("(?, ?)", batch);
            format!("INSERT INTO {TABLE} (id, filler) VALUES {rows}")
        }
        (Kind::Selects, _) if batch == 1 => {
            format!("SELECT id, filler FROM {TABLE} WHERE id = ?")
        }
        (Kind::Selects, _) => {
            let keys = repeated("?", batch);
            format!("SELECT id, filler FROM {TABLE} WHERE id IN ({keys})")
        }
    }
}

/// How many terminals of this index there were on this data, this one included.
async fn count_run(session: &mut Session, index: u32) -> Result<u64, WireError> {
    let add = match session.engine() {
        Engine::Postgres => format!(
            "INSERT INTO {RUNS} VALUES (?, 1)
             ON CONFLICT (terminal) DO UPDATE SET runs = {RUNS}.runs + 1"
        ),
        Engine::MySql => {
            format!("INSERT INTO {RUNS} VALUES (?, 1) ON DUPLICATE KEY UPDATE runs = runs + 1")
        }
    };
    let add = prepare(session, &add).await?;
    session.queue(&add, |params| {
        params.int(index.into());
    })?;
    session.done().await?;
    let read = format!("SELECT runs FROM {RUNS} WHERE terminal = ?");
    let read = prepare(session, &read).await?;
    session.queue(&read, |params| {
        params.int(index.into());
    })?;
    let mut runs = 0;
    session
        .rows(&read, |mut row| {
            runs = row.int()?;
            Ok(())
        })
        .await?;
    u64::try_from(runs).map_err(|_| WireError::protocol(format!("{runs} runs")))
}

async fn insert(
    session: &mut Session,
    statement: &Statement,
    filler: &Filler,
    rows: &[Drawn],
) -> Result<(), WireError> {
    session.queue(statement, |params| {
        for row in rows {
            put(params, row.key);
            params.text(filler.at(row.filler));
        }
    })?;
    let stored = session.done().await?.affected;
    all(stored, rows)
}

async fn select(
    session: &mut Session,
    statement: &Statement,
    rows: &[Drawn],
) -> Result<(), WireError> {
    session.queue(statement, |params| {
        for row in rows {
            put(params, row.key);
        }
    })?;
    let mut found = 0;
    session
        .rows(statement, |mut row| {
            row.skip()?;
            black_box(row.bytes()?);
            found += 1;
            Ok(())
        })
        .await?;
    all(found, rows)
}

fn put(params: &mut Params<'_>, key: Option<Value>) {
    match key {
        None => {}
        Some(Value::Int(int)) => {
            params.int(int);
        }
        Some(Value::Uuid(uuid)) => {
            params.bytes(&uuid);
        }
    }
}

fn all(count: u64, rows: &[Drawn]) -> Result<(), WireError> {
    let wanted = rows.len();
    if count == wanted as u64 {
        return Ok(());
    }
    Err(WireError::protocol(format!(
        "a statement on {wanted} rows was about {count}"
    )))
}

fn now_ms() -> u64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
    since_1970.map_or(0, |since| since.as_millis() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Key;

    #[test]
    fn a_statement_names_as_many_rows_as_a_batch_has() {
        let config = |kind, key, batch| Config {
            key,
            batch,
            ..Config::new(kind)
        };
        let cases = [
            (
                config(Kind::Inserts, Key::AutoIncrement, 2),
                "INSERT INTO dbdyno_keys (filler) VALUES (?), (?)",
            ),
            (
                config(Kind::Inserts, Key::UuidV7, 2),
                "INSERT INTO dbdyno_keys (id, filler) VALUES (?, ?), (?, ?)",
            ),
            (
                config(Kind::Selects, Key::AutoIncrement, 1),
                "SELECT id, filler FROM dbdyno_keys WHERE id = ?",
            ),
            (
                config(Kind::Selects, Key::UuidV4, 3),
                "SELECT id, filler FROM dbdyno_keys WHERE id IN (?, ?, ?)",
            ),
        ];
        for (config, expected) in cases {
            assert_eq!(sql(&config), expected);
        }
    }
}
