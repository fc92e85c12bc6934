//! What counters and totals come to for each transaction.

use dbdyno_model::run::{Conditions, ServerUse, TransactionStats};

use super::observed::Totals;
use super::sampler::{ServerCounters, rise, rise_s};

/// New orders a minute; only they are ever rolled back as intended.
pub fn notpm(stats: &[TransactionStats], window: &Totals) -> Option<f64> {
    let new_orders = stats.iter().find(|stats| stats.name == "new_order")?;
    let committed = new_orders.count.saturating_sub(window.intended_rollbacks);
    (window.seconds > 0.0).then(|| committed as f64 / window.seconds * 60.0)
}

/// A rate or a share; 0 of nothing.
pub fn per(amount: f64, of: f64) -> f64 {
    if of > 0.0 { amount / of } else { 0.0 }
}

/// What the server used between two readings.
pub fn server_use(before: &ServerCounters, after: &ServerCounters, transactions: u64) -> ServerUse {
    let cpu_s = rise_s(before.server_cpu_s, after.server_cpu_s);
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
        checkpoint_moved_bytes: rise(before.checkpoint_position, after.checkpoint_position),
        checkpoint_age_bytes: after.checkpoint_age_bytes,
        dirty_pages_before: before.dirty_pages,
        dirty_pages: after.dirty_pages,
        pages_flushed: rise(before.pages_flushed, after.pages_flushed),
        fsyncs: rise(before.fsyncs, after.fsyncs),
        restarts: rise(before.restarts, after.restarts),
    }
}

/// What else happened on the machine between two readings.
pub fn conditions(
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
        let used = server_use(&before, &after, 1_000);
        assert_eq!(used.wal_bytes_per_transaction, Some(10.0));
        assert_eq!(used.cpu_us_per_transaction, Some(2_000.0));
        assert_eq!(used.full_page_images, None);
        let backwards = server_use(&after, &before, 1_000);
        assert_eq!(backwards.cpu_us_per_transaction, None);
        let conditions = conditions(&before, &after, 0.0, 10.0);
        assert_eq!(conditions.steal, Some(0.01));
        assert_eq!(conditions.psi_io_some, None);
    }
}
