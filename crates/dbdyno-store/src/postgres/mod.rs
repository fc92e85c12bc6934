//! A store in the schema `dbdyno` of a PostgreSQL database.

mod failure;
mod migrate;
mod open;
mod rows;
mod statements;

use std::fmt;
use std::time::Duration;

use ::postgres::{Client, Error};

use crate::engine::{Added, Engine, Failure, Rewrite, Stored};
use crate::error::{Location, StoreError};
use crate::row::{RunRow, TrialRow};
use crate::summary::Summary;

pub(crate) struct Postgres {
    client: Client,
    location: Location,
    patience: Duration,
}

impl Postgres {
    fn explain(&self, operation: &'static str, failure: Failure<Error>) -> StoreError {
        failure.explain(operation, &self.location, |error| {
            failure::explain(operation, &self.location, self.patience, error)
        })
    }
}

impl fmt::Debug for Postgres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Postgres")
            .field("location", &self.location)
            .finish_non_exhaustive()
    }
}

impl Engine for Postgres {
    fn location(&self) -> &Location {
        &self.location
    }

    fn save(&mut self, trial: &TrialRow, runs: &[RunRow]) -> Result<bool, StoreError> {
        rows::save(&mut self.client, trial, runs)
            .map_err(|error| self.explain("save a trial to", error.into()))
    }

    fn add_run(&mut self, trial: &str, run: &RunRow) -> Result<Added, StoreError> {
        rows::add_run(&mut self.client, trial, run)
            .map_err(|error| self.explain("add a run to", error.into()))
    }

    fn discard_pair(
        &mut self,
        trial: &str,
        pair: u32,
        why: &str,
        rewrite: &Rewrite<'_>,
    ) -> Result<bool, StoreError> {
        rows::discard_pair(&mut self.client, trial, pair, why, rewrite)
            .map_err(|failure| self.explain("discard a pair in", failure))
    }

    fn load(&mut self, name: &str) -> Result<Option<Stored>, StoreError> {
        rows::load(&mut self.client, name)
            .map_err(|failure| self.explain("load a trial from", failure))
    }

    fn names(&mut self) -> Result<Vec<String>, StoreError> {
        rows::names(&mut self.client)
            .map_err(|error| self.explain("list the trials of", error.into()))
    }

    fn list(&mut self) -> Result<Vec<Summary>, StoreError> {
        rows::list(&mut self.client).map_err(|failure| self.explain("list the trials of", failure))
    }

    fn remove(&mut self, name: &str) -> Result<bool, StoreError> {
        rows::remove(&mut self.client, name)
            .map_err(|error| self.explain("remove a trial from", error.into()))
    }
}
