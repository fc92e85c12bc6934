//! The server that drivers are measured on, and how each of them finds it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use dbdyno_model::{Address, Connection, SslMode};
use dbdyno_target::connection::connect;

use super::figures::Absent;
use super::mariadb::{self, Package};
use crate::bench::floor::{Floor, Format};
use crate::bench::postgres;
use crate::bench::server::Server;
use crate::command;
use crate::servers::Servers;

/// How long the server gets to itself before each run.
const SETTLE: Duration = Duration::from_secs(1);

/// Of PostgreSQL: all of the data in memory, checkpoints by time, and room for a thousand connections.
const SETTINGS: [(&str, &str); 4] = [
    ("shared_buffers", "6GB"),
    ("max_wal_size", "8GB"),
    ("max_connections", "1100"),
    ("logging_collector", "off"),
];

/// The database that sessions are in which are about others.
const MAINTENANCE: &str = "postgres";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Engine {
    Postgres,
    MariaDb,
}

impl Engine {
    pub(super) const ALL: [Self; 2] = [Self::Postgres, Self::MariaDb];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Postgres => "PostgreSQL",
            Self::MariaDb => "MariaDB",
        }
    }

    /// As it is typed.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::MariaDb => "mariadb",
        }
    }
}

/// The client's programs of the server's own version.
#[derive(Debug, Clone)]
enum Programs {
    Postgres {
        bin: PathBuf,
        libraries: Option<PathBuf>,
    },
    MariaDb(Package),
}

#[derive(Debug)]
pub(super) struct Site {
    pub(super) engine: Engine,
    server: Server,
    programs: Programs,
    /// What is loaded, to be used again.
    databases: BTreeSet<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Transport {
    Tcp,
    Socket,
}

impl Transport {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::Socket => "unix socket",
        }
    }
}

impl Site {
    pub(super) fn start(engine: Engine, servers: &Servers) -> Result<Self, String> {
        let (server, programs) = match engine {
            Engine::Postgres => {
                let bin = servers.bin_directories.first().ok_or("no PostgreSQL")?;
                let libraries = servers.library_path.clone();
                let server = postgres::start(bin, libraries.as_deref(), &SETTINGS)?;
                let bin = bin.clone();
                (server, Programs::Postgres { bin, libraries })
            }
            Engine::MariaDb => {
                let package = servers
                    .mysql_roots
                    .iter()
                    .find_map(|root| Package::at(root));
                let package = package.ok_or("no MariaDB could be fetched")?;
                (mariadb::start(&package)?, Programs::MariaDb(package))
            }
        };
        Ok(Self {
            engine,
            server,
            programs,
            databases: BTreeSet::new(),
        })
    }

    pub(super) fn port(&self) -> u16 {
        self.server.port
    }

    /// Of the server, whose processes are all below it.
    pub(super) fn pid(&self) -> u32 {
        self.server.pid()
    }

    pub(super) fn user(&self) -> &'static str {
        match self.engine {
            Engine::Postgres => postgres::USER,
            Engine::MariaDb => mariadb::USER,
        }
    }

    /// For files of the clients'; removed with the server.
    pub(super) fn scratch(&self) -> PathBuf {
        self.server.place.home.clone()
    }

    /// The socket as a client is told of it: PostgreSQL's by its directory.
    pub(super) fn socket(&self) -> PathBuf {
        match self.engine {
            Engine::Postgres => self.server.place.sockets.clone(),
            Engine::MariaDb => mariadb::socket(&self.server.place),
        }
    }

    /// The socket itself.
    fn socket_file(&self) -> PathBuf {
        match self.engine {
            Engine::Postgres => self.socket().join(format!(".s.PGSQL.{}", self.port())),
            Engine::MariaDb => self.socket(),
        }
    }

    /// The path of the socket itself, or host and port.
    pub(super) fn address(&self, transport: Transport) -> String {
        match transport {
            Transport::Tcp => format!("127.0.0.1:{}", self.port()),
            Transport::Socket => self.socket_file().display().to_string(),
        }
    }

    /// As dbdyno takes it.
    pub(super) fn uri(&self, transport: Transport, database: &str) -> String {
        let (user, port, socket) = (self.user(), self.port(), self.socket());
        let socket = socket.display();
        match (self.engine, transport) {
            (Engine::Postgres, Transport::Tcp) => {
                format!("postgres://{user}@127.0.0.1:{port}/{database}?sslmode=disable")
            }
            (Engine::Postgres, Transport::Socket) => {
                format!("postgres:///{database}?host={socket}&port={port}&user={user}")
            }
            (Engine::MariaDb, Transport::Tcp) => {
                format!("mariadb://{user}@127.0.0.1:{port}/{database}")
            }
            (Engine::MariaDb, Transport::Socket) => {
                format!("mariadb://{user}@localhost/{database}?socket={socket}")
            }
        }
    }

    /// A program of the server's package that is not the server; none where it has no such.
    pub(super) fn program(&self, name: &str) -> Option<Command> {
        match &self.programs {
            Programs::Postgres { bin, libraries } => {
                let program = bin.join(name);
                let mut command = program.exists().then(|| Command::new(program))?;
                if let Some(libraries) = libraries {
                    command.env("LD_LIBRARY_PATH", libraries);
                }
                Some(command)
            }
            Programs::MariaDb(package) => Some(package.program(&format!("usr/bin/{name}"))),
        }
    }

    /// Runs SQL of the superuser's, in that database where it is PostgreSQL's.
    fn sql(&self, database: &str, sql: &str) -> Result<(), String> {
        match self.engine {
            Engine::Postgres => {
                let connection = self.connection(database);
                let mut client = connect(&connection).map_err(|error| error.to_string())?;
                client
                    .batch_execute(sql)
                    .map_err(|error| format!("{sql}: {error:?}"))
            }
            Engine::MariaDb => self.mariadb(sql).map(drop),
        }
    }

    fn mariadb(&self, sql: &str) -> Result<String, String> {
        let mut client = self.program("mariadb").ok_or("no client of MariaDB")?;
        client
            .args(["--no-defaults", "--batch", "--skip-column-names"])
            .arg(format!("--socket={}", self.socket().display()))
            .args(["--user", self.user(), "--execute", sql]);
        command::read(&mut client)
    }

    fn connection(&self, database: &str) -> Connection {
        Connection {
            engine: dbdyno_model::Engine::Postgres,
            address: Address::Socket(self.socket()),
            port: self.port(),
            user: self.user().to_owned(),
            password: None,
            database: database.to_owned(),
            ssl_mode: SslMode::Disable,
            ssl_root_cert: None,
            connect_timeout_s: 30,
            options: None,
            client_certificate: None,
        }
    }

    pub(super) fn version(&self) -> Result<String, String> {
        match self.engine {
            Engine::Postgres => {
                let connection = self.connection(MAINTENANCE);
                let mut client = connect(&connection).map_err(|error| error.to_string())?;
                let row = client.query_one("SHOW server_version", &[]);
                Ok(row.map_err(|error| format!("{error:?}"))?.get(0))
            }
            Engine::MariaDb => Ok(self.mariadb("SELECT VERSION()")?.trim().to_owned()),
        }
    }

    /// Writes what the last run left to be written, as far as the server can be asked to, and waits.
    pub(super) fn settle(&self) -> Result<(), String> {
        if self.engine == Engine::Postgres {
            self.sql(MAINTENANCE, "CHECKPOINT")?;
        }
        std::thread::sleep(SETTLE);
        Ok(())
    }

    /// An empty database of that name.
    pub(super) fn fresh(&self, database: &str) -> Result<(), String> {
        self.remove(database)?;
        self.sql(MAINTENANCE, &format!("CREATE DATABASE {database}"))
    }

    pub(super) fn remove(&self, database: &str) -> Result<(), String> {
        // A session of the client that has just ended may still be there.
        let force = match self.engine {
            Engine::Postgres => " WITH (FORCE)",
            Engine::MariaDb => "",
        };
        let sql = format!("DROP DATABASE IF EXISTS {database}{force}");
        self.sql(MAINTENANCE, &sql)
    }

    /// Loads a database, unless an earlier part has done so.
    pub(super) fn have(
        &mut self,
        database: &str,
        load: impl FnOnce(&Self) -> Result<(), Absent>,
    ) -> Result<(), Absent> {
        if self.databases.contains(database) {
            return Ok(());
        }
        eprintln!("{}: loading {database}", self.engine.name());
        self.fresh(database)?;
        load(self)?;
        if self.engine == Engine::Postgres {
            // Not every loader does so, and all are to have the same plans.
            self.sql(database, "VACUUM (ANALYZE)")?;
        }
        self.databases.insert(database.to_owned());
        Ok(())
    }

    /// Gives its memory to others.
    pub(super) fn forget(&mut self, database: &str) -> Result<(), String> {
        if self.databases.remove(database) {
            self.remove(database)?;
        }
        Ok(())
    }

    /// The floor of a load; none but for PostgreSQL.
    pub(super) fn floor(&self) -> Result<Floor, String> {
        let Programs::Postgres { bin, libraries } = &self.programs else {
            return Err("the floor is COPY, which is PostgreSQL's".to_owned());
        };
        let files = self.scratch().join("files");
        std::fs::create_dir(&files).map_err(|error| format!("{}: {error}", files.display()))?;
        self.server.place.own(&files)?;
        Ok(Floor {
            bin: bin.clone(),
            files,
            server: self.connection(MAINTENANCE),
            library_path: libraries.clone(),
            format: Format::Binary,
        })
    }
}
