//! The loads there are, and one connection of each: what the driver sees of them.

mod error;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use dbdyno_model::Footprint;
use dbdyno_model::connection::{Connection, Engine};
use dbdyno_model::run::Check;

use crate::driver::target;
use crate::friends;
use crate::generate::{Generated, Generator};
use crate::keys;
use crate::oltp;
use crate::script::{self, Script};
use crate::tables;
use crate::tpcc;
pub(crate) use crate::tpcc::End;
pub use crate::tpcc::{Loaded, Progress, When};
use crate::wire::{Isolation, Link, Sent, Session, WireError};
pub use error::{CheckError, LoadError};
pub(crate) use error::{Failure, PrepareError};

/// A named load. Cheap to clone.
#[derive(Debug, Clone)]
pub enum Workload {
    Tpcc(tpcc::Config, tpcc::Mode),
    Oltp(oltp::Config),
    Keys(keys::Config),
    Friends(friends::Config),
    Script(Arc<Script>),
}

impl Workload {
    /// `tpcc`, or the script's file.
    pub fn name(&self) -> &str {
        match self {
            Self::Tpcc(..) => "tpcc",
            Self::Oltp(config) => config.kind.name(),
            Self::Keys(config) => config.name(),
            Self::Friends(config) => config.name(),
            Self::Script(script) => script.file(),
        }
    }

    /// How statements are sent, where there are several ways.
    pub fn mode(&self) -> Option<&'static str> {
        match self {
            Self::Tpcc(_, mode) => Some(mode.name()),
            Self::Oltp(config) if config.pipelined => Some("pipelined"),
            Self::Oltp(_) => Some("unbatched"),
            Self::Keys(_) | Self::Friends(_) | Self::Script(_) => None,
        }
    }

    pub fn description(&self) -> String {
        self.description_with(None)
    }

    /// The same with the users that it is driven by.
    pub fn description_with(&self, think: Option<tpcc::Think>) -> String {
        match self {
            Self::Tpcc(config, _) => {
                let times = think.map(tpcc::Think::description);
                let times = times.as_deref().unwrap_or("no think time");
                format!("TPC-C, {}, {times}", config.summary())
            }
            Self::Oltp(config) => config.description(),
            Self::Keys(config) => config.description(),
            Self::Friends(config) => config.description(),
            Self::Script(script) => {
                format!("{}: {}", script.file(), script.transactions().join(", "))
            }
        }
    }

    /// Names of the transactions, in the order of all that is measured by transaction.
    pub fn transactions(&self) -> Vec<String> {
        match self {
            Self::Tpcc(..) => tpcc::TRANSACTIONS
                .iter()
                .map(|&name| name.to_owned())
                .collect(),
            Self::Oltp(config) => config.kind.transactions().map(str::to_owned).to_vec(),
            Self::Keys(config) => config.transactions(),
            Self::Friends(config) => config.transactions(),
            Self::Script(script) => script.transactions(),
        }
    }

    /// Terminals that its users need, each with a home of its own; none where the workload knows of
    /// no users who key in and think.
    pub fn terminals(&self) -> Option<u32> {
        match self {
            Self::Tpcc(config, _) => {
                let warehouses = config.sets.saturating_mul(config.warehouses);
                Some(warehouses.saturating_mul(tpcc::TERMINALS))
            }
            Self::Oltp(_) | Self::Keys(_) | Self::Friends(_) | Self::Script(_) => None,
        }
    }

    /// The transaction that takes a level of its own where the run asks for none, and that level.
    pub fn own_isolation(&self, engine: Engine) -> Option<(&'static str, Isolation)> {
        use tpcc::Mode::{Pipelined, Procedures};
        match (self, engine) {
            (Self::Tpcc(_, Pipelined | Procedures), Engine::MySql) => {
                Some(("delivery", Isolation::ReadCommitted))
            }
            _ => None,
        }
    }

    /// Whether it changes data, so that each run needs a fresh copy and pays for checkpoints.
    pub fn writes(&self) -> bool {
        match self {
            Self::Tpcc(..) => true,
            Self::Oltp(config) => config.kind.writes(),
            Self::Keys(config) => config.writes(),
            Self::Friends(config) => config.writes(),
            Self::Script(script) => script.writes(),
        }
    }

    /// Of one transaction, where rows are what is asked after.
    pub fn rows_per_transaction(&self) -> Option<u64> {
        match self {
            Self::Keys(config) => Some(config.rows_per_transaction()),
            Self::Tpcc(..) | Self::Oltp(_) | Self::Friends(_) | Self::Script(_) => None,
        }
    }

    /// Whether the table of its rows is what it is about.
    pub fn has_footprint(&self) -> bool {
        match self {
            Self::Keys(_) | Self::Friends(_) => true,
            Self::Tpcc(..) | Self::Oltp(_) | Self::Script(_) => false,
        }
    }

    /// What the table of its rows takes now, where that is what it is about. Reads all of it; blocks.
    pub fn footprint(
        &self,
        connection: &Connection,
    ) -> Option<Result<Footprint, tpcc::ClientError>> {
        match self {
            Self::Keys(config) => Some(keys::footprint(connection, config)),
            Self::Friends(config) => Some(friends::footprint(connection, config)),
            Self::Tpcc(..) | Self::Oltp(_) | Self::Script(_) => None,
        }
    }

    /// Creates and fills what the workload needs. Blocks; not for use within an async runtime. For a
    /// script, progress and result count statements in place of rows.
    pub fn load(
        &self,
        connection: &Connection,
        threads: usize,
        progress: &(dyn Fn(Progress) + Sync),
        stop: &AtomicBool,
    ) -> Result<Loaded, LoadError> {
        let script = match self {
            Self::Tpcc(config, _) => {
                let loaded = tpcc::load(connection, config, threads, progress, stop)?;
                self.install(connection)?;
                return Ok(loaded);
            }
            Self::Oltp(config) => {
                return Ok(oltp::load(connection, config, threads, progress, stop)?);
            }
            Self::Keys(config) => {
                return Ok(keys::load(connection, config, threads, progress, stop)?);
            }
            Self::Friends(config) => {
                return Ok(friends::load(connection, config, threads, progress, stop)?);
            }
            Self::Script(script) => script,
        };
        let reading = script.reading(connection.engine)?;
        let started = Instant::now();
        let link = Link::open(&target(connection)?);
        let mut link = link.map_err(|source| LoadError::Connect {
            server: connection.display(),
            source,
        })?;
        let mut statements = 0;
        let complete = reading.set_up(&mut link, stop, &mut |done, total| {
            statements = done as u64;
            progress(Progress {
                phase: "setup",
                rows: done as u64,
                rows_total: total as u64,
            });
        })?;
        if !complete {
            return Err(LoadError::Stopped);
        }
        let seconds = started.elapsed().as_secs_f64();
        Ok(Loaded {
            rows: statements,
            seconds,
            seconds_rows: seconds,
            seconds_keys: 0.0,
            seconds_analyze: 0.0,
        })
    }

    /// Goes on with a load that did not end, or begins it where there is nothing; the rows told are
    /// those that were missing. Blocks; not for use within an async runtime.
    pub fn resume(
        &self,
        connection: &Connection,
        threads: usize,
        progress: &(dyn Fn(Progress) + Sync),
        stop: &AtomicBool,
    ) -> Result<Loaded, LoadError> {
        Ok(match self {
            Self::Tpcc(config, _) => {
                let loaded = tpcc::resume(connection, config, threads, progress, stop)?;
                self.install(connection)?;
                loaded
            }
            Self::Oltp(config) => oltp::resume(connection, config, threads, progress, stop)?,
            Self::Keys(config) => keys::resume(connection, config, threads, progress, stop)?,
            Self::Friends(config) => friends::resume(connection, config, threads, progress, stop)?,
            Self::Script(_) => return Err(LoadError::OwnSetup("resume")),
        })
    }

    /// Generates all rows and encodes them as the loader does for this engine, and sends them
    /// nowhere. Needs no server.
    pub fn generate(
        &self,
        engine: Engine,
        threads: usize,
        progress: &(dyn Fn(Progress) + Sync),
        stop: &AtomicBool,
    ) -> Result<Generated, LoadError> {
        let generator = Generator {
            threads,
            progress,
            stop,
        };
        Ok(match self {
            Self::Tpcc(config, _) => tpcc::generate(&generator, engine, config)?,
            Self::Oltp(config) => oltp::generate(&generator, engine, config)?,
            Self::Keys(config) => tables::generate(&generator, engine, config)?,
            Self::Friends(config) => tables::generate(&generator, engine, config)?,
            Self::Script(_) => return Err(LoadError::OwnSetup("generate")),
        })
    }

    /// Makes what it needs on the server beside its data, where it needs anything that is not there
    /// yet. Blocks; not for use within an async runtime.
    pub fn install(&self, connection: &Connection) -> Result<(), LoadError> {
        match self {
            Self::Tpcc(config, mode) => Ok(tpcc::install(connection, config, *mode)?),
            Self::Oltp(_) | Self::Keys(_) | Self::Friends(_) | Self::Script(_) => Ok(()),
        }
    }

    /// The workload's own conditions on its data. Blocks; not for use within an async runtime.
    pub fn check(&self, connection: &Connection, when: When) -> Result<Vec<Check>, CheckError> {
        match self {
            Self::Tpcc(config, _) => Ok(tpcc::check(connection, config, when)?),
            Self::Oltp(config) => Ok(oltp::check(connection, config, when)?),
            Self::Keys(config) => Ok(keys::check(connection, config, when)?),
            Self::Friends(config) => Ok(friends::check(connection, config, when)?),
            Self::Script(script) => {
                let reading = script.reading(connection.engine)?;
                let link = Link::open(&target(connection)?);
                let mut link = link.map_err(tpcc::ClientError::from)?;
                Ok(reading.check(&mut link)?)
            }
        }
    }

    /// Prepares one connection, for a user where there are times to think.
    pub(crate) async fn terminal(
        &self,
        session: Session,
        seed: u64,
        index: u32,
        think: Option<tpcc::Think>,
    ) -> Result<Terminal, PrepareError> {
        match self {
            Self::Tpcc(config, mode) => {
                let constants = tpcc::constants(config.seed);
                let terminal =
                    tpcc::Terminal::prepare(session, config, *mode, &constants, seed, index);
                let mut terminal = terminal.await.map_err(PrepareError::Wire)?;
                if let Some(think) = think {
                    terminal.seat(think, seed, index);
                }
                Ok(Terminal::Tpcc(Box::new(terminal)))
            }
            Self::Oltp(config) => {
                let terminal = oltp::Terminal::prepare(session, config, seed, index).await;
                Ok(Terminal::Oltp(Box::new(
                    terminal.map_err(PrepareError::Wire)?,
                )))
            }
            Self::Keys(config) => {
                let terminal = keys::Terminal::prepare(session, config, seed, index).await;
                Ok(Terminal::Keys(Box::new(
                    terminal.map_err(PrepareError::Wire)?,
                )))
            }
            Self::Friends(config) => {
                let terminal = friends::Terminal::prepare(session, config, seed, index).await;
                Ok(Terminal::Friends(Box::new(
                    terminal.map_err(PrepareError::Wire)?,
                )))
            }
            Self::Script(script) => {
                let terminal = script::Terminal::prepare(session, script, seed, index);
                Ok(Terminal::Script(Box::new(terminal.await?)))
            }
        }
    }
}

/// One connection of a workload: an enum, so that no future on the hot path is boxed.
#[derive(Debug)]
pub(crate) enum Terminal {
    Tpcc(Box<tpcc::Terminal>),
    Oltp(Box<oltp::Terminal>),
    Keys(Box<keys::Terminal>),
    Friends(Box<friends::Terminal>),
    Script(Box<script::Terminal>),
}

impl Terminal {
    /// Draws the next transaction and its input; returns its index.
    pub(crate) fn next(&mut self) -> usize {
        match self {
            Self::Tpcc(terminal) => terminal.next(),
            Self::Oltp(terminal) => terminal.next(),
            Self::Keys(terminal) => terminal.next(),
            Self::Friends(terminal) => terminal.next(),
            Self::Script(terminal) => terminal.next(),
        }
    }

    /// How long its user takes from the last transaction's end to the start of this one.
    pub(crate) fn wait_before(&mut self, kind: usize) -> Duration {
        match self {
            Self::Tpcc(terminal) => terminal.wait_before(kind),
            Self::Oltp(_) | Self::Keys(_) | Self::Friends(_) | Self::Script(_) => Duration::ZERO,
        }
    }

    /// One attempt at the transaction drawn last.
    pub(crate) async fn execute(&mut self) -> Result<End, Failure> {
        match self {
            Self::Tpcc(terminal) => terminal.execute().await.map_err(Failure::Wire),
            Self::Oltp(terminal) => terminal.execute().await.map_err(Failure::Wire),
            Self::Keys(terminal) => terminal.execute().await.map_err(Failure::Wire),
            Self::Friends(terminal) => terminal.execute().await.map_err(Failure::Wire),
            Self::Script(terminal) => terminal.execute().await,
        }
    }

    pub(crate) fn sent(&self) -> Sent {
        match self {
            Self::Tpcc(terminal) => terminal.sent(),
            Self::Oltp(terminal) => terminal.sent(),
            Self::Keys(terminal) => terminal.sent(),
            Self::Friends(terminal) => terminal.sent(),
            Self::Script(terminal) => terminal.sent(),
        }
    }

    /// Ends what a failed attempt left open.
    pub(crate) async fn rollback(&mut self) -> Result<(), WireError> {
        match self {
            Self::Tpcc(terminal) => terminal.rollback().await,
            Self::Oltp(terminal) => terminal.rollback().await,
            Self::Keys(terminal) => terminal.rollback().await,
            Self::Friends(terminal) => terminal.rollback().await,
            Self::Script(terminal) => terminal.rollback().await,
        }
    }

    pub(crate) async fn close(self) {
        match self {
            Self::Tpcc(terminal) => terminal.into_session().close().await,
            Self::Oltp(terminal) => terminal.into_session().close().await,
            Self::Keys(terminal) => terminal.into_session().close().await,
            Self::Friends(terminal) => terminal.into_session().close().await,
            Self::Script(terminal) => terminal.into_session().close().await,
        }
    }

    /// Whether a failed attempt left nothing behind, so that the same input may be tried again.
    pub(crate) fn may_retry(&self) -> bool {
        match self {
            Self::Tpcc(..) | Self::Keys(_) | Self::Friends(_) => true,
            Self::Oltp(terminal) => terminal.may_retry(),
            Self::Script(terminal) => terminal.may_retry(),
        }
    }

    /// Whether another attempt may pass, though the error is none that says so.
    pub(crate) fn is_collision(&self, error: &WireError) -> bool {
        matches!(self, Self::Oltp(_)) && oltp::Terminal::is_collision(error)
    }
}
