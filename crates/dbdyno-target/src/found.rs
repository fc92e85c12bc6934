//! Reaches a server that was found by its process, as an administrator on its host would: without a password.

use std::path::PathBuf;

use ::postgres::Client;
use dbdyno_model::{Address, Connection};

use crate::connection::{self, ConnectError, ConnectionError, SystemUser};
use crate::host::{Postmaster, Root, account_of, postgres_sockets};
use crate::process;

/// The role that initdb makes where it is not told another.
const USUAL_ROLE: &str = "postgres";

/// Exists nearly everywhere.
const DATABASE: &str = "postgres";

/// Whoever watches a server reads, and hardly writes: where rows are written is the work. A standby
/// counts none.
const BUSIEST: &str = "SELECT d.datname::text
FROM pg_database d JOIN pg_stat_database s ON s.datid = d.oid
WHERE d.datallowconn AND NOT d.datistemplate AND has_database_privilege(d.oid, 'CONNECT')
ORDER BY s.tup_inserted + s.tup_updated + s.tup_deleted DESC, s.blks_hit + s.blks_read DESC,
    d.datname
LIMIT 1";

#[derive(Debug, thiserror::Error)]
pub enum ReachError {
    #[error("neither its socket nor its port can be seen from here")]
    NoAddress,
    #[error(transparent)]
    Address(#[from] ConnectionError),
    #[error(transparent)]
    Connect(#[from] ConnectError),
}

impl ReachError {
    /// What to do next, where there is something to say.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoAddress => Some(
                "run dbdyno as root or as the server's account, or name the server: \
                 dbdyno check postgres://user@localhost:PORT/postgres"
                    .into(),
            ),
            Self::Address(error) => error.hint(),
            Self::Connect(error) if is_refusal(error) => Some(
                "run dbdyno as root or as the server's account, or name the server with a role \
                 that may connect: dbdyno check 'postgres:///postgres?host=DIRECTORY&user=ROLE'"
                    .into(),
            ),
            Self::Connect(error) => error.hint(),
        }
    }
}

/// Opens a session with the server, in this database, or else in the one that does most of the work.
///
/// Roles are tried in turn: for root the one of the server's account, whose name `peer` asks for;
/// then the one of whoever runs this; then the usual one. No password is sent to a server that
/// nobody named.
///
/// # Errors
/// Why the first role was turned away, or why the server does not answer.
pub fn reach(
    server: &Postmaster,
    database: Option<&str>,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Client, ReachError> {
    let address = address(server).ok_or(ReachError::NoAddress)?;
    let asked = |name: &str| match name {
        // A service may hold a password, too.
        "PGPASSWORD" | "PGSERVICE" => None,
        "PGPASSFILE" => Some("/dev/null".to_owned()),
        name => environment(name),
    };
    let mut invoking = connection::resolve(&address, &asked)?.first();
    if let Some(database) = database {
        database.clone_into(&mut invoking.database);
    }
    let mut first = None;
    for (role, as_whom) in attempts(server, &invoking) {
        let connection = Connection {
            user: role,
            ..invoking.clone()
        };
        match connection::connect_as(&connection, as_whom) {
            Ok(mut client) => {
                // A port may be somebody else's, where the server is in a network of its own.
                let is_sure = matches!(connection.address, Address::Socket(_));
                if !is_sure && !is_session_of(&mut client, server.pid) {
                    return Err(ReachError::NoAddress);
                }
                return Ok(match database {
                    Some(_) => client,
                    None => in_busiest(client, &connection, as_whom),
                });
            }
            Err(error) if is_refusal(&error) => {
                first.get_or_insert(error);
            }
            Err(error) => return Err(error.into()),
        }
    }
    Err(first.map_or(ReachError::NoAddress, ReachError::Connect))
}

/// The same session where there is no busier database, or none that lets this role in.
fn in_busiest(mut client: Client, connection: &Connection, as_whom: Option<SystemUser>) -> Client {
    let busiest = busiest(&mut client).ok().flatten();
    let Some(database) = busiest.filter(|name| *name != connection.database) else {
        return client;
    };
    let connection = Connection {
        database,
        ..connection.clone()
    };
    connection::connect_as(&connection, as_whom).unwrap_or(client)
}

fn busiest(client: &mut Client) -> Result<Option<String>, ::postgres::Error> {
    let mut transaction = client.build_transaction().read_only(true).start()?;
    transaction.batch_execute(
        "SET LOCAL search_path = pg_catalog, pg_temp; SET LOCAL statement_timeout = '5s'",
    )?;
    let row = transaction.query_opt(BUSIEST, &[])?;
    row.map(|row| row.try_get(0)).transpose()
}

/// Whether our own backend is a child of this main process.
fn is_session_of(client: &mut Client, postmaster: u32) -> bool {
    let row = client.query_one("SELECT pg_catalog.pg_backend_pid()", &[]);
    let backend = row.and_then(|row| row.try_get::<_, i32>(0)).ok();
    backend
        .and_then(|backend| process::stat(u32::try_from(backend).ok()?))
        .is_some_and(|backend| backend.parent == postmaster)
}

/// Roles with the account to connect as, each pair once.
fn attempts(server: &Postmaster, invoking: &Connection) -> Vec<(String, Option<SystemUser>)> {
    let owner = server.uid.map(|uid| SystemUser {
        uid,
        gid: server.gid.unwrap_or(uid),
    });
    // Only root can connect as somebody else, and only then.
    let is_root = rustix::process::geteuid().is_root();
    let as_owner = owner.filter(|owner| is_root && owner.uid != 0);
    let own_role = account(server);
    let mut attempts: Vec<(String, Option<SystemUser>)> = Vec::new();
    if let Some(role) = own_role.clone().filter(|_| as_owner.is_some()) {
        attempts.push((role, as_owner));
    }
    attempts.push((invoking.user.clone(), None));
    attempts.extend(own_role.map(|role| (role, as_owner)));
    attempts.push((USUAL_ROLE.to_owned(), as_owner));
    attempts.push((USUAL_ROLE.to_owned(), None));
    let mut tried = Vec::new();
    attempts.retain(|attempt| {
        let is_new = !tried.contains(attempt);
        tried.push(attempt.clone());
        is_new
    });
    attempts
}

/// The name on this host of the account that the server runs as.
pub fn account(server: &Postmaster) -> Option<String> {
    account_of(&Root::host(), server.uid?)
}

/// The server turned this role away, and may let another one in.
fn is_refusal(error: &ConnectError) -> bool {
    matches!(
        error,
        ConnectError::Rejected { .. }
            | ConnectError::NoHbaEntry { .. }
            | ConnectError::WrongPassword { .. }
            | ConnectError::PasswordNeeded { .. }
            | ConnectError::SocketDenied { .. }
            | ConnectError::SystemUser { .. }
    )
}

/// Connection parameters of a socket on which this very process listens, else of its port.
fn address(server: &Postmaster) -> Option<String> {
    let known = server.socket_directory.iter().zip(server.port);
    let mut known = known.flat_map(|(directory, port)| {
        // A server in a container has its own file system.
        let inside = format!("/proc/{}/root{}", server.pid, directory.display());
        [(directory.clone(), port), (PathBuf::from(inside), port)]
    });
    // Where its files may not be read, the kernel's list of sockets may be.
    let listed = || postgres_sockets(&Root::host()).into_iter();
    let is_its_own = |(directory, port): &(PathBuf, u16)| {
        let socket = directory.join(format!(".s.PGSQL.{port}"));
        process::listener(&socket) == Some(server.pid)
    };
    let socket = known.find(is_its_own).or_else(|| listed().find(is_its_own));
    if let Some((directory, port)) = socket {
        let host = quoted(&directory.display().to_string());
        return Some(format!("host={host} port={port} dbname={DATABASE}"));
    }
    let port = server.port?;
    let host = match server.listen_address.as_deref()? {
        "*" | "0.0.0.0" | "localhost" => "127.0.0.1".to_owned(),
        "::" => "::1".to_owned(),
        address => address.to_owned(),
    };
    Some(format!(
        "host={} port={port} dbname={DATABASE}",
        quoted(&host)
    ))
}

/// A value as key=value parameters take it.
fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\\', "\\\\").replace('\'', "\\'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn invoking(user: &str) -> Connection {
        let parameters = format!("host=/tmp user={user} dbname=postgres");
        resolved(&parameters)
    }

    fn resolved(parameters: &str) -> Connection {
        let no_password = |name: &str| (name == "PGPASSFILE").then(|| "/dev/null".to_owned());
        connection::resolve(parameters, &no_password)
            .unwrap()
            .first()
    }

    #[test]
    fn nothing_is_tried_twice() {
        // Nobody has that number, so that no role is named after the account.
        let server = Postmaster {
            uid: Some(u32::MAX - 7),
            ..Postmaster::default()
        };
        let mut roles: Vec<String> = attempts(&server, &invoking("alice"))
            .into_iter()
            .map(|(role, _)| role)
            .collect();
        roles.dedup();
        assert_eq!(roles, ["alice", "postgres"]);
        let attempts = attempts(&server, &invoking("postgres"));
        let first = &attempts[0];
        assert_eq!(*first, ("postgres".to_owned(), None));
        assert!(!attempts[1..].contains(first), "{attempts:?}");
    }

    #[test]
    fn an_odd_directory_is_one_value() {
        let parameters = format!("host={} dbname=postgres", quoted("/tmp/it's \\ here"));
        let connection = resolved(&parameters);
        assert_eq!(
            connection.address,
            Address::Socket("/tmp/it's \\ here".into())
        );
    }

    #[test]
    fn a_server_without_an_address_is_told_so() {
        let server = Postmaster {
            pid: u32::MAX - 7,
            port: Some(5432),
            ..Postmaster::default()
        };
        let error = reach(&server, None, &|_| None).err().unwrap();
        assert!(matches!(error, ReachError::NoAddress), "{error}");
        assert!(error.hint().is_some());
    }
}
