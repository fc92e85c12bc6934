//! Whether to encrypt, whom to trust and what to show: what libpq's parameters say of TLS.

use std::path::{Path, PathBuf};

use dbdyno_model::{Address, ClientCertificate, Connection, SslMode};

use super::error::ConnectionError;
use super::parameters::Parameters;

/// The connection with all that its parameters, or silence, say of TLS.
pub(super) fn complete(
    given: &Parameters,
    connection: Connection,
    home: Option<&Path>,
) -> Result<Connection, ConnectionError> {
    let (ssl_mode, ssl_root_cert) = mode_and_roots(given, &connection, home)?;
    let client_certificate = match ssl_mode {
        SslMode::Disable => None,
        _ => client_certificate(given, home)?,
    };
    Ok(Connection {
        ssl_mode,
        ssl_root_cert,
        client_certificate,
        ..connection
    })
}

/// As libpq: the one that was named, else the user's own if there is one; a key goes with it.
fn client_certificate(
    given: &Parameters,
    home: Option<&Path>,
) -> Result<Option<ClientCertificate>, ConnectionError> {
    if given.read("sslcertmode", read_certificate_mode)? == Some(false) {
        return Ok(None);
    }
    let own = |name: &str| Some(home?.join(".postgresql").join(name));
    let named = given.get("sslcert").map(PathBuf::from);
    let users = || own("postgresql.crt").filter(|file| file.is_file());
    let Some(chain) = named.or_else(users) else {
        return Ok(None);
    };
    let named = given.get("sslkey").map(PathBuf::from);
    let key = named.or_else(|| own("postgresql.key"));
    let key = key.ok_or(ConnectionError::NoClientKey)?;
    Ok(Some(ClientCertificate { chain, key }))
}

/// Whether a certificate is shown to a server that asks for one.
fn read_certificate_mode(mode: &str) -> Result<bool, ConnectionError> {
    match mode {
        "disable" => Ok(false),
        "allow" => Ok(true),
        "require" => Err(ConnectionError::Unsupported {
            parameter: "sslcertmode",
            instead: "let the server insist, with clientcert or cert in its pg_hba.conf",
        }),
        _ => Err(ConnectionError::BadValue {
            parameter: "sslcertmode",
            expected: "disable or allow",
        }),
    }
}

/// An explicit mode is obeyed; silence trusts this host and verifies every other.
fn mode_and_roots(
    given: &Parameters,
    connection: &Connection,
    home: Option<&Path>,
) -> Result<(SslMode, Option<PathBuf>), ConnectionError> {
    let explicit = given.read("sslmode", read_mode)?;
    // TLS is not spoken on a socket, whatever is asked for.
    if matches!(connection.address, Address::Socket(_)) {
        return Ok((SslMode::Disable, None));
    }
    let wants_system = given.get("sslrootcert") == Some("system");
    let mode = match explicit {
        Some(mode) if wants_system && mode != SslMode::VerifyFull => {
            return Err(ConnectionError::SystemRootsUnverified);
        }
        Some(mode) => mode,
        None if connection.is_local() && !wants_system => SslMode::Prefer,
        None => SslMode::VerifyFull,
    };
    if matches!(mode, SslMode::Disable | SslMode::Prefer) {
        return Ok((mode, None));
    }
    let own = |name: &str| {
        let file = home?.join(".postgresql").join(name);
        file.is_file().then_some(file)
    };
    let named = given.get("sslrootcert").filter(|_| !wants_system);
    let file = match named {
        Some(file) => Some(PathBuf::from(file)),
        None if wants_system => None,
        None => own("root.crt"),
    };
    // Anybody has a certificate of one of this system's authorities: without the name it proves nothing.
    if mode == SslMode::VerifyCa && file.is_none() {
        return Err(ConnectionError::NoAuthority);
    }
    // As libpq, which looks there wherever it goes by a file of roots.
    if let Some(path) = own("root.crl").filter(|_| file.is_some()) {
        return Err(ConnectionError::RevocationList { path });
    }
    Ok((mode, file))
}

fn read_mode(mode: &str) -> Result<SslMode, ConnectionError> {
    Ok(match mode {
        "disable" => SslMode::Disable,
        // `allow` encrypts when the server insists; prefer does too, and also when it does not.
        "allow" | "prefer" => SslMode::Prefer,
        "require" => SslMode::Require,
        "verify-ca" => SslMode::VerifyCa,
        "verify-full" => SslMode::VerifyFull,
        _ => {
            return Err(ConnectionError::BadValue {
                parameter: "sslmode",
                expected: "disable, allow, prefer, require, verify-ca or verify-full",
            });
        }
    })
}
