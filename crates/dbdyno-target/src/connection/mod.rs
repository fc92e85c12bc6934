//! From what the user typed to one resolved connection, and from there to a session.

mod connect;
mod conninfo;
mod error;
mod mysql;
mod parameters;
mod passfile;
mod system_user;
#[cfg(test)]
mod tests;
mod uri;

use std::path::{Path, PathBuf};

use dbdyno_model::{Address, Connection, Engine, Secret, SslMode};

pub use connect::{ConnectError, connect, connect_as};
pub use error::ConnectionError;
#[doc(hidden)]
pub use mysql::read_options;
pub use system_user::SystemUser;

use parameters::Parameters;

/// Seconds to wait for a server when nobody says; libpq would wait for ever.
const DEFAULT_TIMEOUT_S: u64 = 10;

/// Resolves a URI, key=value parameters or the name of a database to one connection.
///
/// What is not given comes from the variables of libpq, then from the password file; behind
/// `mysql://` and `mariadb://`, from the variables of their client, then from its option files.
///
/// # Errors
/// Where `target` cannot be read, asks for what is not supported, or finds an open password file.
pub fn resolve(
    target: &str,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Connection, ConnectionError> {
    resolve_on(&Machine::this(), target, environment)
}

/// What the defaults depend on, beside the environment.
struct Machine {
    user: Option<String>,
    home: Option<PathBuf>,
    /// PostgreSQL's.
    socket_directories: Vec<PathBuf>,
    mysql_sockets: Vec<PathBuf>,
    /// Everybody's; `~/.my.cnf` comes after them.
    mysql_option_files: Vec<PathBuf>,
}

impl Machine {
    fn this() -> Self {
        let uid = rustix::process::geteuid().as_raw().to_string();
        let passwd = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        let entry: Option<Vec<&str>> = passwd
            .lines()
            .map(|line| line.split(':').collect())
            .find(|fields: &Vec<&str>| fields.get(2) == Some(&uid.as_str()));
        let field = |index: usize| entry.as_ref()?.get(index).map(|field| (*field).to_owned());
        Self {
            user: field(0),
            home: field(5).map(PathBuf::from),
            socket_directories: vec!["/var/run/postgresql".into(), "/tmp".into()],
            mysql_sockets: mysql::SOCKETS.iter().map(PathBuf::from).collect(),
            mysql_option_files: mysql::OPTION_FILES.iter().map(PathBuf::from).collect(),
        }
    }

    fn home(&self, environment: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
        environment("HOME")
            .map(PathBuf::from)
            .or_else(|| self.home.clone())
    }

    /// Who the user is to a server that was told no name.
    fn user(
        &self,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<String, ConnectionError> {
        self.user
            .clone()
            .or_else(|| environment("USER"))
            .ok_or(ConnectionError::NoUser)
    }

    /// The directory with the server's socket, or else the first one that exists.
    fn socket_directory(&self, port: u16) -> PathBuf {
        let socket = format!(".s.PGSQL.{port}");
        let directories = &self.socket_directories;
        directories
            .iter()
            .find(|directory| directory.join(&socket).exists())
            .or_else(|| directories.iter().find(|directory| directory.is_dir()))
            .cloned()
            .unwrap_or_else(|| "/tmp".into())
    }
}

fn resolve_on(
    machine: &Machine,
    target: &str,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Connection, ConnectionError> {
    for (scheme, flavour) in mysql::SCHEMES {
        if let Some(rest) = target.strip_prefix(*scheme) {
            return mysql::resolve_on(machine, *flavour, rest, environment);
        }
    }
    let mut given = parse(target)?;
    given.fill(environment)?;
    let home = machine.home(environment);

    let port = given.get("port").map(read_port).transpose()?;
    let port = port.unwrap_or(5432);
    let address = match given.get("host") {
        Some(host) => read_host(host)?,
        None => Address::Socket(machine.socket_directory(port)),
    };
    let user = match given.get("user") {
        Some(user) => user.to_owned(),
        None => machine.user(environment)?,
    };
    let mut connection = Connection {
        engine: Engine::Postgres,
        address,
        port,
        password: given.get("password").map(Secret::new),
        database: given.get("dbname").unwrap_or(&user).to_owned(),
        user,
        ssl_mode: SslMode::Disable,
        ssl_root_cert: None,
        connect_timeout_s: read_timeout("connect_timeout", given.get("connect_timeout"))?,
    };
    (connection.ssl_mode, connection.ssl_root_cert) =
        read_tls(&given, &connection, home.as_deref())?;
    if connection.password.is_none() {
        let file = given
            .get("passfile")
            .map(PathBuf::from)
            .or_else(|| Some(home?.join(".pgpass")));
        if let Some(file) = file {
            connection.password = passfile::find(&file, &connection)?;
        }
    }
    Ok(connection)
}

fn parse(target: &str) -> Result<Parameters, ConnectionError> {
    for scheme in ["postgres://", "postgresql://"] {
        if let Some(rest) = target.strip_prefix(scheme) {
            return uri::parse(rest);
        }
    }
    if let Some((scheme, _)) = target.split_once("://")
        && !scheme.is_empty()
        && scheme.bytes().all(|b| b.is_ascii_alphanumeric())
    {
        return Err(ConnectionError::OtherScheme(scheme.to_owned()));
    }
    if target.contains('=') {
        return conninfo::parse(target);
    }
    // A bare word names a database, as it does for psql; with these in it, it is rather a URI
    // without its scheme, and may hold a password.
    let target = target.trim();
    if target.contains([':', '/', '@', ' ', '\0']) {
        return Err(ConnectionError::NotUnderstood);
    }
    let mut parameters = Parameters::default();
    parameters.set("dbname", target.to_owned())?;
    Ok(parameters)
}

fn read_port(port: &str) -> Result<u16, ConnectionError> {
    if port.contains(',') {
        return Err(ConnectionError::SeveralHosts);
    }
    let number = port.parse().ok().filter(|number| *number > 0);
    number.ok_or(ConnectionError::BadValue {
        parameter: "port",
        expected: "a number from 1 to 65535",
    })
}

fn read_host(host: &str) -> Result<Address, ConnectionError> {
    if host.contains(',') {
        Err(ConnectionError::SeveralHosts)
    } else if host.starts_with('/') {
        Ok(Address::Socket(host.into()))
    } else if host.contains(['/', '@', ' ', '\0']) {
        Err(ConnectionError::BadValue {
            parameter: "host",
            expected: "a host name, an address or the absolute path of a socket directory",
        })
    } else {
        Ok(Address::Tcp(host.to_owned()))
    }
}

/// Zero and less wait for ever, as in libpq.
fn read_timeout(parameter: &'static str, seconds: Option<&str>) -> Result<u64, ConnectionError> {
    let Some(seconds) = seconds else {
        return Ok(DEFAULT_TIMEOUT_S);
    };
    let seconds: i32 = seconds
        .trim()
        .parse()
        .map_err(|_| ConnectionError::BadValue {
            parameter,
            expected: "a whole number of seconds",
        })?;
    Ok(u64::try_from(seconds).unwrap_or(0))
}

/// An explicit mode is obeyed; silence trusts this host and verifies every other.
fn read_tls(
    given: &Parameters,
    connection: &Connection,
    home: Option<&Path>,
) -> Result<(SslMode, Option<PathBuf>), ConnectionError> {
    let explicit = given.get("sslmode").map(read_mode).transpose()?;
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
    if wants_system || matches!(mode, SslMode::Disable | SslMode::Prefer) {
        return Ok((mode, None));
    }
    let file = given.get("sslrootcert").map(PathBuf::from).or_else(|| {
        let file = home?.join(".postgresql/root.crt");
        file.is_file().then_some(file)
    });
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
