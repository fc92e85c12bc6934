//! What can go wrong between us and a server.

use std::io;

/// A server's own refusal of a command.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} ({})", self.code())]
pub struct ServerError {
    /// Five characters; MySQL and MariaDB send one too.
    pub sqlstate: String,
    /// MySQL's and MariaDB's error number.
    pub number: Option<u16>,
    pub message: String,
    /// The server's advice, where it has any.
    pub hint: Option<String>,
    /// The connection is lost with it: PostgreSQL's FATAL and PANIC.
    pub fatal: bool,
}

impl ServerError {
    /// What errors are counted by: the number where there is one, else the SQLSTATE.
    #[must_use]
    pub fn code(&self) -> String {
        match self.number {
            Some(number) => number.to_string(),
            None => self.sqlstate.clone(),
        }
    }

    /// What to do where there are as many connections as there may be: the limit has a name.
    pub(crate) fn connection_limit_hint(&self) -> Option<&'static str> {
        const TOO_MANY_CONNECTIONS: u16 = 1040;
        const TOO_MANY_OF_A_USER: u16 = 1203;
        const ACCOUNT_LIMIT: u16 = 1226;
        Some(match (self.number, self.sqlstate.as_str()) {
            (None, "53300") | (Some(TOO_MANY_CONNECTIONS), _) => {
                "raise max_connections, or use fewer connections"
            }
            (Some(TOO_MANY_OF_A_USER), _) => "raise max_user_connections, or use fewer connections",
            (Some(ACCOUNT_LIMIT), _) => account_limit_hint(&self.message),
            _ => return None,
        })
    }

    /// What to do where nobody is let in by that name and password.
    pub(crate) fn denied_hint(number: Option<u16>, sqlstate: &str) -> Option<&'static str> {
        const ACCESS_DENIED: u16 = 1045;
        match (number, sqlstate) {
            (Some(ACCESS_DENIED), _) => Some(
                "check the user and the password; MariaDB says the same where it demands TLS \
                 (ssl-mode=REQUIRED)",
            ),
            (_, "28P01" | "28000") => Some("check the user and the password"),
            _ => None,
        }
    }

    /// Whether PostgreSQL's pg_hba.conf does not let the connection in.
    pub(crate) fn is_hba(&self) -> bool {
        Self::names_hba(&self.sqlstate, &self.message)
    }

    /// One code has two causes; the file's name survives every translation.
    pub(crate) fn names_hba(sqlstate: &str, message: &str) -> bool {
        sqlstate == "28000" && message.contains("pg_hba.conf")
    }
}

/// One number for four limits; the message names which, each server in its own way.
fn account_limit_hint(message: &str) -> &'static str {
    if message.contains("max_connections_per_hour") {
        "raise the account's MAX_CONNECTIONS_PER_HOUR (ALTER USER), or wait until the hour is over"
    } else if message.contains("max_questions") || message.contains("max_queries_per_hour") {
        "raise the account's MAX_QUERIES_PER_HOUR (ALTER USER), or wait until the hour is over"
    } else if message.contains("max_updates") {
        "raise the account's MAX_UPDATES_PER_HOUR (ALTER USER), or wait until the hour is over"
    } else {
        "raise the account's MAX_USER_CONNECTIONS (ALTER USER), or use fewer connections"
    }
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    #[error("cannot {operation}: {source}")]
    Io {
        operation: &'static str,
        source: io::Error,
    },
    #[error("the server closed the connection")]
    Closed,
    #[error(transparent)]
    Server(Box<ServerError>),
    /// What the server sent, or was asked for, lies outside the protocol as it is spoken here.
    #[error("{0}")]
    Protocol(String),
    /// Before a connection is ready: the way in is not one that is spoken here.
    #[error("cannot authenticate: {0}")]
    Authentication(String),
    /// Before a connection is ready: it has to be encrypted, and the server cannot.
    #[error("TLS is required, and the server does not speak TLS")]
    TlsNotOffered,
    /// The server's certificate is not accepted, or the two sides do not agree on how to encrypt.
    #[error("TLS failed: {0}")]
    Tls(#[source] rustls::Error),
    /// A parameter or column has a type other than the one that the statement was written for.
    #[error("{0}")]
    Type(String),
}

impl WireError {
    pub(crate) fn protocol(message: impl Into<String>) -> Self {
        Self::Protocol(message.into())
    }

    /// What the server itself said.
    #[must_use]
    pub fn server(&self) -> Option<&ServerError> {
        match self {
            Self::Server(error) => Some(error),
            _ => None,
        }
    }

    pub(crate) fn io(operation: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { operation, source }
    }
}

impl From<ServerError> for WireError {
    fn from(error: ServerError) -> Self {
        Self::Server(Box::new(error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_on_connections_is_named() {
        let hint = |number, sqlstate: &str, message: &str| {
            let error = ServerError {
                sqlstate: sqlstate.to_owned(),
                number,
                message: message.to_owned(),
                hint: None,
                fatal: false,
            };
            error.connection_limit_hint().unwrap_or_default()
        };
        let exceeded = |what: &str| format!("User 'app' has exceeded the '{what}' resource");
        // Before its greeting the server tells no SQLSTATE.
        assert!(hint(Some(1040), "HY000", "Too many connections").contains("max_connections"));
        assert!(hint(Some(1040), "08004", "Too many connections").contains("max_connections"));
        assert!(hint(None, "53300", "").contains("max_connections"));
        assert!(hint(Some(1203), "42000", "").contains("max_user_connections"));
        for (resource, name) in [
            ("max_user_connections", "MAX_USER_CONNECTIONS"),
            ("max_connections_per_hour", "MAX_CONNECTIONS_PER_HOUR"),
            ("max_questions", "MAX_QUERIES_PER_HOUR"),
            ("max_queries_per_hour", "MAX_QUERIES_PER_HOUR"),
            ("max_updates", "MAX_UPDATES_PER_HOUR"),
        ] {
            let hint = hint(Some(1226), "42000", &exceeded(resource));
            assert!(hint.contains(name), "{resource}: {hint}");
        }
        assert_eq!(hint(Some(1045), "28000", ""), "");
        assert_eq!(hint(Some(1064), "42000", ""), "");
    }
}
