//! A store in one SQLite file.

mod damage;
mod failure;
mod migrate;
mod open;
mod rows;
mod statements;

use std::path::PathBuf;
use std::time::Duration;

use rusqlite::{Connection, Error};

use crate::engine::{Added, Engine, Failure, Rewrite, Stored};
use crate::error::{Location, StoreError};
use crate::row::{RunRow, TrialRow};
use crate::summary::Summary;

#[derive(Debug)]
pub(crate) struct Sqlite {
    connection: Connection,
    location: Location,
    path: PathBuf,
    patience: Duration,
}

impl Sqlite {
    fn explain(&self, operation: &'static str, failure: Failure<Error>) -> StoreError {
        failure.explain(operation, &self.location, |error| {
            failure::explain(operation, &self.path, self.patience, error)
        })
    }
}

impl Engine for Sqlite {
    fn location(&self) -> &Location {
        &self.location
    }

    fn save(&mut self, trial: &TrialRow, runs: &[RunRow]) -> Result<bool, StoreError> {
        rows::save(&mut self.connection, trial, runs)
            .map_err(|error| self.explain("save a trial to", error.into()))
    }

    fn add_run(&mut self, trial: &str, run: &RunRow) -> Result<Added, StoreError> {
        rows::add_run(&mut self.connection, trial, run)
            .map_err(|error| self.explain("add a run to", error.into()))
    }

    fn discard_pair(
        &mut self,
        trial: &str,
        pair: u32,
        why: &str,
        rewrite: &Rewrite<'_>,
    ) -> Result<bool, StoreError> {
        rows::discard_pair(&mut self.connection, trial, pair, why, rewrite)
            .map_err(|failure| self.explain("discard a pair in", failure))
    }

    fn load(&mut self, name: &str) -> Result<Option<Stored>, StoreError> {
        rows::load(&mut self.connection, name)
            .map_err(|error| self.explain("load a trial from", error.into()))
    }

    fn names(&mut self) -> Result<Vec<String>, StoreError> {
        rows::names(&self.connection)
            .map_err(|error| self.explain("list the trials of", error.into()))
    }

    fn list(&mut self) -> Result<Vec<Summary>, StoreError> {
        rows::list(&self.connection).map_err(|failure| self.explain("list the trials of", failure))
    }

    fn remove(&mut self, name: &str) -> Result<bool, StoreError> {
        rows::remove(&self.connection, name)
            .map_err(|error| self.explain("remove a trial from", error.into()))
    }
}
