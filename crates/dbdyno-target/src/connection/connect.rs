//! Opens a session, and says in the user's terms why it cannot be opened.

use std::error::Error as _;
use std::io;
use std::net::ToSocketAddrs as _;
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use ::postgres::error::SqlState;
use ::postgres::{Client, Config, NoTls};
use dbdyno_model::{Address, Connection, Engine, SslMode};
use dbdyno_tls::Refusal;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::system_user::SystemUser;

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
                "use the name in the certificate (its subjectAltName); sslmode=verify-ca checks \
                 everything but the name"
                    .into()
            }
            Self::Tls { .. } => "sslrootcert=FILE names another file of root certificates".into(),
            Self::SystemUser { .. } => "run dbdyno as root or as that user".into(),
            Self::Other { .. } | Self::Thread(_) => return None,
        })
    }
}

/// Opens a session with a PostgreSQL server.
///
/// # Errors
/// Names the cause in the user's terms; no password is ever part of it.
pub fn connect(connection: &Connection) -> Result<Client, ConnectError> {
    connect_as(connection, None)
}

/// Opens a session in the name of another account of this host, which only root can.
///
/// # Errors
/// Names the cause in the user's terms; no password is ever part of it.
pub fn connect_as(
    connection: &Connection,
    as_whom: Option<SystemUser>,
) -> Result<Client, ConnectError> {
    if connection.engine != Engine::Postgres {
        return Err(ConnectError::OtherEngine {
            target: connection.display(),
        });
    }
    let first = attempt(connection, connection.ssl_mode, as_whom);
    if connection.ssl_mode != SslMode::Prefer {
        return first;
    }
    match first {
        // As libpq does: what was only preferred is given up where it cannot be had.
        Err(
            ConnectError::Tls { .. }
            | ConnectError::TlsNotOffered { .. }
            | ConnectError::NoHbaEntry { .. },
        ) => attempt(connection, SslMode::Disable, as_whom),
        other => other,
    }
}

fn attempt(
    connection: &Connection,
    mode: SslMode,
    as_whom: Option<SystemUser>,
) -> Result<Client, ConnectError> {
    let config = config(connection, mode);
    let connector = match mode {
        SslMode::Disable => None,
        mode => {
            let config = dbdyno_tls::client_config(mode, connection.ssl_root_cert.as_deref());
            Some(MakeRustlsConnect::new(config.map_err(|error| {
                ConnectError::Tls {
                    why: error.to_string(),
                }
            })?))
        }
    };
    // The driver limits the time for the TCP handshake only, and a server that is stopped or
    // drowning accepts and then says nothing: the thread is left behind in that case.
    let (sender, receiver) = mpsc::sync_channel(1);
    thread::Builder::new()
        .name("connect".into())
        .spawn(move || {
            let result =
                as_whom
                    .map_or(Ok(()), SystemUser::take_thread)
                    .map(|()| match connector {
                        None => config.connect(NoTls),
                        Some(connector) => config.connect(connector),
                    });
            // Nobody waits any more once the time is over.
            let _ = sender.send(result);
        })?;
    let seconds = connection.connect_timeout_s;
    let result = match seconds {
        0 => receiver.recv().ok(),
        _ => receiver.recv_timeout(Duration::from_secs(seconds)).ok(),
    };
    match result {
        Some(Ok(Ok(client))) => Ok(client),
        Some(Ok(Err(error))) => Err(classify(error, connection)),
        Some(Err(source)) => Err(ConnectError::SystemUser {
            uid: as_whom.map_or(0, |user| user.uid),
            source,
        }),
        None => Err(timeout(connection)),
    }
}

fn config(connection: &Connection, mode: SslMode) -> Config {
    let mut config = Config::new();
    match &connection.address {
        Address::Socket(directory) => config.host_path(directory),
        Address::Tcp(host) => config.host(host),
    };
    config
        .port(connection.port)
        .user(&connection.user)
        .dbname(&connection.database)
        .application_name("dbdyno")
        .ssl_mode(match mode {
            SslMode::Disable => ::postgres::config::SslMode::Disable,
            SslMode::Prefer => ::postgres::config::SslMode::Prefer,
            SslMode::Require | SslMode::VerifyCa | SslMode::VerifyFull => {
                ::postgres::config::SslMode::Require
            }
        });
    if connection.connect_timeout_s > 0 {
        config.connect_timeout(Duration::from_secs(connection.connect_timeout_s));
    }
    if let Some(password) = &connection.password {
        config.password(password.expose());
    }
    config
}

fn timeout(connection: &Connection) -> ConnectError {
    ConnectError::Timeout {
        target: connection.display(),
        seconds: connection.connect_timeout_s,
    }
}

fn classify(error: ::postgres::Error, connection: &Connection) -> ConnectError {
    if let Some(known) = classify_answer(&error, connection)
        .or_else(|| classify_io(&error, connection))
        .or_else(|| classify_tls(&error, connection))
    {
        return known;
    }
    ConnectError::Other {
        target: connection.display(),
        source: error,
    }
}

/// What the server said, or asked for.
fn classify_answer(error: &::postgres::Error, connection: &Connection) -> Option<ConnectError> {
    let user = || connection.user.clone();
    let Some(answer) = error.as_db_error() else {
        let source = error.source()?.to_string();
        return (source == "password missing")
            .then(|| ConnectError::PasswordNeeded { user: user() });
    };
    let message = answer.message().to_owned();
    let code = answer.code();
    Some(if *code == SqlState::INVALID_PASSWORD {
        ConnectError::WrongPassword { user: user() }
    } else if *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION {
        // One code for two causes; the file's name survives every translation.
        if message.contains("pg_hba.conf") {
            ConnectError::NoHbaEntry { message }
        } else {
            ConnectError::Rejected {
                user: user(),
                message,
            }
        }
    } else if *code == SqlState::INSUFFICIENT_PRIVILEGE {
        ConnectError::Rejected {
            user: user(),
            message,
        }
    } else if *code == SqlState::INVALID_CATALOG_NAME {
        ConnectError::UnknownDatabase {
            database: connection.database.clone(),
        }
    } else if *code == SqlState::CANNOT_CONNECT_NOW {
        ConnectError::Starting { message }
    } else if *code == SqlState::TOO_MANY_CONNECTIONS {
        ConnectError::TooManyConnections { message }
    } else {
        return None;
    })
}

/// What the network said.
fn classify_io(error: &::postgres::Error, connection: &Connection) -> Option<ConnectError> {
    let cause = error.source()?.downcast_ref::<io::Error>()?;
    let socket = match &connection.address {
        Address::Socket(directory) => Some(directory.join(format!(".s.PGSQL.{}", connection.port))),
        Address::Tcp(_) => None,
    };
    Some(match (cause.kind(), &connection.address, socket) {
        (io::ErrorKind::NotFound, _, Some(path)) => ConnectError::NoSocket { path },
        (io::ErrorKind::PermissionDenied, _, Some(path)) => ConnectError::SocketDenied { path },
        (io::ErrorKind::ConnectionRefused, address, socket) => ConnectError::Refused {
            place: match (address, socket) {
                (Address::Tcp(host), _) => format!("{host}, port {}", connection.port),
                (_, socket) => socket.unwrap_or_default().display().to_string(),
            },
            is_local: connection.is_local(),
        },
        (io::ErrorKind::TimedOut, ..) => timeout(connection),
        (
            io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkUnreachable
            | io::ErrorKind::AddrNotAvailable,
            Address::Tcp(host),
            _,
        ) => ConnectError::Unreachable {
            host: host.clone(),
            why: cause.to_string(),
        },
        // A failed look-up has no kind and no number of its own.
        (_, Address::Tcp(host), _)
            if cause.raw_os_error().is_none()
                && tls_error(cause).is_none()
                && !resolves(host, connection.port) =>
        {
            ConnectError::NoSuchHost { host: host.clone() }
        }
        _ => return None,
    })
}

fn resolves(host: &str, port: u16) -> bool {
    (host, port)
        .to_socket_addrs()
        .is_ok_and(|mut addresses| addresses.next().is_some())
}

/// What TLS said.
fn classify_tls(error: &::postgres::Error, connection: &Connection) -> Option<ConnectError> {
    let Address::Tcp(host) = &connection.address else {
        return None;
    };
    let host = host.clone();
    let cause = error.source()?;
    if cause.to_string() == "server does not support TLS" {
        let mode = match connection.ssl_mode {
            SslMode::Disable => "disable",
            SslMode::Prefer => "prefer",
            SslMode::Require => "require",
            SslMode::VerifyCa => "verify-ca",
            SslMode::VerifyFull => "verify-full",
        };
        return Some(ConnectError::TlsNotOffered { host, mode });
    }
    let inner = tls_error(cause.downcast_ref::<io::Error>()?)?;
    let why = inner.to_string();
    Some(match Refusal::of(inner) {
        Refusal::WrongName => ConnectError::WrongName { host, why },
        Refusal::Untrusted => ConnectError::Untrusted { host, why },
        Refusal::Protocol => ConnectError::Tls { why },
    })
}

fn tls_error(error: &io::Error) -> Option<&rustls::Error> {
    error.get_ref()?.downcast_ref()
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
