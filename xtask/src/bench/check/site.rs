//! The server that is checked: a PostgreSQL of its own, which logs each statement with its time.

use std::fs;
use std::process::Command;

use dbdyno_model::{Address, Connection, Engine, SslMode};
use dbdyno_target::connection::connect;

use super::log::PREFIX;
use crate::bench;
use crate::bench::postgres;
use crate::bench::server::Server;
use crate::servers::Servers;

/// Sessions of the benchmark's own; dbdyno calls its sessions dbdyno.
pub(super) const APPLICATION: &str = "dbdyno-bench";

const DATABASE: &str = "postgres";

/// Made fast, since it is thrown away; nothing but us is at work in it, and dead rows stay. Texts of
/// the statements that make the tables fill pg_stat_statements to its end. Whoever waits for a lock
/// is told of at once.
const SETTINGS: [(&str, &str); 14] = [
    ("shared_buffers", "512MB"),
    ("max_wal_size", "4GB"),
    ("max_connections", "20"),
    ("fsync", "off"),
    ("synchronous_commit", "off"),
    ("full_page_writes", "off"),
    ("autovacuum", "off"),
    ("shared_preload_libraries", "pg_stat_statements"),
    ("pg_stat_statements.track", "all"),
    ("logging_collector", "off"),
    ("log_min_duration_statement", "0"),
    ("log_parameter_max_length", "0"),
    ("log_lock_waits", "on"),
    ("deadlock_timeout", "1ms"),
];

#[derive(Debug)]
pub(super) struct Site {
    server: Server,
}

impl Site {
    /// With room for a lock on every one of the tables.
    pub(super) fn start(servers: &Servers, tables: u32) -> Result<Self, String> {
        let bin = servers.bin_directories.first().ok_or("no PostgreSQL")?;
        // For each of 20 sessions.
        let locks = (tables / 10).max(1_000).to_string();
        let mut settings = SETTINGS.to_vec();
        settings.push(("max_locks_per_transaction", locks.as_str()));
        settings.push(("log_line_prefix", PREFIX));
        let server = postgres::start(bin, servers.library_path.as_deref(), &settings)?;
        Ok(Self { server })
    }

    /// A session of the superuser's.
    pub(super) fn connect(&self) -> Result<::postgres::Client, String> {
        let connection = Connection {
            engine: Engine::Postgres,
            address: Address::Socket(self.server.place.sockets.clone()),
            port: self.server.port,
            user: postgres::USER.to_owned(),
            password: None,
            database: DATABASE.to_owned(),
            ssl_mode: SslMode::Disable,
            ssl_root_cert: None,
            connect_timeout_s: 30,
            options: None,
            client_certificate: None,
        };
        let mut client = connect(&connection).map_err(|error| error.to_string())?;
        run(
            &mut client,
            &format!("SET application_name = '{APPLICATION}'"),
        )?;
        Ok(client)
    }

    /// As dbdyno takes it.
    pub(super) fn uri(&self) -> String {
        format!(
            "postgres:///{DATABASE}?host={}&port={}&user={}",
            self.server.place.sockets.display(),
            self.server.port,
            postgres::USER
        )
    }

    /// Nothing of this user's own is to be found: passwords, variables of libpq.
    pub(super) fn dbdyno(&self, arguments: &[&str]) -> Command {
        let mut command = bench::dbdyno(arguments);
        command.env("HOME", &self.server.place.home);
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(|name| name.starts_with("PG")) {
                command.env_remove(name);
            }
        }
        command
    }

    /// A file that is removed with the server.
    pub(super) fn file(&self, name: &str) -> std::path::PathBuf {
        self.server.place.home.join(name)
    }

    pub(super) fn version(&self) -> Result<String, String> {
        let row = self.connect()?.query_one("SHOW server_version", &[]);
        row.and_then(|row| row.try_get(0))
            .map_err(|error| format!("SHOW server_version: {error:?}"))
    }

    /// How long the log is now.
    pub(super) fn log_end(&self) -> Result<usize, String> {
        Ok(self.read_log()?.len())
    }

    /// What was logged since.
    pub(super) fn log_since(&self, end: usize) -> Result<String, String> {
        let log = self.read_log()?;
        let new = log.get(end..).unwrap_or_default();
        Ok(String::from_utf8_lossy(new).into_owned())
    }

    fn read_log(&self) -> Result<Vec<u8>, String> {
        let path = self.server.place.log();
        fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))
    }
}

/// Runs statements, and says which ones failed.
pub(super) fn run(client: &mut ::postgres::Client, sql: &str) -> Result<(), String> {
    client
        .batch_execute(sql)
        .map_err(|error| format!("{sql}: {error:?}"))
}
