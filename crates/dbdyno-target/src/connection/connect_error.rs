//! Why a session cannot be opened, in the user's terms, and what to do next.

use std::error::Error as _;
use std::io;
use std::path::PathBuf;

use super::candidates::{Found, SessionKind};

#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("{target} is a MySQL or MariaDB server, and this takes a PostgreSQL server")]
    OtherEngine { target: String },
    #[error("nothing listens on {place}")]
    Refused { place: String, is_local: bool },
    #[error("there is no socket {path}")]
    NoSocket { path: PathBuf },
    #[error("this user may not open the socket {path}")]
    SocketDenied { path: PathBuf },
    #[error("there is no host {host}")]
    NoSuchHost { host: String },
    #[error("{host} cannot be reached: {why}")]
    Unreachable { host: String, why: String },
    #[error("the server did not answer within {seconds} s at {target}")]
    Timeout { target: String, seconds: u64 },
    #[error("wrong password for user {user}")]
    WrongPassword { user: String },
    #[error("the server wants a password for user {user}, and none is given")]
    PasswordNeeded { user: String },
    #[error("the server's pg_hba.conf does not let this connection in: {message}")]
    NoHbaEntry { message: String },
    #[error("the server does not let user {user} in: {message}")]
    Rejected { user: String, message: String },
    #[error("there is no database {database}")]
    UnknownDatabase { database: String },
    #[error("the server does not take connections yet: {message}")]
    Starting { message: String },
    #[error("the server has no connection left: {message}")]
    TooManyConnections { message: String },
    #[error("{host} does not offer TLS, and sslmode={mode} asks for it")]
    TlsNotOffered { host: String, mode: &'static str },
    #[error("the certificate of {host} is not trusted: {why}")]
    Untrusted { host: String, why: String },
    #[error("the certificate of {host} is made out to another name: {why}")]
    WrongName { host: String, why: String },
    #[error("cannot set up TLS: {why}")]
    Tls { why: String },
    #[error("cannot connect to {target}: {}", describe(source))]
    Other {
        target: String,
        source: ::postgres::Error,
    },
    #[error("cannot start a thread to connect on")]
    Thread(#[from] io::Error),
    #[error("this process may not connect as the system user {uid}: {source}")]
    SystemUser { uid: u32, source: io::Error },
    #[error("{found}, and target_session_attrs={wanted} asks for another")]
    OtherKind { wanted: SessionKind, found: Found },
    #[error("none of the servers will do:{}", list(reasons, *untried))]
    NoneOf {
        /// Each server that was tried, and what was wrong with it.
        reasons: Vec<(String, ConnectError)>,
        untried: usize,
    },
}

impl ConnectError {
    /// What to do next, where there is something to say.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::OtherEngine { .. } => "write postgres://user@host:5432/database".into(),
            Self::Refused { place, is_local } if *is_local => format!(
                "is the server running? `ss -ltnx` lists what listens; it is not on {place}"
            ),
            Self::Refused { .. } => {
                "is the server running, and does listen_addresses cover that address? \
                 a firewall may also answer for it"
                    .into()
            }
            Self::NoSocket { .. } => {
                "is the server running? its unix_socket_directories names the directory for host="
                    .into()
            }
            Self::SocketDenied { .. } => "connect over TCP with host=localhost, or run as a user \
                                          in the group that unix_socket_group names"
                .into(),
            Self::NoSuchHost { .. } => "check the spelling, and that the name resolves here".into(),
            Self::Unreachable { .. } => "check route and firewall on the way there".into(),
            Self::Timeout { .. } => {
                "a firewall may drop the packets; connect_timeout=SECONDS waits longer".into()
            }
            Self::WrongPassword { .. } | Self::PasswordNeeded { .. } => {
                "put it into ~/.pgpass (mode 0600) or into PGPASSWORD".into()
            }
            Self::NoHbaEntry { .. } => {
                "add a line to pg_hba.conf for this user, database and address, and reload".into()
            }
            Self::Rejected { .. } => {
                "connect as another database user with user=…, or from the system user of that \
                 name: sudo -u NAME"
                    .into()
            }
            Self::UnknownDatabase { .. } => {
                "dbname=postgres exists nearly everywhere; SELECT datname FROM pg_database lists \
                 the others"
                    .into()
            }
            Self::Starting { .. } => "wait until it has recovered, then try again".into(),
            Self::TooManyConnections { .. } => {
                "close some, or connect as a superuser: superuser_reserved_connections keeps room"
                    .into()
            }
            Self::TlsNotOffered { .. } => {
                "sslmode=disable sends everything in the clear; better set ssl=on in the server"
                    .into()
            }
            Self::Untrusted { .. } => "sslrootcert=FILE names the authority that signed it; \
                                       sslmode=require without it encrypts, but does not ask who \
                                       answers"
                .into(),
            Self::WrongName { .. } => {
                "use the name in the certificate (its subjectAltName); sslmode=verify-ca with \
                 sslrootcert=FILE checks everything but the name"
                    .into()
            }
            Self::Tls { .. } => {
                "sslrootcert=FILE names another file of root certificates, sslcert=FILE and \
                 sslkey=FILE another client certificate"
                    .into()
            }
            Self::SystemUser { .. } => "run dbdyno as root or as that user".into(),
            Self::OtherKind { .. } => {
                "target_session_attrs=any takes whichever server answers; more hosts can be named \
                 with commas between them"
                    .into()
            }
            Self::NoneOf { reasons, .. } => {
                return reasons.iter().rev().find_map(|(_, error)| error.hint());
            }
            Self::Other { .. } | Self::Thread(_) => return None,
        })
    }
}

impl ConnectError {
    /// Whether another host of a list is tried after this: not where the server was reached and
    /// turned us away.
    pub(super) fn lets_others_try(&self) -> bool {
        match self {
            Self::Refused { .. }
            | Self::NoSocket { .. }
            | Self::SocketDenied { .. }
            | Self::NoSuchHost { .. }
            | Self::Unreachable { .. }
            | Self::Timeout { .. }
            | Self::Starting { .. }
            | Self::OtherKind { .. } => true,
            // It went away in the middle.
            Self::Other { source, .. } => source.as_db_error().is_none(),
            Self::NoneOf { reasons, .. } => reasons
                .last()
                .is_none_or(|(_, last)| last.lets_others_try()),
            _ => false,
        }
    }
}

/// A line for each server.
fn list(reasons: &[(String, ConnectError)], untried: usize) -> String {
    let lines = reasons.iter();
    let mut text: String = lines
        .map(|(server, error)| format!("\n  {server}: {error}"))
        .collect();
    if untried > 0 {
        text.push_str(&format!(
            "\n  {untried} more not tried: a server that turns a connection away ends the search"
        ));
    }
    text
}

/// The driver's error with its cause: alone it says no more than "db error".
fn describe(error: &::postgres::Error) -> String {
    match error.as_db_error() {
        Some(answer) => answer.message().to_owned(),
        None => match error.source() {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        },
    }
}
