//! From what the driver observed to the figures of a run.

use dbdyno_bench::driver::{Observed, ServerCounters, Totals};
use dbdyno_model::run::{Conditions, DriverUse, Run, Segment, ServerUse, TransactionStats};

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
        server: server(&before, &checkpoint.counters_end(), transactions),
        driver: DriverUse {
            cpu_us_per_transaction: driver_cpu_s.map(|s| per(s * 1e6, transactions as f64)),
            ..DriverUse::default()
        },
        series,
        ..Run::default()
    }
}

/// New orders a minute; only they are ever rolled back as intended.
fn notpm(stats: &[TransactionStats], window: &Totals) -> Option<f64> {
    let new_orders = stats.iter().find(|stats| stats.name == "new_order")?;
    let committed = new_orders.count.saturating_sub(window.intended_rollbacks);
    (window.seconds > 0.0).then(|| committed as f64 / window.seconds * 60.0)
}

fn per(amount: f64, of: f64) -> f64 {
    if of > 0.0 { amount / of } else { 0.0 }
}

fn rise(before: Option<u64>, after: Option<u64>) -> Option<u64> {
    after?.checked_sub(before?)
}

fn server(before: &ServerCounters, after: &ServerCounters, transactions: u64) -> ServerUse {
    let cpu_s = after
        .server_cpu_s
        .zip(before.server_cpu_s)
        .map(|(after, before)| after - before);
    let wal = rise(before.wal_bytes, after.wal_bytes);
    ServerUse {
        cpu_us_per_transaction: cpu_s.map(|s| per(s * 1e6, transactions as f64)),
        wal_bytes_per_transaction: wal.map(|bytes| per(bytes as f64, transactions as f64)),
        full_page_images: rise(before.full_page_images, after.full_page_images),
        checkpoints_timed: rise(before.checkpoints_timed, after.checkpoints_timed),
        checkpoints_requested: rise(before.checkpoints_requested, after.checkpoints_requested),
        blocks_hit: rise(before.blocks_hit, after.blocks_hit),
        blocks_read: rise(before.blocks_read, after.blocks_read),
        read_bytes: rise(before.server_read_bytes, after.server_read_bytes),
        write_bytes: rise(before.server_write_bytes, after.server_write_bytes),
        dead_tuples: after.dead_tuples,
        database_bytes: after.database_bytes,
    }
}

/// What else happened on the machine between two readings.
pub(crate) fn conditions(
    before: &ServerCounters,
    after: &ServerCounters,
    strangers_cpu_s: f64,
    seconds: f64,
) -> Conditions {
    let cpus = std::thread::available_parallelism().map_or(1.0, |cpus| cpus.get() as f64);
    let pressure = |before: Option<u64>, after: Option<u64>| {
        rise(before, after).map(|us| per(us as f64 / 1e6, seconds))
    };
    Conditions {
        steal: after.steal_since(before),
        strangers_cpu: (seconds > 0.0).then(|| (strangers_cpu_s / (seconds * cpus)).max(0.0)),
        psi_cpu_some: pressure(before.psi_cpu_some_us, after.psi_cpu_some_us),
        psi_io_some: pressure(before.psi_io_some_us, after.psi_io_some_us),
        psi_memory_some: pressure(before.psi_memory_some_us, after.psi_memory_some_us),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_counters_stay_unknown_and_known_ones_are_shared_out() {
        let before = ServerCounters {
            wal_bytes: Some(1_000),
            server_cpu_s: Some(1.0),
            steal_ticks: Some(0),
            total_ticks: Some(0),
            ..ServerCounters::default()
        };
        let after = ServerCounters {
            wal_bytes: Some(11_000),
            server_cpu_s: Some(3.0),
            steal_ticks: Some(3),
            total_ticks: Some(300),
            ..ServerCounters::default()
        };
        let used = server(&before, &after, 1_000);
        assert_eq!(used.wal_bytes_per_transaction, Some(10.0));
        assert_eq!(used.cpu_us_per_transaction, Some(2_000.0));
        assert_eq!(used.full_page_images, None);
        let conditions = conditions(&before, &after, 0.0, 10.0);
        assert_eq!(conditions.steal, Some(0.01));
        assert_eq!(conditions.psi_io_some, None);
    }
}
