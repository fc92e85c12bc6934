//! Why a server's facts, or one subject of them, could not be read.

use std::error::Error as _;

#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    #[error("cannot read the version of the server: {}", describe(.0))]
    Version(::postgres::Error),
    #[error("PostgreSQL {version} is not supported: dbdyno reads {OLDEST} to {NEWEST}")]
    TooOld { version: String },
    #[error("the server speaks PostgreSQL's protocol but is not PostgreSQL: {version}")]
    NotPostgres { version: String },
    #[error("the connection to the server was lost while reading {subject}: {}", describe(.source))]
    Lost {
        subject: &'static str,
        source: ::postgres::Error,
    },
    #[error("cannot prepare the session: {}", describe(.0))]
    Session(::postgres::Error),
    #[error("cannot read the server's counters: {}", describe(.0))]
    Counters(::postgres::Error),
}

impl CollectError {
    /// What to do next, where there is something to say.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::TooOld { .. } => Some(format!("PostgreSQL {OLDEST} is the oldest that is read")),
            Self::Lost { .. } => Some("the server's log says whether it went down".into()),
            _ => None,
        }
    }
}

/// Oldest and newest major version that is tested.
pub const OLDEST: u32 = 13;
pub const NEWEST: u32 = 18;

/// The server's own words, or the driver's with their cause.
pub(super) fn describe(error: &::postgres::Error) -> String {
    match (error.as_db_error(), error.source()) {
        (Some(answer), _) => answer.message().to_owned(),
        (None, Some(source)) => format!("{error}: {source}"),
        (None, None) => error.to_string(),
    }
}
