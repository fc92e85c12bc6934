//! Why a load could not start or did not end as meant, and what to do next.

use super::connect::TargetError;
use super::observed::Observed;
use super::tls;
use crate::script::ScriptError;
use crate::wire::{ServerError, WireError};

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DriverError {
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error("cannot connect to {server}: {source}")]
    Connect { server: String, source: WireError },
    #[error("cannot prepare the workload's statements: {0}")]
    Prepare(#[source] WireError),
    #[error(transparent)]
    Script(#[from] ScriptError),
    #[error("cannot start a driver thread: {0}")]
    Thread(#[from] std::io::Error),
    #[error(
        "{connections} connections need {needed} open files, and this process may have {limit}"
    )]
    OpenFiles {
        connections: u32,
        needed: u64,
        limit: u64,
    },
    #[error("a rate of {0} transactions a second cannot be driven")]
    Rate(f64),
    #[error("{0} has no keying and think times")]
    NoUsers(String),
    #[error("users need {needed} terminals, ten for each warehouse, and {connections} were given")]
    Terminals { needed: u32, connections: u32 },
    /// With what was measured until then.
    #[error("the server closed the connection: {reason}")]
    ServerGone {
        reason: String,
        observed: Option<Box<Observed>>,
    },
    /// With what was measured until then.
    #[error("interrupted")]
    Interrupted { observed: Option<Box<Observed>> },
    #[error("a transaction could not be sent: {0}")]
    Unsent(String),
    #[error("a driver thread ended by itself; this is a defect of dbdyno")]
    Panicked,
    /// What ended the load while it was measured, with what was measured until then.
    #[error("{error}")]
    Broken {
        error: Box<DriverError>,
        observed: Option<Box<Observed>>,
    },
}

impl DriverError {
    /// The next step, for those errors that have one.
    pub fn hint(&self) -> Option<&str> {
        Some(match self {
            Self::Target(error) => return error.hint(),
            Self::Connect { server, source } => connect_hint(server, source),
            Self::Prepare(source) => match source.server().map(|error| error.sqlstate.as_str()) {
                Some("42P01" | "42703" | "42S02") => "load the workload's data first",
                _ if number(source) == Some(TOO_MANY_STATEMENTS) => {
                    "raise max_prepared_stmt_count, or use fewer connections or sets of tables"
                }
                _ => return source.server().and_then(ServerError::read_only_hint),
            },
            Self::Script(error) => return error.hint(),
            Self::Thread(_) => "raise the limits on processes and open files (ulimit -u, -n)",
            Self::OpenFiles { .. } => {
                "raise the hard limit (ulimit -Hn, or LimitNOFILE= of the unit), or use fewer connections"
            }
            Self::Rate(_) => "give a rate above 0",
            Self::NoUsers(_) => "drive it without think times; tpcc has them",
            Self::Terminals { .. } => "make as many connections as there are terminals",
            Self::ServerGone { .. } => "look at the end of the server's log for why it stopped",
            Self::Broken { error, .. } => return error.hint(),
            Self::Interrupted { .. } | Self::Unsent(_) | Self::Panicked => return None,
        })
    }

    /// What was measured before the error, taken out of it.
    pub fn take_observed(&mut self) -> Option<Observed> {
        match self {
            Self::ServerGone { observed, .. }
            | Self::Interrupted { observed }
            | Self::Broken { observed, .. } => observed.take().map(|observed| *observed),
            _ => None,
        }
    }
}

/// What to do about a connection that cannot be made. The server is shown as for [`tls::hint`].
pub(crate) fn connect_hint(server: &str, source: &WireError) -> &'static str {
    if let Some(hint) = tls::hint(server, source) {
        return hint;
    }
    let limit = source.server().and_then(ServerError::connection_limit_hint);
    if let Some(hint) = limit {
        return hint;
    }
    let sqlstate = source.server().map(|error| error.sqlstate.as_str());
    let denied = ServerError::denied_hint(number(source), sqlstate.unwrap_or_default());
    if let Some(hint) = denied {
        return hint;
    }
    match sqlstate {
        _ if number(source) == Some(UNKNOWN_DATABASE) => "create the database, or name another",
        Some("3D000") => "create the database, or name another",
        _ => "check that the server runs and that address and port are right",
    }
}

/// The client library's own words are as vague as "db error": what it wraps says what happened.
pub(crate) fn deepest(error: &tokio_postgres::Error) -> String {
    use std::error::Error as _;
    match (error.as_db_error(), error.source()) {
        (Some(server), _) => format!("{} ({})", server.message(), server.code().code()),
        (None, Some(cause)) => cause.to_string(),
        (None, None) => error.to_string(),
    }
}

/// MySQL's for what is beyond max_prepared_stmt_count.
const TOO_MANY_STATEMENTS: u16 = 1461;

/// MySQL's for what PostgreSQL calls 3D000.
const UNKNOWN_DATABASE: u16 = 1049;

fn number(error: &WireError) -> Option<u16> {
    error.server()?.number
}

/// What an error means for the transaction and for the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Severity {
    /// A deadlock, a serialization failure, or a lock that InnoDB has waited for too long: the same
    /// transaction may pass the next time.
    Retry,
    /// The server refused this transaction.
    Transaction,
    /// The connection is lost.
    Gone,
    /// Never reached the server: the next one would fail in the same way.
    Client,
}

pub(crate) fn severity(error: &WireError) -> Severity {
    match error {
        WireError::Server(error) if error.fatal => Severity::Gone,
        WireError::Server(error) => match error.sqlstate.as_str() {
            "40P01" | "40001" => Severity::Retry,
            // MariaDB's serialization failure and both servers' ER_LOCK_WAIT_TIMEOUT have no SQLSTATE
            // of their own; a deadlock (1213) has 40001.
            _ if matches!(error.number, Some(1020 | 1205)) => Severity::Retry,
            // Shutdown by an administrator, after a crash, or still starting.
            "57P01" | "57P02" | "57P03" => Severity::Gone,
            _ => Severity::Transaction,
        },
        WireError::Closed | WireError::Io { .. } | WireError::Tls(_) => Severity::Gone,
        _ => Severity::Client,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(sqlstate: &str, number: Option<u16>) -> WireError {
        let error = ServerError {
            sqlstate: sqlstate.to_owned(),
            number,
            message: String::new(),
            hint: None,
            fatal: false,
        };
        error.into()
    }

    #[test]
    fn what_others_were_quicker_with_is_tried_again() {
        for (sqlstate, number) in [
            ("40001", None),
            ("40P01", None),
            ("40001", Some(1213)),
            ("HY000", Some(1205)),
            ("HY000", Some(1020)),
        ] {
            let error = refused(sqlstate, number);
            assert_eq!(severity(&error), Severity::Retry, "{sqlstate} {number:?}");
        }
        for (sqlstate, number) in [("23505", None), ("23000", Some(1062)), ("55P03", None)] {
            let error = refused(sqlstate, number);
            assert_eq!(severity(&error), Severity::Transaction, "{sqlstate}");
        }
        assert_eq!(severity(&refused("57P01", None)), Severity::Gone);
    }

    #[test]
    fn a_connection_that_is_refused_has_a_hint_of_its_own() {
        let hint = |sqlstate: &str, number| {
            let source = refused(sqlstate, number);
            let server = "mysql://app@host:3306/shop".to_owned();
            DriverError::Connect { server, source }
                .hint()
                .unwrap_or_default()
                .to_owned()
        };
        assert!(hint("HY000", Some(1040)).contains("max_connections"));
        assert!(hint("42000", Some(1203)).contains("max_user_connections"));
        assert!(hint("42000", Some(1226)).contains("MAX_USER_CONNECTIONS"));
        assert!(hint("42000", Some(1049)).contains("create the database"));
        assert!(hint("28000", Some(1045)).contains("ssl-mode=REQUIRED"));
        assert_eq!(hint("28P01", None), "check the user and the password");
    }

    #[test]
    fn too_many_statements_have_a_hint() {
        let hint = |number| {
            let error = DriverError::Prepare(refused("42000", Some(number)));
            error.hint().map(str::to_owned)
        };
        assert!(hint(1461).is_some_and(|hint| hint.contains("max_prepared_stmt_count")));
        assert_eq!(hint(1064), None);
    }
}
