//! How to reach a database server, resolved to one form whatever the user wrote.

use std::fmt;
use std::path::PathBuf;

/// A password or key that never reaches a document, a log or an error.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(secret: impl Into<String>) -> Self {
        Self(secret.into())
    }

    /// The secret itself, for the wire only.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Whose protocol the server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    Postgres,
    /// MariaDB too.
    MySql,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// Directory of the unix socket; the socket itself on MySQL.
    Socket(PathBuf),
    Tcp(String),
}

/// libpq's sslmode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SslMode {
    Disable,
    Prefer,
    Require,
    VerifyCa,
    VerifyFull,
}

/// What this side proves itself with, over TLS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCertificate {
    /// The certificate, with those of the authorities between it and the root behind it.
    pub chain: PathBuf,
    pub key: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connection {
    pub engine: Engine,
    pub address: Address,
    pub port: u16,
    pub user: String,
    pub password: Option<Secret>,
    pub database: String,
    pub ssl_mode: SslMode,
    /// File of trusted root certificates; the system's when absent.
    pub ssl_root_cert: Option<PathBuf>,
    pub connect_timeout_s: u64,
    /// Command-line options for the session's server process; PostgreSQL's alone.
    pub options: Option<String>,
    /// Shown to a PostgreSQL server that asks for one.
    pub client_certificate: Option<ClientCertificate>,
}

impl Connection {
    /// The connection as it may be shown: without its password.
    pub fn display(&self) -> String {
        let Self {
            user,
            database,
            port,
            ..
        } = self;
        match (self.engine, &self.address) {
            (Engine::Postgres, Address::Tcp(host)) => {
                format!("postgres://{user}@{host}:{port}/{database}")
            }
            (Engine::MySql, Address::Tcp(host)) => {
                format!("mysql://{user}@{host}:{port}/{database}")
            }
            (Engine::Postgres, Address::Socket(directory)) => format!(
                "postgres:///{database}?host={}&port={port}&user={user}",
                directory.display()
            ),
            (Engine::MySql, Address::Socket(socket)) => {
                let socket = socket.display();
                format!("mysql:///{database}?socket={socket}&user={user}")
            }
        }
    }

    /// Whether the server runs on this host, as far as the address tells.
    pub fn is_local(&self) -> bool {
        match &self.address {
            Address::Socket(_) => true,
            Address::Tcp(host) => {
                host == "localhost"
                    || host
                        .parse::<std::net::IpAddr>()
                        .is_ok_and(|address| address.is_loopback())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_debug_nor_display_shows_the_password() {
        let connection = Connection {
            engine: Engine::Postgres,
            address: Address::Tcp("db.example".into()),
            port: 5432,
            user: "app".into(),
            password: Some(Secret::new("hunter2")),
            database: "shop".into(),
            ssl_mode: SslMode::VerifyFull,
            ssl_root_cert: None,
            connect_timeout_s: 10,
            options: None,
            client_certificate: None,
        };
        assert!(!format!("{connection:?}").contains("hunter2"));
        assert_eq!(connection.display(), "postgres://app@db.example:5432/shop");
        assert!(!connection.is_local());
    }
}
