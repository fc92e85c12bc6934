//! What the server counts while the load goes on.

use dbdyno_bench::driver::{ServerCounters, target};
use dbdyno_bench::wire::{Link, Statement, WireError};
use dbdyno_model::{Address, Connection, Engine};
use dbdyno_target::postgres::CounterReader;
use dbdyno_target::{connection, process};
use dbdyno_trial::of_postgres;

use crate::exit::{Exit, Failure};
use crate::target::postmaster;

/// How long a server that went away may keep its observer waiting.
const AGAIN_WITHIN_S: u64 = 1;

/// A server's identity and its counters. It stays on the thread that opened it.
pub(super) struct ServerReader {
    /// `PostgreSQL`, `MySQL` or `MariaDB`.
    pub(super) engine: &'static str,
    pub(super) version: String,
    /// Its main process, where it runs on this machine.
    pub(super) pid: Option<u32>,
    connection: Connection,
    reader: Option<Reader>,
}

enum Reader {
    Postgres(Box<CounterReader>),
    MySql(Box<Status>),
}

impl ServerReader {
    pub(super) fn open(connection: &Connection) -> Result<Self, Failure> {
        let (engine, version, pid, reader) = match connection.engine {
            Engine::Postgres => postgres(connection)?,
            Engine::MySql => mysql(connection)?,
        };
        let again = Connection {
            connect_timeout_s: AGAIN_WITHIN_S,
            ..connection.clone()
        };
        Ok(Self {
            engine,
            version,
            pid,
            connection: again,
            reader: Some(reader),
        })
    }

    /// None where it does not answer; whoever asks the next time connects again.
    pub(super) fn read(&mut self) -> Option<ServerCounters> {
        if self.reader.is_none() {
            // It was restarted, perhaps: its processes are others then.
            if let Ok(again) = Self::open(&self.connection) {
                let connection = self.connection.clone();
                *self = again;
                self.connection = connection;
            }
        }
        let read = match &mut self.reader {
            Some(Reader::Postgres(reader)) => reader.read().ok().map(|read| of_postgres(&read)),
            Some(Reader::MySql(status)) => status.read().ok(),
            None => None,
        };
        if read.is_none() {
            self.reader = None;
        }
        read
    }
}

type Opened = (&'static str, String, Option<u32>, Reader);

fn postgres(to: &Connection) -> Result<Opened, Failure> {
    let mut client = connection::connect(to)
        .map_err(|error| Failure::new(Exit::Usage, error.to_string(), error.hint()))?;
    let refused = |error: &dyn std::fmt::Display| {
        let message = format!("{}: cannot read its counters: {error}", to.display());
        Failure::new(Exit::Usage, message, None)
    };
    const WHO: &str = "SELECT current_setting('server_version_num')::int, \
                       split_part(current_setting('server_version'), ' ', 1)";
    let row = client
        .query_one(WHO, &[])
        .map_err(|error| refused(&error))?;
    let number = u32::try_from(row.get::<_, i32>(0)).unwrap_or(0);
    let version = row.get(1);
    let pid = postmaster(&mut client);
    client
        .batch_execute("SET statement_timeout = '1s'")
        .map_err(|error| refused(&error))?;
    let reader = CounterReader::new(client, number).map_err(|error| refused(&error))?;
    Ok((
        "PostgreSQL",
        version,
        pid,
        Reader::Postgres(Box::new(reader)),
    ))
}

fn mysql(to: &Connection) -> Result<Opened, Failure> {
    let target = target(to).map_err(|error| {
        let hint = error.hint().map(str::to_owned);
        Failure::new(Exit::Usage, error.to_string(), hint)
    })?;
    let failed = |error: WireError| {
        let message = format!("cannot connect to {}: {error}", to.display());
        let hint = "check that the server runs, and the user, password and database";
        Failure::usage(message, hint)
    };
    let mut link = Link::open(&target).map_err(failed)?;
    let mut version = String::new();
    link.rows("SELECT VERSION()", |mut row| {
        version = row.text()?.to_owned();
        Ok(())
    })
    .map_err(failed)?;
    let engine = if version.contains("MariaDB") {
        "MariaDB"
    } else {
        "MySQL"
    };
    // `10.11.19-MariaDB-0+deb12u1` says more than people do.
    let short = version.split('-').next().unwrap_or(&version).to_owned();
    let status = Status::new(link).map_err(failed)?;
    Ok((engine, short, peer(to), Reader::MySql(Box::new(status))))
}

/// Who listens at the socket, as the kernel says.
fn peer(to: &Connection) -> Option<u32> {
    let Address::Socket(socket) = &to.address else {
        return None;
    };
    process::listener(socket)
}

/// InnoDB's counters.
struct Status {
    link: Link,
    statement: Statement,
}

impl Status {
    fn new(mut link: Link) -> Result<Self, WireError> {
        const COUNTERS: &str = "SHOW GLOBAL STATUS WHERE Variable_name IN \
            ('Innodb_os_log_written', 'Innodb_buffer_pool_read_requests', \
             'Innodb_buffer_pool_reads')";
        let statement = link.prepare(COUNTERS)?;
        Ok(Self { link, statement })
    }

    fn read(&mut self) -> Result<ServerCounters, WireError> {
        let (mut redo, mut requests, mut reads) = (None, None, None);
        self.link.rows_of(&self.statement, |mut row| {
            let place = match row.text()? {
                "Innodb_os_log_written" => &mut redo,
                "Innodb_buffer_pool_reads" => &mut reads,
                _ => &mut requests,
            };
            *place = row.text()?.parse::<u64>().ok();
            Ok(())
        })?;
        Ok(ServerCounters {
            wal_bytes: redo,
            blocks_read: reads,
            blocks_hit: requests
                .zip(reads)
                .map(|(requests, reads)| requests.saturating_sub(reads)),
            ..ServerCounters::default()
        })
    }
}
