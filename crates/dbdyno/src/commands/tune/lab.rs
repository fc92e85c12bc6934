//! The lab that a trial runs in: swept, found, and checked for room.

use dbdyno_bench::workload::Workload;
use dbdyno_model::words::plural;
use dbdyno_target::lab::{Binaries, Home, Lab, LabError, LabOptions, Wanted, sweep};

use super::options::Options;
use crate::exit::{Exit, Failure};
use crate::printer::Printer;

/// Data, indexes and a clone of them, per warehouse.
const WAREHOUSE_BYTES: u64 = 2 * (115 << 20);
/// The same of a row of sbtest.
const SBTEST_ROW_BYTES: u64 = 2 * 250;
/// Two empty clusters and the write-ahead log of one run.
const BASE_BYTES: u64 = 2 << 30;

pub(super) fn failure(error: &LabError) -> Failure {
    let exit = match error {
        LabError::NoServer { .. }
        | LabError::DoesNotRun { .. }
        | LabError::UnknownVersion { .. }
        | LabError::WrongVersion { .. } => Exit::Usage,
        _ => Exit::Surroundings,
    };
    let mut message = error.to_string();
    if let Some(source) = std::error::Error::source(error) {
        message = format!("{message}: {source}");
    }
    Failure::new(exit, message, error.hint())
}

/// Where labs live; what a killed dbdyno left there is removed first.
pub(super) fn home(printer: &Printer) -> Result<Home, Failure> {
    let home = Home::find(&|name| std::env::var(name).ok()).map_err(|error| failure(&error))?;
    home.prepare().map_err(|error| failure(&error))?;
    let swept = sweep(&home);
    if !swept.labs.is_empty() || swept.servers_stopped > 0 {
        printer.say(&format!(
            "removed {} that an earlier dbdyno left behind; {} stopped",
            plural(swept.labs.len() as u64, "lab"),
            plural(swept.servers_stopped.into(), "server")
        ));
    }
    Ok(home)
}

pub(super) fn create(
    options: &Options,
    wanted: &Wanted,
    home: &Home,
    memory_bytes: u64,
    printer: &Printer,
) -> Result<Lab, Failure> {
    let binaries = Binaries::find(wanted, home, &|line| printer.step(line))
        .map_err(|error| failure(&error))?;
    let scale = match &options.workload {
        Workload::Tpcc(config, _) => u64::from(config.warehouses) * WAREHOUSE_BYTES,
        Workload::Oltp(config) => config.rows() * SBTEST_ROW_BYTES,
        // A clone of it too.
        Workload::Keys(config) => 2 * config.bytes(),
        Workload::Friends(config) => 2 * config.bytes(),
        // A script's setup is its own affair; the clone will say when the disk is full.
        Workload::Script(_) => 0,
    };
    let lab_options = LabOptions {
        disk_bytes: BASE_BYTES + scale,
        memory_bytes: options.memory_bytes.map(|_| memory_bytes),
        keep: options.keep,
    };
    Lab::create(home, binaries, &lab_options).map_err(|error| failure(&error))
}
