//! From a model's Connection to what a driver thread and a loader connect with.

use std::io;
use std::net::ToSocketAddrs as _;
use std::time::Duration;

use dbdyno_model::connection::{Address, Connection, Engine, SslMode};

use crate::wire::{Endpoint, Target};

/// How long a connection may take where the user set no limit.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(60);

/// A connection that the driver cannot make.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TargetError {
    #[error("{server}: the load driver does not speak TLS, and sslmode asks for it")]
    Tls { server: String },
    #[error("cannot find the host {host}: {source}")]
    Host { host: String, source: io::Error },
}

impl TargetError {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Tls { .. } => {
                "connect over the unix socket, or with sslmode=disable on a network that you trust"
            }
            Self::Host { .. } => "check the host's name, or give its address",
        })
    }
}

/// The same server, user and database for the driver; TLS is refused, never dropped.
pub fn target(connection: &Connection) -> Result<Target, TargetError> {
    refuse_tls(connection)?;
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
        tls: None,
        timeout,
    })
}

/// The same for the client library, for what is not measured.
pub fn client_config(connection: &Connection) -> Result<tokio_postgres::Config, TargetError> {
    refuse_tls(connection)?;
    let mut config = tokio_postgres::Config::new();
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
        .ssl_mode(tokio_postgres::config::SslMode::Disable);
    if let Some(password) = &connection.password {
        config.password(password.expose());
    }
    if connection.connect_timeout_s > 0 {
        config.connect_timeout(Duration::from_secs(connection.connect_timeout_s));
    }
    Ok(config)
}

/// A socket has no TLS, whatever is asked for.
fn refuse_tls(connection: &Connection) -> Result<(), TargetError> {
    let insists = !matches!(connection.ssl_mode, SslMode::Disable | SslMode::Prefer);
    if insists && matches!(connection.address, Address::Tcp(_)) {
        return Err(TargetError::Tls {
            server: connection.display(),
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tls_is_refused_and_not_silently_dropped() {
        let mut connection = Connection {
            engine: Engine::Postgres,
            address: Address::Tcp("127.0.0.1".into()),
            port: 5432,
            user: "app".into(),
            password: None,
            database: "shop".into(),
            ssl_mode: SslMode::Require,
            ssl_root_cert: None,
            connect_timeout_s: 10,
        };
        let error = target(&connection).unwrap_err();
        assert!(error.to_string().contains("127.0.0.1"), "{error}");
        assert!(client_config(&connection).is_err());
        connection.ssl_mode = SslMode::Prefer;
        let target = target(&connection).unwrap();
        let address = "127.0.0.1:5432".parse().unwrap();
        assert_eq!(target.endpoint, Endpoint::Tcp(vec![address]));
    }

    #[test]
    fn a_socket_is_named_as_the_server_names_it() {
        let mut connection = Connection {
            engine: Engine::Postgres,
            address: Address::Socket("/run/lab".into()),
            port: 6543,
            user: "app".into(),
            password: None,
            database: "shop".into(),
            ssl_mode: SslMode::Require,
            ssl_root_cert: None,
            connect_timeout_s: 0,
        };
        let endpoint = target(&connection).unwrap().endpoint;
        assert_eq!(endpoint, Endpoint::Unix("/run/lab/.s.PGSQL.6543".into()));
        connection.engine = Engine::MySql;
        connection.address = Address::Socket("/run/mysqld/mysqld.sock".into());
        let target = target(&connection).unwrap();
        assert_eq!(target.engine, Engine::MySql);
        assert_eq!(
            target.endpoint,
            Endpoint::Unix("/run/mysqld/mysqld.sock".into())
        );
    }
}
