//! Where a test keeps its store: a file in a directory of its own, or a database of its own.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use dbdyno_model::{Address, Connection};
use dbdyno_store::{Store, StoreError};
use dbdyno_target::connection::{connect, resolve};
use dbdyno_testing::{Running, binaries};
use tempfile::TempDir;

pub(crate) enum Bed {
    Sqlite(TempDir),
    Postgres {
        connection: Connection,
        _server: Arc<Running>,
    },
}

impl Bed {
    pub(crate) fn sqlite() -> Self {
        Self::Sqlite(tempfile::tempdir().unwrap())
    }

    /// A new database on the server that the tests share. It stops when the last of them ends.
    pub(crate) fn postgres() -> Self {
        static SERVER: Mutex<Weak<Running>> = Mutex::new(Weak::new());
        static DATABASES: AtomicU32 = AtomicU32::new(0);
        let mut shared = SERVER.lock().unwrap_or_else(PoisonError::into_inner);
        let server = shared.upgrade().unwrap_or_else(|| {
            let server = Arc::new(Running::start(binaries(), &[("fsync", "off")]));
            *shared = Arc::downgrade(&server);
            server
        });
        drop(shared);
        let number = DATABASES.fetch_add(1, Ordering::Relaxed);
        Self::Postgres {
            connection: server.database(&format!("team{number}")),
            _server: server,
        }
    }

    pub(crate) fn is_sqlite(&self) -> bool {
        matches!(self, Self::Sqlite(_))
    }

    /// The file of an SQLite store.
    pub(crate) fn path(&self) -> PathBuf {
        match self {
            Self::Sqlite(directory) => directory.path().join("data/store.sqlite"),
            Self::Postgres { .. } => panic!("not a file"),
        }
    }

    pub(crate) fn connection(&self) -> &Connection {
        match self {
            Self::Sqlite(_) => panic!("not a server"),
            Self::Postgres { connection, .. } => connection,
        }
    }

    pub(crate) fn client(&self) -> postgres::Client {
        connect(self.connection()).unwrap()
    }

    pub(crate) fn try_open(&self) -> Result<Store, StoreError> {
        open(&self.address())
    }

    pub(crate) fn open(&self) -> Store {
        self.try_open().unwrap_or_else(|error| panic!("{error}"))
    }

    /// What another process needs to open the same store.
    pub(crate) fn address(&self) -> String {
        match self {
            Self::Sqlite(_) => self.path().display().to_string(),
            Self::Postgres { connection, .. } => {
                let Address::Socket(directory) = &connection.address else {
                    panic!("labs listen on a socket")
                };
                format!(
                    "host={} port={} user={} dbname={}",
                    directory.display(),
                    connection.port,
                    connection.user,
                    connection.database
                )
            }
        }
    }

    /// Runs SQL past the store. Words of PostgreSQL stand for those of both.
    pub(crate) fn execute(&self, sql: &str) {
        match self {
            Self::Sqlite(_) => self
                .file()
                .execute_batch(&sql.replace("dbdyno.", ""))
                .unwrap(),
            Self::Postgres { .. } => self.client().batch_execute(sql).unwrap(),
        }
    }

    /// Every row of a query past the store, its columns as one text.
    pub(crate) fn rows(&self, sql: &str) -> Vec<String> {
        match self {
            Self::Sqlite(_) => {
                let file = self.file();
                let mut statement = file.prepare(&sql.replace("dbdyno.", "")).unwrap();
                let columns = statement.column_count();
                let text = |row: &rusqlite::Row<'_>| {
                    (0..columns)
                        .map(|at| Ok(format!("{:?}", row.get::<_, rusqlite::types::Value>(at)?)))
                        .collect::<Result<Vec<String>, rusqlite::Error>>()
                };
                let rows = statement
                    .query_map([], |row| Ok(text(row)?.join("|")))
                    .unwrap();
                rows.map(Result::unwrap).collect()
            }
            Self::Postgres { .. } => {
                let sql = format!("SELECT t::text FROM ({sql}) AS t");
                let rows = self.client().query(&sql, &[]).unwrap();
                rows.iter().map(|row| row.get(0)).collect()
            }
        }
    }

    fn file(&self) -> rusqlite::Connection {
        let file = rusqlite::Connection::open(self.path()).unwrap();
        file.pragma_update(None, "foreign_keys", true).unwrap();
        file
    }
}

/// Opens what `Bed::address` names.
pub(crate) fn open(address: &str) -> Result<Store, StoreError> {
    if !address.starts_with("host=") {
        return Store::sqlite(address.as_ref()).map(|(store, moved)| {
            assert_eq!(moved, None, "a sound store was moved");
            store
        });
    }
    Store::postgres(connect(&resolve(address, &|_| None).unwrap().first()).unwrap())
}
