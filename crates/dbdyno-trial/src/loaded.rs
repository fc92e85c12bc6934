//! A clone of the template under an arm's settings, warmed, with its load running.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dbdyno_bench::driver::{ArrivalProcess, Driver, Observed, Options, Until};
use dbdyno_model::Connection;
use dbdyno_model::run::Second;
use dbdyno_target::connection;
use dbdyno_target::lab::{Lab, Server};
use dbdyno_target::postgres::CounterReader;

use crate::arm::ArmSpec;
use crate::error::TrialError;
use crate::events::{Events, Progress};
use crate::failure::{Failure, behind, gone, server_error};
use crate::sampler::LabSampler;
use crate::trial::Spec;

/// What identifies one run, and how far the trial has come.
pub(crate) struct Order<'a> {
    pub(crate) arm: &'a ArmSpec,
    pub(crate) number: u32,
    pub(crate) pair: Option<u32>,
    pub(crate) open_loop_tps: Option<f64>,
    pub(crate) progress: &'a dyn Fn() -> Progress,
}

/// A started clone with its load running.
pub(crate) struct Loaded {
    pub(crate) server: Server,
    pub(crate) driver: Driver,
    pub(crate) sampler: LabSampler,
}

/// Clones the template, starts the arm's server on it and begins the load.
pub(crate) fn begin(
    lab: &Lab,
    spec: &Spec,
    order: &Order<'_>,
    stop: &Arc<AtomicBool>,
) -> Result<Loaded, Failure> {
    let data = lab.clone_template("run")?;
    let server = start(lab, &data, order, stop)?;
    let to = server.connection();
    let version = lab.binaries().version.major * 10_000;
    prewarm(&to).map_err(|error| behind(error, &server, stop))?;
    let reader = counter_reader(&to, version).map_err(|error| behind(error, &server, stop))?;
    let sampler = LabSampler::new(reader, server.pid());
    let options = Options {
        connections: spec.connections,
        threads: None,
        // The arms of a pair draw the same transactions.
        seed: spec
            .seed
            .wrapping_mul(1000)
            .wrapping_add(u64::from(order.pair.unwrap_or(0))),
        // A server that dies costs its pair.
        reconnect: false,
        think: None,
        rate: None,
        isolation: None,
        spacing: ArrivalProcess::Uniform,
        stop: Arc::clone(stop),
    };
    let driver =
        Driver::start(&to, &spec.workload, &options).map_err(|error| gone(error, &server, stop))?;
    Ok(Loaded {
        server,
        driver,
        sampler,
    })
}

/// A server that does not start ends the trial: the next try would not start either.
pub(crate) fn start(
    lab: &Lab,
    data: &Path,
    order: &Order<'_>,
    stop: &AtomicBool,
) -> Result<Server, TrialError> {
    lab.start(data, &order.arm.settings)
        .map_err(|error| match stop.load(Ordering::SeqCst) {
            true => TrialError::Interrupted,
            false => error.into(),
        })
}

pub(crate) fn observe(
    loaded: &mut Loaded,
    until: Until<'_>,
    order: &Order<'_>,
    stop: &Arc<AtomicBool>,
    events: &mut dyn Events,
) -> Result<Observed, Failure> {
    let arm = &order.arm.name;
    let mut on_second = |second: &Second| events.second(arm, second, &(order.progress)());
    loaded
        .driver
        .observe(until, &mut loaded.sampler, &mut on_second)
        .map_err(|error| gone(error, &loaded.server, stop))
}

fn counter_reader(to: &Connection, version_num: u32) -> Result<CounterReader, TrialError> {
    let mut client = connection::connect(to)
        .map_err(|error| server_error("connect to the lab server", &error))?;
    client
        .batch_execute("SET statement_timeout = '2s'")
        .map_err(|error| server_error("set a statement timeout", &error))?;
    CounterReader::new(client, version_num)
        .map_err(|error| server_error("read the server's counters", &error))
}

/// Reads the data into the server's cache where it fits, as a server that has run for a day has
/// it; otherwise an arm with a large cache would spend its window filling it.
fn prewarm(to: &Connection) -> Result<(), TrialError> {
    const FITS: &str = "SELECT pg_database_size(current_database()) \
        < (SELECT setting::bigint * 8192 FROM pg_settings WHERE name = 'shared_buffers') \
        AND EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'pg_prewarm')";
    const PREWARM: &str = "SELECT count(pg_prewarm(c.oid)) FROM pg_class c \
        WHERE c.relkind IN ('r', 'i', 'm', 't') AND c.relnamespace \
        NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)";
    let failed = |error: postgres::Error| server_error("warm the cache", &error);
    let mut client = connection::connect(to)
        .map_err(|error| server_error("connect to the lab server", &error))?;
    if client.query_one(FITS, &[]).map_err(failed)?.get(0) {
        client.query_one(PREWARM, &[]).map_err(failed)?;
    }
    Ok(())
}
