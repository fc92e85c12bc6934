//! `mysql://…` and `mariadb://…`, completed from where the mysql client looks too.
//!
//! What the URI says beats the environment, which beats the option files. The client itself lets
//! the files beat the environment; a variable is set for one command, though, and a file for all.

mod options;
mod settings;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use dbdyno_model::{Address, Connection, Engine, Secret, SslMode};

use super::error::{ConnectionError, MYSQL_URI};
use super::uri::{self, Part};
use super::{Machine, read_timeout};

pub use options::read_options;

use settings::{Given, Settings};

const DEFAULT_PORT: u16 = 3306;

/// The host that means this host's socket.
const LOCAL: &str = "localhost";

/// Where distributions put the server's socket.
pub(super) const SOCKETS: &[&str] = &[
    "/run/mysqld/mysqld.sock",
    "/var/run/mysqld/mysqld.sock",
    "/var/lib/mysql/mysql.sock",
    "/tmp/mysql.sock",
];

pub(super) const OPTION_FILES: &[&str] = &["/etc/my.cnf", "/etc/mysql/my.cnf"];

pub(super) const SCHEMES: &[(&str, Flavour)] = &[
    ("mysql://", Flavour::MySql),
    ("mariadb://", Flavour::MariaDb),
];

/// Whose client's option groups are read; the protocol is the same.
#[derive(Debug, Clone, Copy)]
pub(super) enum Flavour {
    MySql,
    MariaDb,
}

impl Flavour {
    /// Groups for every client program, not for one of them.
    fn groups(self) -> &'static [&'static str] {
        match self {
            Self::MySql => &["client"],
            Self::MariaDb => &[
                "client",
                "client-server",
                "client-mariadb",
                "mariadb-client",
            ],
        }
    }
}

/// Resolves what follows the `//`.
pub(super) fn resolve_on(
    machine: &Machine,
    flavour: Flavour,
    text: &str,
    environment: &dyn Fn(&str) -> Option<String>,
    password: Option<Secret>,
) -> Result<Connection, ConnectionError> {
    let mut files = machine.mysql_option_files.clone();
    files.extend(machine.home(environment).map(|home| home.join(".my.cnf")));
    let given = Given {
        typed: read_uri(text)?,
        environment: Settings::of_environment(environment),
        files: options::read_files(&files, flavour.groups()),
    };
    let port = given.get("port").map(read_port).transpose()?;
    let user = match given.get("user") {
        Some(user) => user.to_owned(),
        None => machine.user(environment)?,
    };
    let mut connection = Connection {
        engine: Engine::MySql,
        address: address(machine, &given)?,
        port: port.unwrap_or(DEFAULT_PORT),
        user,
        password: password.or_else(|| given.get("password").map(Secret::new)),
        database: given.get("database").unwrap_or_default().to_owned(),
        ssl_mode: SslMode::Disable,
        ssl_root_cert: None,
        connect_timeout_s: read_timeout("connect-timeout", given.get("connect-timeout"))?,
        options: None,
        client_certificate: None,
    };
    (connection.ssl_mode, connection.ssl_root_cert) = tls(&given, &connection)?;
    Ok(connection)
}

fn read_uri(text: &str) -> Result<Settings, ConnectionError> {
    let mut typed = Settings::default();
    let read = uri::read(text, &mut |part, value| {
        let name = match part {
            Part::User => "user",
            Part::Password => "password",
            Part::Host => "host",
            Part::Port => "port",
            Part::Database => "database",
            Part::Query(name) => query(name)?,
        };
        // At once: what stands there may be a piece of a password, and a later error would not
        // know.
        if name == "port" && !value.is_empty() {
            read_port(&value)?;
        }
        typed.set(name, value);
        Ok(())
    });
    match read {
        Err(ConnectionError::Malformed { why, .. }) => Err(malformed(why)),
        Err(error) => Err(error),
        Ok(()) => Ok(typed),
    }
}

/// The parameter's own name: `ssl_ca` is `ssl-ca`, as it is everywhere with MySQL.
fn query(name: &str) -> Result<&'static str, ConnectionError> {
    const KNOWN: [&str; 4] = ["socket", "ssl-mode", "ssl-ca", "connect-timeout"];
    let spelled = name.replace('_', "-");
    if let Some(known) = KNOWN.into_iter().find(|known| *known == spelled) {
        return Ok(known);
    }
    // Anything but a plain word may be a piece of a password that was not encoded.
    let is_word = name
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    if name.is_empty() || name.len() > 40 || !is_word {
        return Err(malformed(
            "a name in front of `=` is not one of a parameter",
        ));
    }
    Err(ConnectionError::UnknownMySqlParameter {
        name: name.to_owned(),
    })
}

/// `localhost` is this host's socket, unless a port was typed: one that stands in a file is the
/// server's own, or meant for other hosts.
fn address(machine: &Machine, given: &Given) -> Result<Address, ConnectionError> {
    if let Some(socket) = given.typed.get("socket") {
        return match given.typed.get("host") {
            None | Some(LOCAL) => read_socket(socket),
            Some(_) => Err(malformed(
                "`socket` reaches this host, and the URI names another",
            )),
        };
    }
    let host = given.get("host").unwrap_or(LOCAL);
    if host.starts_with('/') {
        return read_socket(host);
    }
    if host != LOCAL || given.typed.get("port").is_some() {
        return read_host(host);
    }
    match given.get("socket") {
        Some(socket) => read_socket(socket),
        None => Ok(Address::Socket(socket_of(machine))),
    }
}

/// The first that exists, or else the first, so that its absence is what is complained of.
fn socket_of(machine: &Machine) -> PathBuf {
    let sockets = &machine.mysql_sockets;
    let existing = sockets.iter().find(|socket| socket.exists());
    let found = existing.or(sockets.first()).cloned();
    found.unwrap_or_else(|| SOCKETS[0].into())
}

/// One, since there is one host.
fn read_port(port: &str) -> Result<u16, ConnectionError> {
    if port.contains(',') {
        return Err(ConnectionError::SeveralHosts);
    }
    super::read_port(port)
}

fn read_socket(path: &str) -> Result<Address, ConnectionError> {
    if !path.starts_with('/') || path.contains('\0') {
        return Err(ConnectionError::BadValue {
            parameter: "socket",
            expected: "the absolute path of the server's socket",
        });
    }
    Ok(Address::Socket(path.into()))
}

fn read_host(host: &str) -> Result<Address, ConnectionError> {
    if host.contains(',') {
        return Err(ConnectionError::SeveralHosts);
    }
    if host.contains(['/', '@', ' ', '\0']) {
        return Err(ConnectionError::BadValue {
            parameter: "host",
            expected: "a host name, an address or the absolute path of the server's socket",
        });
    }
    Ok(Address::Tcp(host.to_owned()))
}

/// An explicit mode is obeyed, even on a socket, where MySQL speaks TLS too; silence trusts this
/// host and verifies every other.
fn tls(
    given: &Given,
    connection: &Connection,
) -> Result<(SslMode, Option<PathBuf>), ConnectionError> {
    let explicit = given.get("ssl-mode").map(read_mode).transpose()?;
    let roots = given.get("ssl-ca").map(PathBuf::from);
    let on_socket = matches!(connection.address, Address::Socket(_));
    let mode = match explicit {
        Some(SslMode::Prefer) | None if on_socket => SslMode::Disable,
        Some(mode) => mode,
        None if !connection.is_local() => SslMode::VerifyFull,
        // As the client: whoever names an authority wants it asked.
        None if roots.is_some() => SslMode::VerifyCa,
        None => SslMode::Prefer,
    };
    // As the client: this system's authorities vouch for anybody, and the name is not checked.
    if mode == SslMode::VerifyCa && roots.is_none() {
        return Err(ConnectionError::NoMySqlAuthority);
    }
    let verifies = !matches!(mode, SslMode::Disable | SslMode::Prefer);
    Ok((mode, roots.filter(|_| verifies)))
}

fn read_mode(mode: &str) -> Result<SslMode, ConnectionError> {
    Ok(match mode.to_ascii_uppercase().as_str() {
        "DISABLED" => SslMode::Disable,
        "PREFERRED" => SslMode::Prefer,
        "REQUIRED" => SslMode::Require,
        "VERIFY_CA" => SslMode::VerifyCa,
        "VERIFY_IDENTITY" => SslMode::VerifyFull,
        _ => {
            return Err(ConnectionError::BadValue {
                parameter: "ssl-mode",
                expected: "DISABLED, PREFERRED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY",
            });
        }
    })
}

fn malformed(why: &'static str) -> ConnectionError {
    ConnectionError::Malformed {
        form: MYSQL_URI,
        why,
    }
}
