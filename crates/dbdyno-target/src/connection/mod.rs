//! From what the user typed to one resolved connection, and from there to a session.

mod candidates;
mod connect;
mod connect_error;
mod conninfo;
mod error;
#[cfg(test)]
mod host_list_tests;
mod hosts;
mod known;
mod mysql;
mod parameters;
mod passfile;
mod password;
mod service;
#[cfg(test)]
mod service_tests;
mod started;
mod system_user;
#[cfg(test)]
mod tests;
mod tls;
mod uri;

use std::path::{Path, PathBuf};

use dbdyno_model::{Address, Connection, Engine, Secret, SslMode};

pub use candidates::{Candidates, Found, SessionKind};
pub use connect::{connect, connect_as};
pub use connect_error::ConnectError;
pub use error::ConnectionError;
#[doc(hidden)]
pub use mysql::read_options;
pub use password::{PasswordError, password_from_command, password_from_file};
#[doc(hidden)]
pub use service::read_service;
pub use system_user::SystemUser;

use parameters::Parameters;

/// Seconds to wait for a server when nobody says; libpq would wait for ever.
const DEFAULT_TIMEOUT_S: u64 = 10;

/// Resolves a URI, key=value parameters or the name of a database to the servers that it names.
///
/// What is not given comes from the service that was asked for, from the variables of libpq, then
/// from the password file; behind `mysql://` and `mariadb://`, from the variables of their client,
/// then from its option files.
///
/// # Errors
/// Where `target` or a service cannot be read or asks for what is not supported, or where the
/// password file is open to others.
pub fn resolve(
    target: &str,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Candidates, ConnectionError> {
    resolve_on(&Machine::this(), target, environment, None)
}

/// The same with a password that beats every other.
///
/// # Errors
/// As [`resolve`].
pub fn resolve_with(
    target: &str,
    environment: &dyn Fn(&str) -> Option<String>,
    password: Secret,
) -> Result<Candidates, ConnectionError> {
    resolve_on(&Machine::this(), target, environment, Some(password))
}

/// What the defaults depend on, beside the environment.
struct Machine {
    user: Option<String>,
    home: Option<PathBuf>,
    /// PostgreSQL's.
    socket_directories: Vec<PathBuf>,
    /// Of libpq's system-wide service file.
    service_directories: Vec<PathBuf>,
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
            service_directories: service::DIRECTORIES.iter().map(PathBuf::from).collect(),
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
    password: Option<Secret>,
) -> Result<Candidates, ConnectionError> {
    for (scheme, flavour) in mysql::SCHEMES {
        if let Some(rest) = target.strip_prefix(*scheme) {
            let resolved = mysql::resolve_on(machine, *flavour, rest, environment, password);
            return resolved.map(Candidates::one);
        }
    }
    let mut given = parse(target)?;
    service::fill(&mut given, machine, environment)?;
    given.fill(environment)?;
    let home = machine.home(environment);
    let user = match given.get("user") {
        Some(user) => user.to_owned(),
        None => machine.user(environment)?,
    };
    let timeout = |seconds: &str| read_timeout("connect_timeout", Some(seconds));
    let timeout = given.read("connect_timeout", timeout)?;
    let kind = given.read("target_session_attrs", SessionKind::read)?;
    let shuffled = given.read("load_balance_hosts", hosts::read_balancing)?;
    let password = password.or_else(|| given.get("password").map(Secret::new));
    let database = given.get("dbname").unwrap_or(&user);
    let options = given.get("options").map(str::to_owned);

    let of_host = |(host, port): (Option<Address>, u16)| {
        let address = host.unwrap_or_else(|| Address::Socket(machine.socket_directory(port)));
        let connection = Connection {
            engine: Engine::Postgres,
            address,
            port,
            password: password.clone(),
            database: database.to_owned(),
            user: user.clone(),
            ssl_mode: SslMode::Disable,
            ssl_root_cert: None,
            connect_timeout_s: timeout.unwrap_or(DEFAULT_TIMEOUT_S),
            options: options.clone(),
            client_certificate: None,
        };
        let connection = tls::complete(&given, connection, home.as_deref())?;
        with_password(&given, connection, home.as_deref())
    };
    let (first, others) = hosts::read(&given)?;
    let others = others.into_iter().map(&of_host);
    let others = others.collect::<Result<Vec<_>, _>>()?;
    let candidates = Candidates::new(of_host(first)?, others, kind.unwrap_or(SessionKind::Any));
    Ok(match shuffled {
        Some(true) => candidates.shuffled(),
        _ => candidates,
    })
}

/// With the password file's, where nothing else has given one.
fn with_password(
    given: &Parameters,
    connection: Connection,
    home: Option<&Path>,
) -> Result<Connection, ConnectionError> {
    if connection.password.is_some() {
        return Ok(connection);
    }
    let named = given.get("passfile").map(PathBuf::from);
    let Some(file) = named.or_else(|| Some(home?.join(".pgpass"))) else {
        return Ok(connection);
    };
    let password = passfile::find(&file, &connection)?;
    Ok(Connection {
        password,
        ..connection
    })
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
    let number = port.parse().ok().filter(|number| *number > 0);
    number.ok_or(ConnectionError::BadValue {
        parameter: "port",
        expected: "a number from 1 to 65535",
    })
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
