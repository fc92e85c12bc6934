//! Asks the server what it counts, and connects again where it was lost.

use std::time::Instant;

use dbdyno_bench::driver::{DriverError, Reset, ServerCounters, target};
use dbdyno_bench::wire::{Link, WireError};
use dbdyno_model::{Address, Connection, Engine};
use dbdyno_target::postgres::CounterReader;
use dbdyno_target::{connection, process};
use dbdyno_trial::of_postgres;

use super::innodb::Status;
use super::life::{Life, Told};
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
    life: Life,
}

/// The server that was connected to again: the one that was lost, or what came in its place.
pub(super) struct Again {
    pub(super) version: String,
    pub(super) pid: Option<u32>,
    /// What of it has begun again.
    pub(super) reset: Reset,
}

enum Reader {
    Postgres(Box<CounterReader>),
    MySql(Box<Status>),
}

impl ServerReader {
    pub(super) fn open(connection: &Connection) -> Result<Self, Failure> {
        let opened = Opened::of(connection)?;
        let again = Connection {
            connect_timeout_s: AGAIN_WITHIN_S,
            ..connection.clone()
        };
        Ok(Self {
            engine: opened.engine,
            version: opened.version,
            pid: opened.pid,
            connection: again,
            reader: Some(opened.reader),
            life: opened.life,
        })
    }

    /// Goes on with the server that was lost, or with the one that has come in its place.
    fn take_up(&mut self, opened: Opened) -> Again {
        let reset = opened.life.since(&self.life);
        self.life = Life {
            process: opened.life.process.or(self.life.process),
            server: opened.life.server.or(&self.life.server),
        };
        self.pid = opened.pid.or(self.pid);
        self.reader = Some(opened.reader);
        Again {
            version: opened.version,
            pid: self.pid,
            reset,
        }
    }

    /// None where it does not answer; whoever asks the next time connects again.
    pub(super) fn read(&mut self) -> (Option<ServerCounters>, Option<Again>) {
        let mut again = None;
        if self.reader.is_none()
            && let Ok(opened) = Opened::of(&self.connection)
        {
            again = Some(self.take_up(opened));
        }
        let read = match &mut self.reader {
            Some(Reader::Postgres(reader)) => reader.read().ok().map(|read| of_postgres(&read)),
            Some(Reader::MySql(status)) => status.read().ok(),
            None => None,
        };
        if read.is_none() {
            self.reader = None;
        }
        (read, again)
    }
}

/// A server as it was found.
struct Opened {
    engine: &'static str,
    version: String,
    pid: Option<u32>,
    reader: Reader,
    life: Life,
}

impl Opened {
    fn of(connection: &Connection) -> Result<Self, Failure> {
        match connection.engine {
            Engine::Postgres => postgres(connection),
            Engine::MySql => mysql(connection),
        }
    }
}

/// A process and when it began.
fn born(pid: Option<u32>) -> Option<(u32, u64)> {
    let pid = pid?;
    Some((pid, process::stat(pid)?.start))
}

fn postgres(to: &Connection) -> Result<Opened, Failure> {
    let mut client = connection::connect(to)
        .map_err(|error| Failure::new(Exit::Usage, error.to_string(), error.hint()))?;
    let refused = |error: &dyn std::fmt::Display| {
        let message = format!("{}: cannot read its counters: {error}", to.display());
        Failure::new(Exit::Usage, message, None)
    };
    const WHO: &str = "SELECT current_setting('server_version_num')::int, \
                       split_part(current_setting('server_version'), ' ', 1), \
                       pg_catalog.pg_postmaster_start_time()::text, \
                       (SELECT stats_reset::text FROM pg_catalog.pg_stat_bgwriter)";
    let row = client
        .query_one(WHO, &[])
        .map_err(|error| refused(&error))?;
    let number = u32::try_from(row.get::<_, i32>(0)).unwrap_or(0);
    let version = row.get(1);
    let told = Told::Postgres {
        started: row.get(2),
        counted_since: row.get(3),
    };
    let pid = postmaster(&mut client);
    client
        .batch_execute("SET statement_timeout = '1s'")
        .map_err(|error| refused(&error))?;
    let reader = CounterReader::new(client, number).map_err(|error| refused(&error))?;
    Ok(Opened {
        engine: "PostgreSQL",
        version,
        pid,
        reader: Reader::Postgres(Box::new(reader)),
        life: Life {
            server: told,
            process: born(pid),
        },
    })
}

fn mysql(to: &Connection) -> Result<Opened, Failure> {
    let target = target(to).map_err(|error| {
        let hint = error.hint().map(str::to_owned);
        Failure::new(Exit::Usage, error.to_string(), hint)
    })?;
    let failed = |source: WireError| {
        let server = to.display();
        let error = DriverError::Connect { server, source };
        let hint = error.hint().map(str::to_owned);
        Failure::new(Exit::Usage, error.to_string(), hint)
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
    let mut up_s = None;
    link.rows("SHOW GLOBAL STATUS LIKE 'Uptime'", |mut row| {
        row.skip()?;
        up_s = row.text()?.parse().ok();
        Ok(())
    })
    .map_err(failed)?;
    let told = Told::MySql {
        up_s,
        at: Instant::now(),
    };
    let status = Status::new(link).map_err(failed)?;
    let pid = peer(to);
    Ok(Opened {
        engine,
        version: short,
        pid,
        reader: Reader::MySql(Box::new(status)),
        life: Life {
            server: told,
            process: born(pid),
        },
    })
}

/// Who listens at the socket, as the kernel says.
fn peer(to: &Connection) -> Option<u32> {
    let Address::Socket(socket) = &to.address else {
        return None;
    };
    process::listener(socket)
}
