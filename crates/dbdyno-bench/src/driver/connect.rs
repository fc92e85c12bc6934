//! From a model's Connection to what a driver thread and a loader connect with.

use std::io;
use std::net::ToSocketAddrs as _;
use std::time::Duration;

use dbdyno_model::connection::{Address, Connection, Engine, SslMode};
use dbdyno_tls::TlsError;
use postgres::{CancelToken, Client, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::tls;
use crate::wire::{Endpoint, Target};

/// How long a connection may take where the user set no limit.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(60);

/// A connection that the driver cannot make.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TargetError {
    #[error("cannot set up TLS for {server}: {source}")]
    Tls {
        server: String,
        engine: Engine,
        source: Box<TlsError>,
    },
    #[error("cannot ask for TLS of {host}: no certificate can be made out to that name")]
    Name { host: String },
    #[error("cannot find the host {host}: {source}")]
    Host { host: String, source: io::Error },
    #[error("{server} is not a PostgreSQL server")]
    OtherEngine { server: String },
}

impl TargetError {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Tls {
                engine: Engine::Postgres,
                ..
            } => {
                "sslrootcert=FILE names another file of root certificates, sslcert=FILE and \
                 sslkey=FILE another client certificate; sslmode=require without roots encrypts, \
                 but does not ask who answers"
            }
            Self::Tls {
                engine: Engine::MySql,
                ..
            } => {
                "ssl-ca=FILE names another file of root certificates; ssl-mode=REQUIRED without \
                 one encrypts, but does not ask who answers"
            }
            Self::Name { .. } | Self::Host { .. } => "check the host's name, or give its address",
            Self::OtherEngine { .. } => "write postgres://user@host:5432/database",
        })
    }
}

/// The same server, user and database for the driver, encrypted and verified as it asks for.
pub fn target(connection: &Connection) -> Result<Target, TargetError> {
    let endpoint = match (&connection.address, connection.engine) {
        (Address::Socket(directory), Engine::Postgres) => {
            Endpoint::Unix(directory.join(format!(".s.PGSQL.{}", connection.port)))
        }
        (Address::Socket(socket), Engine::MySql) => Endpoint::Unix(socket.clone()),
        (Address::Tcp(host), _) => {
            let addresses = (host.as_str(), connection.port).to_socket_addrs();
            let failed = |source| TargetError::Host {
                host: host.clone(),
                source,
            };
            Endpoint::Tcp(addresses.map_err(failed)?.collect())
        }
    };
    let timeout = match connection.connect_timeout_s {
        0 => CONNECT_TIMEOUT,
        seconds => Duration::from_secs(seconds),
    };
    Ok(Target {
        engine: connection.engine,
        endpoint,
        user: connection.user.clone(),
        password: connection.password.clone(),
        database: connection.database.clone(),
        options: connection.options.clone(),
        tls: tls::of(connection)?,
        timeout,
    })
}

/// The same for PostgreSQL's client library, for what is not measured.
#[derive(Debug, Clone)]
pub struct ClientTarget {
    config: postgres::Config,
    tls: Option<rustls::ClientConfig>,
    /// Whether TLS is given up where it cannot be had.
    prefers: bool,
}

impl ClientTarget {
    pub fn of(connection: &Connection) -> Result<Self, TargetError> {
        use postgres::config::SslMode as Asked;
        if connection.engine != Engine::Postgres {
            return Err(TargetError::OtherEngine {
                server: connection.display(),
            });
        }
        let tls = tls::is_spoken(connection)
            .then(|| tls::config(connection))
            .transpose()?;
        let prefers = connection.ssl_mode == SslMode::Prefer;
        let mut config = postgres::Config::new();
        match &connection.address {
            Address::Socket(directory) => config.host_path(directory),
            // The client library sets TCP_NODELAY on every TCP connection itself.
            Address::Tcp(host) => config.host(host),
        };
        config
            .port(connection.port)
            .user(&connection.user)
            .dbname(&connection.database)
            .application_name("dbdyno")
            .ssl_mode(match &tls {
                None => Asked::Disable,
                Some(_) if prefers => Asked::Prefer,
                Some(_) => Asked::Require,
            });
        if let Some(password) = &connection.password {
            config.password(password.expose());
        }
        if let Some(options) = &connection.options {
            config.options(options);
        }
        if connection.connect_timeout_s > 0 {
            config.connect_timeout(Duration::from_secs(connection.connect_timeout_s));
        }
        Ok(Self {
            config,
            tls,
            prefers,
        })
    }

    /// Opens a session. Blocks; not for use within an async runtime.
    ///
    /// # Errors
    /// The server cannot be reached, is not trusted, or refuses.
    pub fn open(&self) -> Result<Client, postgres::Error> {
        let Some(tls) = &self.tls else {
            return self.config.connect(NoTls);
        };
        let first = self.config.connect(MakeRustlsConnect::new(tls.clone()));
        match first {
            Err(error) if self.prefers && tls::gives_tls_up(&error) => {
                let mut plain = self.config.clone();
                plain.ssl_mode(postgres::config::SslMode::Disable);
                plain.connect(NoTls)
            }
            opened => opened,
        }
    }

    /// Stops what a session of this server is doing.
    ///
    /// # Errors
    /// The server cannot be reached the way that the session went.
    pub fn cancel(&self, session: &CancelToken) -> Result<(), postgres::Error> {
        match &self.tls {
            None => session.cancel_query(NoTls),
            Some(tls) => session.cancel_query(MakeRustlsConnect::new(tls.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connection(address: Address) -> Connection {
        Connection {
            engine: Engine::Postgres,
            address,
            port: 5432,
            user: "app".into(),
            password: None,
            database: "shop".into(),
            ssl_mode: SslMode::Require,
            ssl_root_cert: None,
            connect_timeout_s: 10,
            options: None,
            client_certificate: None,
        }
    }

    #[test]
    fn tls_is_required_where_it_was_asked_for_and_never_dropped() {
        let connection = connection(Address::Tcp("127.0.0.1".into()));
        let target = target(&connection).unwrap();
        assert!(target.tls.unwrap().required);
        let address = "127.0.0.1:5432".parse().unwrap();
        assert_eq!(target.endpoint, Endpoint::Tcp(vec![address]));
        let client = ClientTarget::of(&connection).unwrap();
        let asked = client.config.get_ssl_mode();
        assert_eq!(asked, postgres::config::SslMode::Require);
        assert!(client.tls.is_some() && !client.prefers);
    }

    #[test]
    fn a_socket_is_named_as_the_server_names_it() {
        let mut connection = connection(Address::Socket("/run/lab".into()));
        connection.port = 6543;
        let endpoint = target(&connection).unwrap().endpoint;
        assert_eq!(endpoint, Endpoint::Unix("/run/lab/.s.PGSQL.6543".into()));
        assert!(ClientTarget::of(&connection).unwrap().tls.is_none());
        connection.engine = Engine::MySql;
        connection.address = Address::Socket("/run/mysqld/mysqld.sock".into());
        assert!(ClientTarget::of(&connection).is_err());
        let target = target(&connection).unwrap();
        assert_eq!(target.engine, Engine::MySql);
        assert_eq!(
            target.endpoint,
            Endpoint::Unix("/run/mysqld/mysqld.sock".into())
        );
    }
}
