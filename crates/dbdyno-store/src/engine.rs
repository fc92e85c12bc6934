//! What a store asks of a database; each call is one transaction.

use std::fmt;

use crate::error::{Location, StoreError};
use crate::row::{RunRow, TrialRow};
use crate::summary::Summary;

pub(crate) trait Engine: fmt::Debug + Send {
    fn location(&self) -> &Location;

    /// Puts the trial with exactly these runs in the place of the same trial; false where the name
    /// is another's.
    fn save(&mut self, trial: &TrialRow, runs: &[RunRow]) -> Result<bool, StoreError>;

    fn add_run(&mut self, trial: &str, run: &RunRow) -> Result<Added, StoreError>;

    /// Marks the runs of the pair that are not yet marked; false where there is no such trial.
    fn discard_pair(
        &mut self,
        trial: &str,
        pair: u32,
        why: &str,
        rewrite: &Rewrite<'_>,
    ) -> Result<bool, StoreError>;

    fn load(&mut self, name: &str) -> Result<Option<Stored>, StoreError>;

    /// Newest first.
    fn names(&mut self) -> Result<Vec<String>, StoreError>;

    /// Newest first.
    fn list(&mut self) -> Result<Vec<Summary>, StoreError>;

    /// False where there is no such trial.
    fn remove(&mut self, name: &str) -> Result<bool, StoreError>;
}

/// Makes the new document of a run from its number and its old one.
pub(crate) type Rewrite<'a> = dyn Fn(u32, &[u8]) -> Result<Vec<u8>, StoreError> + 'a;

/// What became of a run.
#[derive(Debug)]
pub(crate) enum Added {
    Yes,
    NoTrial,
    /// There is a run of this number, with this document.
    Taken(Vec<u8>),
}

/// A trial as it is stored.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) header: Vec<u8>,
    /// In the order of their numbers.
    pub(crate) runs: Vec<StoredRun>,
}

#[derive(Debug)]
pub(crate) struct StoredRun {
    pub(crate) number: u32,
    pub(crate) discarded: Option<String>,
    pub(crate) document: Vec<u8>,
}

/// An error of the database, or one of ours from within its transaction.
#[derive(Debug)]
pub(crate) enum Failure<E> {
    Database(E),
    /// A row that dbdyno did not write.
    Undecoded(String),
    Ours(StoreError),
}

impl<E> Failure<E> {
    /// In the user's terms, which the database's own errors get from `of_database`.
    pub(crate) fn explain(
        self,
        operation: &'static str,
        location: &Location,
        of_database: impl FnOnce(&E) -> StoreError,
    ) -> StoreError {
        match self {
            Self::Database(error) => of_database(&error),
            Self::Undecoded(message) => StoreError::Damaged {
                operation,
                location: location.clone(),
                message,
            },
            Self::Ours(error) => error,
        }
    }
}

impl<E> From<StoreError> for Failure<E> {
    fn from(error: StoreError) -> Self {
        Self::Ours(error)
    }
}
