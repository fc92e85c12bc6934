//! TLS as a connection asks for it, and what to relax where a server does not go along.

use std::io;
use std::sync::Arc;

use dbdyno_model::connection::{Address, Connection, Engine, SslMode};
use dbdyno_tls::Refusal;
use rustls::pki_types::ServerName;

use super::connect::TargetError;
use crate::wire::{ServerError, Tls, WireError};

/// MySQL's `--require_secure_transport`.
const SECURE_TRANSPORT_NEEDED: u16 = 3159;

/// Whether TLS is spoken at all. PostgreSQL has none on a socket, whatever is asked for.
pub(super) fn is_spoken(connection: &Connection) -> bool {
    let on_socket = matches!(connection.address, Address::Socket(_));
    connection.ssl_mode != SslMode::Disable && !(on_socket && connection.engine == Engine::Postgres)
}

pub(super) fn config(connection: &Connection) -> Result<rustls::ClientConfig, TargetError> {
    let config = dbdyno_tls::client_config_for(connection, connection.ssl_mode);
    config.map_err(|source| TargetError::Tls {
        server: connection.display(),
        engine: connection.engine,
        source: Box::new(source),
    })
}

/// For the driver. The name is the one that was typed, before it was resolved.
pub(super) fn of(connection: &Connection) -> Result<Option<Tls>, TargetError> {
    if !is_spoken(connection) {
        return Ok(None);
    }
    let host = match &connection.address {
        Address::Tcp(host) => host.as_str(),
        // Whom MySQL's own client takes the server on a socket for.
        Address::Socket(_) => "localhost",
    };
    // The zone of a link-local address is this machine's own affair.
    let bare = host.split_once('%').map_or(host, |(address, _)| address);
    let required = connection.ssl_mode != SslMode::Prefer;
    let name = match ServerName::try_from(bare.to_owned()) {
        Ok(name) => name,
        Err(_) if !required => return Ok(None),
        Err(_) => {
            return Err(TargetError::Name {
                host: host.to_owned(),
            });
        }
    };
    Ok(Some(Tls {
        config: Arc::new(config(connection)?),
        name,
        required,
    }))
}

/// What stood in the way of a connection that is encrypted, or of one that is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Obstacle {
    NotOffered,
    Certificate(Refusal),
    /// The server lets nobody in this way: by its host-based rules, or without TLS at all.
    NotThisWay,
}

/// What to do about an error that has to do with TLS. The server is shown as
/// [`Connection::display`] shows it, whose scheme tells whose parameters to name.
pub(crate) fn hint(server: &str, error: &WireError) -> Option<&'static str> {
    let engine = if server.starts_with("mysql:") {
        Engine::MySql
    } else {
        Engine::Postgres
    };
    let obstacle = match error {
        WireError::TlsNotOffered => Obstacle::NotOffered,
        WireError::Tls(error) => Obstacle::Certificate(Refusal::of(error)),
        WireError::Server(error) if bars_the_way(error) => Obstacle::NotThisWay,
        _ => return None,
    };
    Some(advice(engine, obstacle))
}

/// The same for PostgreSQL's client library.
pub(crate) fn client_hint(error: &postgres::Error) -> Option<&'static str> {
    let obstacle = if let Some(error) = tls_error(error) {
        Obstacle::Certificate(Refusal::of(error))
    } else if is_not_offered(error) {
        Obstacle::NotOffered
    } else if is_hba(error) {
        Obstacle::NotThisWay
    } else {
        return None;
    };
    Some(advice(Engine::Postgres, obstacle))
}

/// Whether a client that only preferred TLS goes on without, as libpq does.
pub(super) fn gives_tls_up(error: &postgres::Error) -> bool {
    tls_error(error).is_some() || is_hba(error)
}

fn bars_the_way(error: &ServerError) -> bool {
    error.is_hba() || error.number == Some(SECURE_TRANSPORT_NEEDED)
}

fn is_hba(error: &postgres::Error) -> bool {
    error
        .as_db_error()
        .is_some_and(|answer| ServerError::names_hba(answer.code().code(), answer.message()))
}

fn is_not_offered(error: &postgres::Error) -> bool {
    use std::error::Error as _;
    let cause = error.source().map(ToString::to_string);
    cause.as_deref() == Some("server does not support TLS")
}

fn tls_error(error: &postgres::Error) -> Option<&rustls::Error> {
    use std::error::Error as _;
    let cause = error.source()?.downcast_ref::<io::Error>()?;
    cause.get_ref()?.downcast_ref()
}

fn advice(engine: Engine, obstacle: Obstacle) -> &'static str {
    match (engine, obstacle) {
        (Engine::Postgres, Obstacle::NotOffered) => {
            "sslmode=disable sends everything in the clear; better set ssl=on in the server"
        }
        (Engine::MySql, Obstacle::NotOffered) => {
            "ssl-mode=DISABLED sends everything in the clear; better give the server a certificate \
             (ssl_cert, ssl_key)"
        }
        (Engine::Postgres, Obstacle::Certificate(Refusal::WrongName)) => {
            "use the name in the certificate (its subjectAltName); sslmode=verify-ca with \
             sslrootcert=FILE checks everything but the name"
        }
        (Engine::MySql, Obstacle::Certificate(Refusal::WrongName)) => {
            "use the name in the certificate (its subjectAltName); ssl-mode=VERIFY_CA with \
             ssl-ca=FILE checks everything but the name"
        }
        (Engine::Postgres, Obstacle::Certificate(Refusal::Untrusted)) => {
            "sslrootcert=FILE names the authority that signed it; sslmode=require without it \
             encrypts, but does not ask who answers"
        }
        (Engine::MySql, Obstacle::Certificate(Refusal::Untrusted)) => {
            "ssl-ca=FILE names the authority that signed it; ssl-mode=REQUIRED without it \
             encrypts, but does not ask who answers"
        }
        (Engine::Postgres, Obstacle::Certificate(Refusal::Protocol)) => {
            "TLS 1.2 and 1.3 are spoken here: see ssl_min_protocol_version and ssl_ciphers in the \
             server; sslmode=disable sends everything in the clear"
        }
        (Engine::MySql, Obstacle::Certificate(Refusal::Protocol)) => {
            "TLS 1.2 and 1.3 are spoken here: see tls_version and ssl_cipher in the server; \
             ssl-mode=DISABLED sends everything in the clear"
        }
        (Engine::Postgres, Obstacle::NotThisWay) => {
            "add a line to pg_hba.conf for this user, database and address, and reload; where it \
             has one for hostssl only, sslmode=require encrypts"
        }
        (Engine::MySql, Obstacle::NotThisWay) => {
            "ssl-mode=REQUIRED encrypts, as the server's require_secure_transport asks for"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connection(engine: Engine, address: Address, ssl_mode: SslMode) -> Connection {
        Connection {
            engine,
            address,
            port: 1,
            user: "app".into(),
            password: None,
            database: "shop".into(),
            ssl_mode,
            ssl_root_cert: None,
            connect_timeout_s: 10,
            options: None,
            client_certificate: None,
        }
    }

    #[test]
    fn what_was_asked_for_is_what_is_set_up() {
        let tcp = || Address::Tcp("db.example".into());
        let socket = || Address::Socket("/run/s".into());
        let required = |engine, address, mode| {
            let tls = of(&connection(engine, address, mode)).unwrap();
            tls.map(|tls| (tls.required, format!("{:?}", tls.name)))
        };
        for engine in [Engine::Postgres, Engine::MySql] {
            assert_eq!(required(engine, tcp(), SslMode::Disable), None);
            let (is_required, name) = required(engine, tcp(), SslMode::Prefer).unwrap();
            assert!(!is_required && name.contains("db.example"), "{name}");
            let (is_required, _) = required(engine, tcp(), SslMode::Require).unwrap();
            assert!(is_required);
        }
        assert_eq!(required(Engine::Postgres, socket(), SslMode::Require), None);
        let (is_required, name) = required(Engine::MySql, socket(), SslMode::Require).unwrap();
        assert!(is_required && name.contains("localhost"), "{name}");
        let zone = Address::Tcp("fe80::1%eth0".into());
        let (_, name) = required(Engine::Postgres, zone, SslMode::Require).unwrap();
        assert!(name.contains("IpAddress"), "{name}");
    }

    #[test]
    fn a_name_that_no_certificate_can_have_is_an_error_where_tls_is_a_must() {
        let odd = |mode| {
            let address = Address::Tcp("a..b".into());
            of(&connection(Engine::MySql, address, mode))
        };
        assert!(odd(SslMode::Prefer).unwrap().is_none());
        let error = odd(SslMode::Require).unwrap_err().to_string();
        assert!(error.contains("a..b"), "{error}");
    }

    #[test]
    fn roots_that_cannot_be_read_are_named_with_the_server_and_the_parameter() {
        for (engine, parameter) in [
            (Engine::Postgres, "sslrootcert=FILE"),
            (Engine::MySql, "ssl-ca=FILE"),
        ] {
            let asked = Connection {
                ssl_root_cert: Some("/nonexistent/ca.pem".into()),
                ..connection(engine, Address::Tcp("db".into()), SslMode::VerifyFull)
            };
            let error = of(&asked).unwrap_err();
            let text = error.to_string();
            assert!(text.contains("db") && text.contains("ca.pem"), "{text}");
            assert!(error.hint().unwrap().contains(parameter));
        }
    }

    #[test]
    fn hints_name_the_parameter_of_the_engine() {
        let (postgres, mysql) = ("postgres://u@h:1/d", "mysql://u@h:1/d");
        let none = WireError::TlsNotOffered;
        assert!(hint(postgres, &none).unwrap().contains("sslmode=disable"));
        assert!(hint(mysql, &none).unwrap().contains("ssl-mode=DISABLED"));
        let unknown = rustls::CertificateError::UnknownIssuer;
        let untrusted = WireError::Tls(rustls::Error::InvalidCertificate(unknown));
        assert!(hint(postgres, &untrusted).unwrap().contains("sslrootcert"));
        assert!(hint(mysql, &untrusted).unwrap().contains("ssl-ca"));
        assert_eq!(hint(mysql, &WireError::Closed), None);
    }
}
