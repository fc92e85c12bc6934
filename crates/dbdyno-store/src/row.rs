//! Trials and runs as the columns that both engines have.

use dbdyno_model::{Run, Tune};

use crate::document::{pack, run_of};
use crate::error::StoreError;

#[derive(Debug)]
pub(crate) struct TrialRow {
    pub(crate) name: String,
    pub(crate) started_at: String,
    pub(crate) finished_at: Option<String>,
    pub(crate) complete: bool,
    pub(crate) command: Vec<String>,
    pub(crate) workload: String,
    pub(crate) machine: String,
    pub(crate) engine: String,
    pub(crate) server_version: String,
    pub(crate) budget: Option<String>,
    pub(crate) arms: Vec<String>,
    pub(crate) word: Option<&'static str>,
    pub(crate) ratio: Option<f64>,
    pub(crate) interval_low: Option<f64>,
    pub(crate) interval_high: Option<f64>,
    pub(crate) level: Option<f64>,
    pub(crate) pairs: Option<u32>,
    pub(crate) dbdyno_version: String,
    /// The trial without its runs.
    pub(crate) document: Vec<u8>,
}

impl TrialRow {
    pub(crate) fn new(tune: &Tune) -> Result<Self, StoreError> {
        let header = Tune {
            runs: Vec::new(),
            ..tune.clone()
        };
        let verdict = tune.verdict.as_ref();
        let interval = verdict.and_then(|verdict| verdict.interval);
        let workload = tune.workload.as_ref();
        Ok(Self {
            name: column(&tune.name),
            started_at: column(&tune.started_at),
            finished_at: tune.finished_at.as_deref().map(column),
            complete: tune.complete,
            command: tune.command.iter().map(|word| column(word)).collect(),
            workload: workload.map_or_else(String::new, |workload| column(&workload.name)),
            machine: column(&tune.machine.summary),
            engine: column(&tune.server.engine),
            server_version: column(&tune.server.version),
            budget: tune.budget.as_deref().map(column),
            arms: tune.arms.iter().map(|arm| column(&arm.name)).collect(),
            word: verdict.map(|verdict| verdict.word.as_str()),
            ratio: verdict.and_then(|verdict| finite(verdict.ratio)),
            interval_low: interval.map(|[low, _]| low),
            interval_high: interval.map(|[_, high]| high),
            level: verdict.map(|verdict| verdict.level),
            pairs: verdict.map(|verdict| verdict.pairs),
            dbdyno_version: column(&tune.dbdyno_version),
            document: pack(&tune.name, &header)?,
        })
    }
}

#[derive(Debug)]
pub(crate) struct RunRow {
    pub(crate) number: u32,
    pub(crate) arm: String,
    pub(crate) pair: Option<u32>,
    pub(crate) started_at: String,
    pub(crate) tps: f64,
    pub(crate) tps_with_checkpoint: f64,
    pub(crate) p99_ms: Option<f64>,
    pub(crate) wal_bytes_per_transaction: Option<f64>,
    pub(crate) steady: bool,
    pub(crate) discarded: Option<String>,
    pub(crate) document: Vec<u8>,
}

impl RunRow {
    pub(crate) fn new(trial: &str, run: &Run) -> Result<Self, StoreError> {
        Ok(Self {
            number: run.number,
            arm: column(&run.arm),
            pair: run.pair,
            started_at: column(&run.started_at),
            tps: run.tps,
            tps_with_checkpoint: run.tps_with_checkpoint,
            p99_ms: run.latency_ms.map(|latency| latency.p99),
            wal_bytes_per_transaction: finite(run.server.wal_bytes_per_transaction),
            steady: run.steady,
            discarded: run.discarded.as_deref().map(column),
            document: pack(&run_of(trial, run.number), run)?,
        })
    }
}

/// A text as every engine holds it: PostgreSQL takes no NUL. The document keeps it as it is.
pub(crate) fn column(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// JSON has no NaN either, so that the document says unknown too.
fn finite(number: Option<f64>) -> Option<f64> {
    number.filter(|number| number.is_finite())
}
