//! From what the driver observed to the figures of a run.

use dbdyno_bench::driver::{Observed, notpm, per, server_use};
use dbdyno_model::run::{DriverUse, Run, Segment};

use crate::execute::Closed;

/// The figures of the window and of the checkpoint that closes it.
pub(crate) fn of(closed: &Closed, checkpoint: &Observed) -> Run {
    let window = closed.observed.totals(closed.warm_up_s);
    let debt = checkpoint.totals(0.0);
    let seconds = window.seconds + debt.seconds;
    // Rolled back as the specification asks is not committed: it is counted apart.
    let in_window = window.transactions - window.intended_rollbacks;
    let in_debt = debt.transactions - debt.intended_rollbacks;
    let transactions = in_window + in_debt;
    let latency = closed.observed.latency(closed.warm_up_s);
    let mut errors = window.errors.clone();
    for (code, count) in &debt.errors {
        *errors.entry(code.clone()).or_default() += count;
    }
    let mut series = closed.observed.series.clone();
    series.extend(checkpoint.series.iter().cloned());
    let before = closed.observed.counters_at(closed.warm_up_s);
    let driver_cpu_s = window
        .driver_cpu_s
        .zip(debt.driver_cpu_s)
        .map(|(a, b)| a + b);
    Run {
        window: Segment {
            seconds: window.seconds,
            transactions: in_window,
        },
        checkpoint: Segment {
            seconds: debt.seconds,
            transactions: in_debt,
        },
        tps_with_checkpoint: per(transactions as f64, seconds),
        tps: per(in_window as f64, window.seconds),
        notpm: notpm(&latency.per_transaction, &window),
        warm_up_s: closed.warm_up_s,
        steady: closed.steady,
        slope: closed.slope,
        latency_ms: latency.overall,
        per_transaction: latency.per_transaction,
        errors,
        retries: window.retries + debt.retries,
        intended_rollbacks: window.intended_rollbacks + debt.intended_rollbacks,
        server: server_use(&before, &checkpoint.counters_end(), transactions),
        driver: DriverUse {
            cpu_us_per_transaction: driver_cpu_s.map(|s| per(s * 1e6, transactions as f64)),
            ..DriverUse::default()
        },
        series,
        ..Run::default()
    }
}
