//! What can go wrong while loading, and what to do then.

use crate::tpcc;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// With what is wrong with it.
    #[error("cannot load the tables: {0}")]
    Config(String),
    #[error("cannot create table {0}: it is there already")]
    Exists(String),
    #[error(transparent)]
    Load(#[from] tpcc::LoadError),
}

impl LoadError {
    /// Whether the server's disk is full.
    #[must_use]
    pub fn is_disk_full(&self) -> bool {
        matches!(self, Self::Load(error) if error.is_disk_full())
    }

    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Config(_) => Some("choose another number"),
            Self::Exists(_) => {
                Some("choose an empty database, or remove an earlier load with bench clean")
            }
            Self::Load(error) if error.is_disk_full() => Some(
                "the server's disk is full: a million rows need about 250 MB, and on PostgreSQL as \
                 much write-ahead log; choose fewer rows or a larger disk",
            ),
            Self::Load(error) => error.hint(),
        }
    }
}
