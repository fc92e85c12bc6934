//! From a model's Connection to a PostgreSQL client.

use std::time::Duration;

use dbdyno_model::connection::{Address, Connection, SslMode};

/// TLS was asked for, which the load driver does not speak.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{server}: the load driver does not speak TLS, and sslmode asks for it")]
pub struct TlsUnsupported {
    pub server: String,
}

/// The same server, user and database for the client library; TLS is refused, never dropped.
pub fn client_config(connection: &Connection) -> Result<tokio_postgres::Config, TlsUnsupported> {
    let mut config = tokio_postgres::Config::new();
    match &connection.address {
        Address::Socket(directory) => {
            config.host_path(directory);
        }
        Address::Tcp(host) => {
            if !matches!(connection.ssl_mode, SslMode::Disable | SslMode::Prefer) {
                return Err(TlsUnsupported {
                    server: connection.display(),
                });
            }
            // The client library sets TCP_NODELAY on every TCP connection itself.
            config.host(host);
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tls_is_refused_and_not_silently_dropped() {
        let mut connection = Connection {
            address: Address::Tcp("db.example".into()),
            port: 5432,
            user: "app".into(),
            password: None,
            database: "shop".into(),
            ssl_mode: SslMode::Require,
            ssl_root_cert: None,
            connect_timeout_s: 10,
        };
        let error = client_config(&connection).unwrap_err();
        assert!(error.to_string().contains("db.example"), "{error}");
        connection.ssl_mode = SslMode::Prefer;
        assert!(client_config(&connection).is_ok());
    }
}
