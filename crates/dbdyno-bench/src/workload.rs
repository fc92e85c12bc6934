//! The loads there are, and one connection of each: what the driver sees of them.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use dbdyno_model::connection::Connection;
use dbdyno_model::run::Check;
use tokio_postgres::Client;

use crate::driver::{TlsUnsupported, client_config, deepest};
use crate::script::{self, Script, ScriptError};
use crate::tpcc;
pub(crate) use crate::tpcc::postgres::End;
pub use crate::tpcc::{Loaded, Progress, When};

/// A named load. Cheap to clone.
#[derive(Debug, Clone)]
pub enum Workload {
    Tpcc(tpcc::Config),
    Script(Arc<Script>),
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    #[error(transparent)]
    Tpcc(#[from] tpcc::LoadError),
    #[error(transparent)]
    Script(#[from] ScriptError),
    #[error(transparent)]
    Tls(#[from] TlsUnsupported),
    #[error("cannot connect to {server}: {}", deepest(.source))]
    Connect {
        server: String,
        source: postgres::Error,
    },
    #[error("the load was stopped")]
    Stopped,
}

impl LoadError {
    /// The next step, for those errors that have one.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Tpcc(error) => error.hint(),
            Self::Script(error) => error.hint(),
            Self::Tls(_) => Some("connect over the unix socket, or with sslmode=disable"),
            Self::Connect { .. } => Some("check that the server runs and admits this user"),
            Self::Stopped => Some("what the setup made until then is left behind"),
        }
    }
}

/// A check could not be made, which is not the same as one that failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckError {
    #[error(transparent)]
    Tls(#[from] TlsUnsupported),
    #[error("cannot check the data: {}", deepest(.0))]
    Sql(#[from] postgres::Error),
}

impl Workload {
    /// `tpcc`, or the script's file.
    pub fn name(&self) -> &str {
        match self {
            Self::Tpcc(_) => "tpcc",
            Self::Script(script) => script.file(),
        }
    }

    pub fn description(&self) -> String {
        match self {
            Self::Tpcc(config) => {
                let plural = if config.warehouses == 1 { "" } else { "s" };
                format!(
                    "TPC-C, {} warehouse{plural}, no think time",
                    config.warehouses
                )
            }
            Self::Script(script) => {
                format!("{}: {}", script.file(), script.transactions().join(", "))
            }
        }
    }

    /// Names of the transactions, in the order of all that is measured by transaction.
    pub fn transactions(&self) -> Vec<String> {
        match self {
            Self::Tpcc(_) => tpcc::TRANSACTIONS
                .iter()
                .map(|&name| name.to_owned())
                .collect(),
            Self::Script(script) => script.transactions(),
        }
    }

    /// Whether it changes data, so that each run needs a fresh copy and pays for checkpoints.
    pub fn writes(&self) -> bool {
        match self {
            Self::Tpcc(_) => true,
            Self::Script(script) => script.writes(),
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
            Self::Tpcc(config) => {
                return Ok(tpcc::load(connection, config, threads, progress, stop)?);
            }
            Self::Script(script) => script,
        };
        let started = Instant::now();
        let config = postgres::Config::from(client_config(connection)?);
        let mut client = config
            .connect(postgres::NoTls)
            .map_err(|source| LoadError::Connect {
                server: connection.display(),
                source,
            })?;
        let mut statements = 0;
        let complete = script.set_up(&mut client, stop, &mut |done, total| {
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

    /// The workload's own conditions on its data. Blocks; not for use within an async runtime.
    pub fn check(&self, connection: &Connection, when: When) -> Result<Vec<Check>, CheckError> {
        match self {
            Self::Tpcc(_) => Ok(tpcc::check(connection, when)?),
            Self::Script(script) => {
                let config = postgres::Config::from(client_config(connection)?);
                let mut client = config.connect(postgres::NoTls)?;
                Ok(script.check(&mut client)?)
            }
        }
    }

    /// Prepares one connection.
    pub(crate) async fn terminal(
        &self,
        client: Client,
        seed: u64,
        index: u32,
    ) -> Result<Terminal, PrepareError> {
        match self {
            Self::Tpcc(config) => {
                let constants = tpcc::constants(config.seed);
                let terminal =
                    tpcc::postgres::Terminal::prepare(client, config, &constants, seed, index);
                Ok(Terminal::Tpcc(Box::new(
                    terminal.await.map_err(PrepareError::Postgres)?,
                )))
            }
            Self::Script(script) => {
                let terminal = script::Terminal::prepare(client, Arc::clone(script), seed, index);
                Ok(Terminal::Script(Box::new(terminal.await?)))
            }
        }
    }
}

#[derive(Debug)]
pub(crate) enum PrepareError {
    Postgres(tokio_postgres::Error),
    Script(ScriptError),
}

/// Why an attempt at a transaction did not end.
#[derive(Debug)]
pub(crate) enum Failure {
    Postgres(tokio_postgres::Error),
    /// It could not be drawn or sent; the next one would fail too.
    Script(ScriptError),
}

/// One connection of a workload: an enum, so that no future on the hot path is boxed.
#[derive(Debug)]
pub(crate) enum Terminal {
    Tpcc(Box<tpcc::postgres::Terminal>),
    Script(Box<script::Terminal>),
}

impl Terminal {
    /// Draws the next transaction and its input; returns its index.
    pub(crate) fn next(&mut self) -> usize {
        match self {
            Self::Tpcc(terminal) => terminal.next(),
            Self::Script(terminal) => terminal.next(),
        }
    }

    /// One attempt at the transaction drawn last.
    pub(crate) async fn execute(&mut self) -> Result<End, Failure> {
        match self {
            Self::Tpcc(terminal) => terminal.execute().await.map_err(Failure::Postgres),
            Self::Script(terminal) => terminal.execute().await,
        }
    }

    /// Ends what a failed attempt left open.
    pub(crate) async fn rollback(&mut self) -> Result<(), tokio_postgres::Error> {
        match self {
            Self::Tpcc(terminal) => terminal.rollback().await,
            Self::Script(terminal) => terminal.rollback().await,
        }
    }

    /// Whether a failed attempt left nothing behind, so that the same input may be tried again.
    pub(crate) fn may_retry(&self) -> bool {
        match self {
            Self::Tpcc(_) => true,
            Self::Script(terminal) => terminal.may_retry(),
        }
    }
}
