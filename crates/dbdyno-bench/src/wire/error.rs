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

    /// Whether PostgreSQL's pg_hba.conf does not let the connection in.
    pub(crate) fn is_hba(&self) -> bool {
        Self::names_hba(&self.sqlstate, &self.message)
    }

    /// One code has two causes; the file's name survives every translation.
    pub(crate) fn names_hba(sqlstate: &str, message: &str) -> bool {
        sqlstate == "28000" && message.contains("pg_hba.conf")
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
