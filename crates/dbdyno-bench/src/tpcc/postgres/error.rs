//! What can go wrong while loading, and what to do then.

use postgres::error::SqlState;

use crate::tpcc::MAX_WAREHOUSES;

#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("cannot load {0} warehouses: between 1 and {MAX_WAREHOUSES} are possible")]
    Warehouses(u32),
    #[error("cannot connect to {server}")]
    Connect {
        server: String,
        source: postgres::Error,
    },
    #[error("cannot create table {table}: it is there already")]
    Exists {
        table: &'static str,
        source: postgres::Error,
    },
    #[error("cannot {operation} {object}")]
    Sql {
        operation: &'static str,
        object: String,
        source: postgres::Error,
    },
    #[error("the load was stopped")]
    Stopped,
}

impl LoadError {
    /// Whether the server's disk is full.
    #[must_use]
    pub fn is_disk_full(&self) -> bool {
        self.code() == Some(&SqlState::DISK_FULL)
    }

    /// Whether this only followed from another thread's failure or from the wish to stop.
    pub(crate) fn is_interruption(&self) -> bool {
        matches!(self, Self::Stopped) || self.code() == Some(&SqlState::QUERY_CANCELED)
    }

    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Warehouses(_) => Some("choose another number of warehouses"),
            Self::Connect { .. } => Some("check that the server runs and admits this user"),
            Self::Exists { .. } => {
                Some("choose an empty database, or remove an earlier load with bench clean")
            }
            Self::Stopped => Some("bench clean removes what was loaded so far"),
            Self::Sql { .. } => match self.code() {
                Some(code) if *code == SqlState::DISK_FULL => Some(
                    "the server's disk is full: a warehouse needs about 100 MB beside as much \
                     write-ahead log; choose fewer warehouses or a larger disk",
                ),
                Some(code) if *code == SqlState::INSUFFICIENT_PRIVILEGE => {
                    Some("the user needs CREATE on the schema")
                }
                _ => None,
            },
        }
    }

    fn code(&self) -> Option<&SqlState> {
        match self {
            Self::Connect { source, .. }
            | Self::Exists { source, .. }
            | Self::Sql { source, .. } => source.code(),
            Self::Warehouses(_) | Self::Stopped => None,
        }
    }
}
