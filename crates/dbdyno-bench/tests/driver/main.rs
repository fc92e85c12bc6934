//! The driver against real servers: its counts are the server's, its clocks tell the truth, and it ends
//! when it should.

#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

mod cut;
mod ends;
mod failures;
mod isolation;
mod killed;
mod limits;
mod mysql;
mod pace;
mod reconnect;
mod think;
mod tls;
mod tpcc;

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dbdyno_bench::Workload;
use dbdyno_bench::driver::{Driver, NoSampler, Observed, Options, Until};
use dbdyno_bench::script::Script;
use dbdyno_model::connection::Connection;
use dbdyno_testing::{Running, binaries};

const SETTINGS: [(&str, &str); 2] = [("deadlock_timeout", "10ms"), ("max_connections", "20")];

/// One test at a time, since times are tested.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A running server.
struct Fixture {
    running: Running,
    _alone: MutexGuard<'static, ()>,
}

impl Fixture {
    fn start() -> Self {
        let alone = alone();
        Self {
            running: Running::start(binaries(), &SETTINGS),
            _alone: alone,
        }
    }

    fn connection(&self) -> Connection {
        self.running.connection()
    }

    fn client(&self) -> postgres::Client {
        self.running.client()
    }

    fn number(&self, sql: &str) -> i64 {
        self.client().query_one(sql, &[]).unwrap().get(0)
    }

    /// Reads a script and runs its setup.
    fn load(&self, text: &str) -> Workload {
        let workload = script(text);
        let loaded = workload.load(&self.connection(), 1, &|_| (), &AtomicBool::new(false));
        loaded.unwrap_or_else(|error| panic!("{error}"));
        workload
    }

    fn drive(&self, workload: &Workload, connections: u32) -> Driver {
        self.drive_with(
            workload,
            &Options {
                connections,
                ..Options::default()
            },
        )
    }

    fn drive_with(&self, workload: &Workload, options: &Options) -> Driver {
        let started = Driver::start(&self.connection(), workload, options);
        started.unwrap_or_else(|error| panic!("{error}"))
    }
}

fn script(text: &str) -> Workload {
    Workload::Script(Arc::new(Script::parse("load.sql", text).unwrap()))
}

fn observe(driver: &mut Driver, seconds: f64) -> Observed {
    let until = Until::Elapsed(Duration::from_secs_f64(seconds));
    driver
        .observe(until, &mut NoSampler, &mut |_| ())
        .unwrap_or_else(|error| panic!("{error}"))
}

const TALLY: &str = "\
-- dbdyno: setup
CREATE TABLE tally (id int PRIMARY KEY, n bigint NOT NULL);
INSERT INTO tally SELECT i, 0 FROM generate_series(0, 19) i;
-- dbdyno: transaction count weight=4
UPDATE tally SET n = n + 1 WHERE id = :client_id;
SELECT n FROM tally WHERE id = :client_id;
-- dbdyno: transaction undo
BEGIN;
UPDATE tally SET n = n + 1000000 WHERE id = :client_id;
ROLLBACK;
-- dbdyno: check sane
SELECT id, n FROM tally WHERE n >= 1000000;
";
