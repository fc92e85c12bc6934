//! A user's own statements on real servers: what they load, run and check, and how they are refused.

#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

mod cases;
mod mysql;
mod postgres;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use dbdyno_bench::Workload;
use dbdyno_bench::driver::{
    Driver, DriverError, NoSampler, Observed, Options, Stopped, Until, target,
};
use dbdyno_bench::script::Script;
use dbdyno_bench::wire::Link;
use dbdyno_bench::workload::{LoadError, When};
use dbdyno_model::connection::Connection;
use dbdyno_model::run::Check;

fn script(text: &str) -> Workload {
    let script = Script::parse("load.sql", text).unwrap_or_else(|error| panic!("{error}"));
    Workload::Script(Arc::new(script))
}

fn try_load(connection: &Connection, workload: &Workload) -> Result<(), LoadError> {
    let never = AtomicBool::new(false);
    let loaded = workload.load(connection, 1, &|_| (), &never);
    loaded.map(drop)
}

/// Reads a script and runs its setup.
fn load(connection: &Connection, text: &str) -> Workload {
    let workload = script(text);
    try_load(connection, &workload).unwrap_or_else(|error| panic!("{error}"));
    workload
}

fn options(connections: u32) -> Options {
    Options {
        connections,
        ..Options::default()
    }
}

/// Drives it for a while; what was seen, and the whole load.
fn drive(connection: &Connection, workload: &Workload, connections: u32) -> (Observed, Stopped) {
    let driver = Driver::start(connection, workload, &options(connections));
    let mut driver = driver.unwrap_or_else(|error| panic!("{error}"));
    let until = Until::Elapsed(Duration::from_millis(1500));
    let observed = driver
        .observe(until, &mut NoSampler, &mut |_| ())
        .unwrap_or_else(|error| panic!("{error}"));
    (observed, driver.stop().unwrap())
}

/// Why a load of these statements does not begin.
fn unprepared(connection: &Connection, text: &str) -> DriverError {
    Driver::start(connection, &script(text), &options(1)).unwrap_err()
}

fn check(connection: &Connection, workload: &Workload) -> Vec<Check> {
    workload.check(connection, When::AfterRun).unwrap()
}

fn holds(connection: &Connection, workload: &Workload) {
    let checks = check(connection, workload);
    assert!(
        !checks.is_empty() && checks.iter().all(|it| it.passed),
        "{checks:?}"
    );
}

fn open(connection: &Connection) -> Link {
    Link::open(&target(connection).unwrap()).unwrap()
}

fn number(connection: &Connection, sql: &str) -> i64 {
    let mut number = None;
    open(connection)
        .rows(sql, |mut row| {
            number = Some(row.int()?);
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{sql}: {error}"));
    number.unwrap()
}
