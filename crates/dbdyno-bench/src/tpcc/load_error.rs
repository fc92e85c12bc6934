//! What can go wrong while loading, on either engine, and what to do then.

use postgres::error::SqlState;

use super::{Config, MAX_SETS, MAX_WAREHOUSES};
use crate::driver::{TargetError, client_tls_hint, deepest, tls_hint};
use crate::wire::{ServerError, WireError, read_only_hint, refused_as_read_only};

/// What kept us from the server, or what it said, by whichever way it is talked to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error(transparent)]
    Postgres(#[from] postgres::Error),
    #[error(transparent)]
    Wire(#[from] WireError),
}

#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("cannot load {0} warehouses: between 1 and {MAX_WAREHOUSES} are possible")]
    Warehouses(u32),
    #[error("cannot load {0} sets of tables: between 1 and {MAX_SETS} are possible")]
    Sets(u32),
    /// With what is wrong with it.
    #[error("cannot load the tables: {0}")]
    Invalid(String),
    #[error("cannot connect to {server}")]
    Connect { server: String, source: ClientError },
    #[error("cannot create table {table}: it is there already")]
    Exists {
        table: String,
        /// None where it was seen before anything was tried.
        source: Option<ClientError>,
    },
    /// With what it was a load of.
    #[error("cannot begin a load: one of \"{loaded}\" has not ended")]
    Unfinished { loaded: String },
    #[error("cannot resume the load: it is one of \"{found}\", not of \"{wanted}\"")]
    Differs { found: String, wanted: String },
    /// With what is wrong with it.
    #[error("cannot resume the load: {0}")]
    Unresumable(String),
    #[error("cannot {operation} {object}")]
    Sql {
        operation: &'static str,
        object: String,
        source: ClientError,
    },
    #[error("cannot create routine {name}")]
    Routine { name: String, source: ClientError },
    #[error("cannot create routine {0}: there is one of that name that dbdyno has not made")]
    RoutineTaken(String),
    #[error("the load was stopped")]
    Stopped,
}

impl ClientError {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        if let Self::Target(error) = self {
            return error.hint();
        }
        let known = self
            .read_only_hint()
            .or_else(|| self.connection_limit_hint())
            .or_else(|| ServerError::denied_hint(self.number(), self.sqlstate()?));
        if let Some(hint) = known {
            return Some(hint);
        }
        Some(match self.sqlstate() {
            Some("3D000" | "42000") if self.number().is_none_or(|number| number == 1049) => {
                "create the database, or name another"
            }
            Some("42501" | "42000") => "connect as a user who may read the tables of the load",
            Some("53300") => "raise max_connections, or use fewer connections",
            Some(_) => return None,
            None => "check that the server runs and that address and port are right",
        })
    }

    fn sqlstate(&self) -> Option<&str> {
        match self {
            Self::Target(_) => None,
            Self::Postgres(error) => error.code().map(SqlState::code),
            Self::Wire(error) => error.server().map(|server| server.sqlstate.as_str()),
        }
    }

    /// What to do where MySQL or MariaDB takes no more connections.
    fn connection_limit_hint(&self) -> Option<&'static str> {
        match self {
            Self::Wire(error) => error.server()?.connection_limit_hint(),
            Self::Target(_) | Self::Postgres(_) => None,
        }
    }

    /// What to do where the server takes no writes.
    fn read_only_hint(&self) -> Option<&'static str> {
        match self {
            Self::Wire(error) => error.server()?.read_only_hint(),
            _ => refused_as_read_only(self.sqlstate()?, "").map(read_only_hint),
        }
    }

    /// Whether a table could not be made because there is one of its name.
    pub(crate) fn is_duplicate_table(&self) -> bool {
        const MYSQL: &str = "42S01";
        let code = self.sqlstate();
        code == Some(SqlState::DUPLICATE_TABLE.code()) || code == Some(MYSQL)
    }

    /// MySQL's and MariaDB's error number.
    pub(crate) fn number(&self) -> Option<u16> {
        match self {
            Self::Wire(error) => error.server()?.number,
            Self::Target(_) | Self::Postgres(_) => None,
        }
    }

    /// The client libraries' own words may be as vague as "db error".
    pub fn deepest(&self) -> String {
        match self {
            Self::Postgres(error) => deepest(error),
            Self::Target(_) | Self::Wire(_) => self.to_string(),
        }
    }

    fn is_disk_full(&self) -> bool {
        let mysql = match self {
            Self::Wire(error) => error.server().is_some_and(mysql_disk_full),
            Self::Target(_) | Self::Postgres(_) => false,
        };
        mysql || self.sqlstate() == Some(SqlState::DISK_FULL.code())
    }
}

impl Config {
    /// # Errors
    /// There is no such database.
    pub(crate) fn is_possible(&self) -> Result<(), LoadError> {
        if !(1..=MAX_WAREHOUSES).contains(&self.warehouses) {
            return Err(LoadError::Warehouses(self.warehouses));
        }
        if !(1..=MAX_SETS).contains(&self.sets) {
            return Err(LoadError::Sets(self.sets));
        }
        Ok(())
    }
}

impl LoadError {
    /// Whether the server's disk is full.
    #[must_use]
    pub fn is_disk_full(&self) -> bool {
        self.client().is_some_and(ClientError::is_disk_full)
    }

    /// Whether this only followed from another thread's failure or from the wish to stop.
    pub(crate) fn is_interruption(&self) -> bool {
        const QUERY_INTERRUPTED: u16 = 1317;
        let interrupted = |client: &ClientError| {
            client.sqlstate() == Some(SqlState::QUERY_CANCELED.code())
                || client.number() == Some(QUERY_INTERRUPTED)
        };
        matches!(self, Self::Stopped) || self.client().is_some_and(interrupted)
    }

    /// Whether the server undid the transaction so that another could go on.
    pub(crate) fn is_deadlock(&self) -> bool {
        const DEADLOCK: u16 = 1213;
        self.client().and_then(ClientError::number) == Some(DEADLOCK)
    }

    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Warehouses(_) => Some("choose another number of warehouses"),
            Self::Sets(_) | Self::Invalid(_) => Some("choose another number"),
            Self::Connect { server, source } => Some(connect_hint(server, source)),
            Self::Exists { .. } => {
                Some("choose an empty database, or remove an earlier load with bench clean")
            }
            Self::Unfinished { .. } => Some(
                "--resume with the options of that load goes on with it, --replace removes it and \
                 begins anew",
            ),
            Self::Differs { .. } => Some(
                "name the options that it was begun with, or begin anew with --replace in place of \
                 --resume",
            ),
            Self::Unresumable(_) => Some("begin anew with --replace in place of --resume"),
            Self::Stopped => Some(
                "bench load --resume with the same options goes on, bench clean removes what was \
                 loaded so far",
            ),
            Self::Sql { source, .. } => source.read_only_hint().or_else(|| sql_hint(source)),
            Self::Routine { source, .. } => {
                source.read_only_hint().or_else(|| routine_hint(source))
            }
            Self::RoutineTaken(_) => Some("drop it if nobody needs it, or choose another database"),
        }
    }

    fn client(&self) -> Option<&ClientError> {
        match self {
            Self::Connect { source, .. }
            | Self::Sql { source, .. }
            | Self::Routine { source, .. } => Some(source),
            Self::Exists { source, .. } => source.as_ref(),
            Self::Warehouses(_)
            | Self::Sets(_)
            | Self::Invalid(_)
            | Self::Unfinished { .. }
            | Self::Differs { .. }
            | Self::Unresumable(_)
            | Self::RoutineTaken(_)
            | Self::Stopped => None,
        }
    }
}

fn connect_hint(server: &str, source: &ClientError) -> &'static str {
    const UNKNOWN_DATABASE: u16 = 1049;
    let own = match source {
        ClientError::Target(error) => error.hint(),
        _ if source.number() == Some(UNKNOWN_DATABASE) => {
            Some("create the database, or name another")
        }
        ClientError::Wire(error) => {
            tls_hint(server, error).or_else(|| source.connection_limit_hint())
        }
        ClientError::Postgres(error) => client_tls_hint(error),
    };
    own.unwrap_or("check that the server runs and admits this user")
}

fn sql_hint(source: &ClientError) -> Option<&'static str> {
    const NO_DATABASE: u16 = 1046;
    if source.is_disk_full() {
        return Some(match source {
            ClientError::Wire(_) => {
                "the server's disk is full: a warehouse needs about 100 MB, and some more while its \
                 indexes are built; choose fewer warehouses or a larger disk"
            }
            _ => {
                "the server's disk is full: a warehouse needs about 100 MB beside as much \
                 write-ahead log; choose fewer warehouses or a larger disk"
            }
        });
    }
    match source.number() {
        Some(NO_DATABASE) => return Some("name the database to load into"),
        // To a database, a table, a column; for what takes a privilege of the whole server.
        Some(1044 | 1142 | 1143 | 1227) => {
            return Some(
                "the user needs CREATE, ALTER, INDEX, REFERENCES, SELECT, INSERT, UPDATE and DROP \
                 on the database",
            );
        }
        _ => {}
    }
    (source.sqlstate() == Some(SqlState::INSUFFICIENT_PRIVILEGE.code()))
        .then_some("the user needs CREATE on the schema")
}

fn routine_hint(source: &ClientError) -> Option<&'static str> {
    // To a database, a table, a routine; for what takes a privilege of the whole server.
    if let Some(1044 | 1142 | 1227 | 1370) = source.number() {
        return Some("the user needs CREATE ROUTINE, ALTER ROUTINE and EXECUTE on the database");
    }
    (source.sqlstate() == Some(SqlState::INSUFFICIENT_PRIVILEGE.code())).then_some(
        "the user needs CREATE on the schema, and has to own what an earlier version has made there",
    )
}

/// The servers have two errors of their own for it; others only pass on what the system said.
fn mysql_disk_full(error: &ServerError) -> bool {
    const DISK_FULL: u16 = 1021;
    const TABLE_FULL: u16 = 1114;
    /// ENOSPC, in words and in the ways in which its number is told.
    const WORDS: &str = "No space left on device";
    const NUMBERS: [&str; 4] = ["errno: 28", "errno 28", "error 28", "Errcode: 28"];
    let message = &error.message;
    let told = |words: &&str| {
        let rest = message.split_once(*words).map(|(_, rest)| rest);
        rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_digit()))
    };
    matches!(error.number, Some(DISK_FULL | TABLE_FULL))
        || error.number.is_some() && (message.contains(WORDS) || NUMBERS.iter().any(told))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(number: u16, message: &str) -> LoadError {
        let error = ServerError {
            sqlstate: "HY000".to_owned(),
            number: Some(number),
            message: message.to_owned(),
            hint: None,
            fatal: false,
        };
        LoadError::Sql {
            operation: "load",
            object: "table stock".to_owned(),
            source: WireError::from(error).into(),
        }
    }

    #[test]
    fn a_full_disk_has_many_numbers_on_mysql() {
        let full = [
            (1114, "The table 'stock' is full"),
            (
                1021,
                "Disk full (/tmp/#sql-1); waiting for someone to free some space...",
            ),
            (
                3,
                "Error writing file './t/stock.ibd' (OS errno 28 - No space left on device)",
            ),
            (
                1026,
                "Error writing file '/tmp/MLfd=12' (errno: 28 \"No space left on device\")",
            ),
            (1030, "Got error 28 from storage engine"),
            (3, "Error writing file '/tmp/x' (Errcode: 28)"),
        ];
        for (number, message) in full {
            let error = refused(number, message);
            assert!(error.is_disk_full(), "{message}");
            assert!(
                error.hint().is_some_and(|hint| hint.contains("disk")),
                "{message}"
            );
        }
        for (number, message) in [
            (1030, "Got error 280 from storage engine"),
            (1146, "Table 'shop.error 2' doesn't exist"),
        ] {
            assert!(!refused(number, message).is_disk_full(), "{message}");
        }
    }

    #[test]
    fn what_follows_from_another_failure_is_told_apart() {
        assert!(refused(1317, "Query execution was interrupted").is_interruption());
        assert!(LoadError::Stopped.is_interruption());
        assert!(!refused(1062, "Duplicate entry").is_interruption());
        assert!(refused(1213, "Deadlock found").is_deadlock());
        assert!(!refused(1205, "Lock wait timeout exceeded").is_deadlock());
    }

    #[test]
    fn the_privilege_that_a_routine_needs_is_named() {
        let hint = |sqlstate: &str, number| {
            let error = ServerError {
                sqlstate: sqlstate.to_owned(),
                number,
                message: String::new(),
                hint: None,
                fatal: false,
            };
            let error = LoadError::Routine {
                name: "dbdyno_payment".to_owned(),
                source: WireError::from(error).into(),
            };
            assert!(error.to_string().contains("dbdyno_payment"));
            error.hint().unwrap_or_default()
        };
        assert!(hint("42000", Some(1044)).contains("CREATE ROUTINE"));
        assert!(hint("42000", Some(1370)).contains("ALTER ROUTINE"));
        assert!(hint("25006", None).contains("primary"));
        assert_eq!(hint("42000", Some(1064)), "");
        assert!(hint("42501", None).contains("CREATE on the schema"));
        assert_eq!(hint("42601", None), "");
    }

    #[test]
    fn hints_name_what_is_missing() {
        let hint = |number| refused(number, "").hint().unwrap_or_default();
        assert!(hint(1142).contains("REFERENCES"));
        assert!(hint(1046).contains("database"));
        assert!(hint(1792).contains("primary"));
        assert_eq!(hint(1064), "");
        let loaded = "warehouses=2 seed=1".to_owned();
        let hint = LoadError::Unfinished { loaded }.hint().unwrap_or_default();
        assert!(hint.contains("--resume") && hint.contains("--replace"));
    }

    #[test]
    fn a_table_that_is_there_already_is_told_apart() {
        let exists = |sqlstate: &str| {
            let error = ServerError {
                sqlstate: sqlstate.to_owned(),
                number: None,
                message: String::new(),
                hint: None,
                fatal: false,
            };
            ClientError::from(WireError::from(error)).is_duplicate_table()
        };
        assert!(exists("42P07") && exists("42S01"));
        assert!(!exists("42501"));
    }
}
