//! Opens a session, and says in the user's terms why it cannot be opened.

use std::error::Error as _;
use std::io;
use std::net::ToSocketAddrs as _;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use ::postgres::error::SqlState;
use ::postgres::{Client, Config, NoTls};
use dbdyno_model::{Address, Connection, Engine, SslMode};
use dbdyno_tls::Refusal;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::connect_error::ConnectError;
use super::system_user::SystemUser;

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
            let config = dbdyno_tls::client_config_for(connection, mode);
            Some(MakeRustlsConnect::new(config.map_err(|error| {
                ConnectError::Tls {
                    why: error.to_string(),
                }
            })?))
        }
    };
    // The driver limits the time for the TCP handshake only, and a server that is stopped or
    // drowning accepts and then says nothing.
    let result = in_time(connection, move || {
        as_whom
            .map_or(Ok(()), SystemUser::take_thread)
            .map(|()| match connector {
                None => config.connect(NoTls),
                Some(connector) => config.connect(connector),
            })
    });
    match result? {
        Some(Ok(Ok(client))) => Ok(client),
        Some(Ok(Err(error))) => Err(classify(error, connection)),
        Some(Err(source)) => Err(ConnectError::SystemUser {
            uid: as_whom.map_or(0, |user| user.uid),
            source,
        }),
        None => Err(timeout(connection)),
    }
}

/// What the session answers, within the time that a connection may take.
pub(super) fn ask<T: Send + 'static>(
    mut client: Client,
    connection: &Connection,
    question: fn(&mut Client) -> Result<T, ::postgres::Error>,
) -> Result<T, ConnectError> {
    match in_time(connection, move || question(&mut client))? {
        Some(answer) => answer.map_err(|error| classify(error, connection)),
        None => Err(timeout(connection)),
    }
}

/// None where the time is over: the thread is left behind then.
fn in_time<T: Send + 'static>(
    connection: &Connection,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<Option<T>> {
    let (sender, receiver) = mpsc::sync_channel(1);
    thread::Builder::new()
        .name("connect".into())
        .spawn(move || {
            // Nobody waits any more once the time is over.
            let _ = sender.send(work());
        })?;
    Ok(match connection.connect_timeout_s {
        0 => receiver.recv().ok(),
        seconds => receiver.recv_timeout(Duration::from_secs(seconds)).ok(),
    })
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
    if let Some(options) = &connection.options {
        config.options(options);
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
