//! The store: one set of operations over SQLite and PostgreSQL.

use std::path::{Path, PathBuf};
use std::time::Duration;

use dbdyno_model::{Run, Tune};

use crate::document::{check, pack, parse, run_of, unpack, unpack_run};
use crate::engine::{Added, Engine, StoredRun};
use crate::error::StoreError;
use crate::postgres::Postgres;
use crate::resolve::{Miss, resolve};
use crate::row::{RunRow, TrialRow, column};
use crate::sqlite::Sqlite;
use crate::summary::Summary;

/// How long another program may hold a lock.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// Trials with their runs and verdicts, in one place.
#[derive(Debug)]
pub struct Store {
    engine: Box<dyn Engine>,
}

/// A damaged store that was put aside, with its -wal and -shm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    pub from: PathBuf,
    pub to: PathBuf,
}

impl Store {
    /// Opens the file, or makes it (mode 0600, in directories of mode 0700).
    ///
    /// A file that is damaged is moved aside, never removed, and a new one begun.
    ///
    /// # Errors
    /// For a store of a newer dbdyno and for a database of something else, which both stay as they
    /// are, and where the file cannot be read and written.
    pub fn sqlite(path: &Path) -> Result<(Self, Option<Moved>), StoreError> {
        let (sqlite, moved) = Sqlite::open(path, PATIENCE)?;
        Ok((Self::over(sqlite), moved))
    }

    /// Uses the schema `dbdyno` of the database that the client is connected to, or makes it.
    ///
    /// # Errors
    /// For a store of a newer dbdyno and for a schema of something else, which both stay as they are,
    /// and where the role lacks a privilege.
    pub fn postgres(client: postgres::Client) -> Result<Self, StoreError> {
        Ok(Self::over(Postgres::open(client, PATIENCE)?))
    }

    fn over(engine: impl Engine + 'static) -> Self {
        Self {
            engine: Box::new(engine),
        }
    }

    /// Stores a trial with exactly its runs, in the place of what was stored of the same trial.
    ///
    /// # Errors
    /// `NameTaken` where another trial has the name: one that started at another time or by another
    /// command.
    pub fn save(&mut self, tune: &Tune) -> Result<(), StoreError> {
        check("the trial", tune)?;
        let runs: Vec<RunRow> = tune
            .runs
            .iter()
            .map(|run| RunRow::new(&tune.name, run))
            .collect::<Result<_, _>>()?;
        if self.engine.save(&TrialRow::new(tune)?, &runs)? {
            return Ok(());
        }
        Err(StoreError::NameTaken {
            name: tune.name.clone(),
            location: self.engine.location().clone(),
        })
    }

    /// Adds a run to a stored trial. It is on the disk when this returns; the same run may be added
    /// again.
    ///
    /// # Errors
    /// `RunTaken` where the trial has another run of this number.
    pub fn add_run(&mut self, trial: &str, run: &Run) -> Result<(), StoreError> {
        match self.engine.add_run(trial, &RunRow::new(trial, run)?)? {
            Added::Yes => Ok(()),
            Added::NoTrial => Err(self.not_found(trial, false)),
            // Whether the first attempt arrived is unknown to whoever lost the connection.
            Added::Taken(document) if unpack_run(&document).as_ref() == Ok(run) => Ok(()),
            Added::Taken(_) => Err(StoreError::RunTaken {
                trial: trial.to_owned(),
                number: run.number,
                location: self.engine.location().clone(),
            }),
        }
    }

    /// Marks the runs of a pair that are not yet marked.
    ///
    /// # Errors
    /// `NotFound` where there is no such trial; a pair without runs is none.
    pub fn discard_pair(&mut self, trial: &str, pair: u32, why: &str) -> Result<(), StoreError> {
        let location = self.engine.location().clone();
        let rewrite = |number: u32, document: &[u8]| {
            let what = run_of(trial, number);
            let mut run = unpack_run(document).map_err(|message| StoreError::Damaged {
                operation: "discard a pair in",
                location: location.clone(),
                message: format!("{what}: {message}"),
            })?;
            run.discarded = Some(why.to_owned());
            pack(&what, &run)
        };
        if self
            .engine
            .discard_pair(trial, pair, &column(why), &rewrite)?
        {
            return Ok(());
        }
        Err(self.not_found(trial, false))
    }

    /// Reads a trial with its runs, in the order of their numbers.
    ///
    /// # Errors
    /// `NotFound`; `Document` where a newer dbdyno saved it; `Damaged` where a part cannot be read.
    pub fn load(&mut self, name: &str) -> Result<Tune, StoreError> {
        let Some(stored) = self.engine.load(name)? else {
            return Err(self.not_found(name, false));
        };
        let damaged = |message: String| StoreError::Damaged {
            operation: "load a trial from",
            location: self.engine.location().clone(),
            message,
        };
        let header = unpack(&stored.header).map_err(|why| damaged(format!("{name}: {why}")))?;
        let mut tune = parse(name, &header)?;
        for row in &stored.runs {
            let run = read_run(row)
                .map_err(|why| damaged(format!("{}: {why}", run_of(name, row.number))))?;
            tune.runs.push(run);
        }
        Ok(tune)
    }

    /// The name of the trial that is meant: a name, its only possible beginning, its last part, or
    /// `latest`.
    ///
    /// # Errors
    /// `NotFound`, and `Ambiguous` with the trials that it may be.
    pub fn resolve(&mut self, text: &str) -> Result<String, StoreError> {
        let names = self.engine.names()?;
        resolve(text, &names).map_err(|miss| match miss {
            Miss::None => self.not_found(text, names.is_empty()),
            Miss::Several(candidates) => StoreError::Ambiguous {
                text: text.to_owned(),
                candidates,
            },
        })
    }

    /// All trials, newest first. No document is read for it.
    pub fn list(&mut self) -> Result<Vec<Summary>, StoreError> {
        self.engine.list()
    }

    /// Removes a trial with its runs.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn remove(&mut self, name: &str) -> Result<(), StoreError> {
        if self.engine.remove(name)? {
            return Ok(());
        }
        Err(self.not_found(name, false))
    }

    fn not_found(&self, name: &str, is_empty: bool) -> StoreError {
        StoreError::NotFound {
            name: name.to_owned(),
            location: self.engine.location().clone(),
            is_empty,
        }
    }
}

/// The run, if its document and its columns tell the same.
fn read_run(row: &StoredRun) -> Result<Run, String> {
    let run = unpack_run(&row.document)?;
    if run.number != row.number {
        return Err(format!("its document is that of run {}", run.number));
    }
    if run.discarded.as_deref().map(column) != row.discarded {
        return Err("its document and its column `discarded` tell different things".to_owned());
    }
    Ok(run)
}
