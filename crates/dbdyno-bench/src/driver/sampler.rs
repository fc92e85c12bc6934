//! The server's and the host's counters, read once a second by whoever knows how.

/// Counters as they stood at one moment. They only ever rise, except for the sizes; what could not
/// be read is `None`, never 0.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ServerCounters {
    pub wal_bytes: Option<u64>,
    pub full_page_images: Option<u64>,
    pub checkpoints_timed: Option<u64>,
    pub checkpoints_requested: Option<u64>,
    pub blocks_hit: Option<u64>,
    pub blocks_read: Option<u64>,
    /// A size, not a count.
    pub dead_tuples: Option<u64>,
    /// A size, not a count.
    pub database_bytes: Option<u64>,
    /// Up to where InnoDB's redo log is no longer needed.
    pub checkpoint_position: Option<u64>,
    /// A size, not a count: what of InnoDB's redo log is behind that.
    pub checkpoint_age_bytes: Option<u64>,
    /// A size, not a count: of InnoDB's buffer pool.
    pub dirty_pages: Option<u64>,
    pub pages_flushed: Option<u64>,
    pub fsyncs: Option<u64>,
    pub server_cpu_s: Option<f64>,
    pub server_read_bytes: Option<u64>,
    pub server_write_bytes: Option<u64>,
    /// Of the server, as far as they were seen.
    pub restarts: Option<u64>,
    /// All of the host's processors together, as `/proc/stat` counts.
    pub steal_ticks: Option<u64>,
    pub total_ticks: Option<u64>,
    /// Time in which some task waited, as `/proc/pressure` totals it.
    pub psi_cpu_some_us: Option<u64>,
    pub psi_io_some_us: Option<u64>,
    pub psi_memory_some_us: Option<u64>,
}

/// Reads the counters. Called from the observing thread at the start, after each second and at the
/// end, so an implementation should bound its own time (a statement timeout of a second), and look
/// at the interrupt flag while it waits: nobody else does until it returns.
pub trait Sampler {
    fn sample(&mut self) -> ServerCounters;
}

/// Knows nothing, for tests and for servers that cannot be asked.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSampler;

impl Sampler for NoSampler {
    fn sample(&mut self) -> ServerCounters {
        ServerCounters::default()
    }
}

/// What a counter rose by; none where either end is unknown or it was reset in between.
pub(crate) fn rise(before: Option<u64>, after: Option<u64>) -> Option<u64> {
    after?.checked_sub(before?)
}

pub(crate) fn rise_s(before: Option<f64>, after: Option<f64>) -> Option<f64> {
    Some(after? - before?).filter(|&seconds| seconds >= 0.0)
}

impl ServerCounters {
    /// Share of the host's processor time since `before` that the hypervisor gave away.
    pub fn steal_since(&self, before: &ServerCounters) -> Option<f64> {
        let total = rise(before.total_ticks, self.total_ticks)?;
        let steal = rise(before.steal_ticks, self.steal_ticks)?;
        (total > 0).then(|| steal as f64 / total as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_and_reset_counters_have_no_rise() {
        assert_eq!(rise(Some(3), Some(5)), Some(2));
        assert_eq!(rise(None, Some(5)), None);
        assert_eq!(rise(Some(5), Some(3)), None);
        assert_eq!(rise_s(Some(1.0), Some(0.5)), None);
        let before = ServerCounters {
            steal_ticks: Some(1),
            total_ticks: Some(100),
            ..Default::default()
        };
        let after = ServerCounters {
            steal_ticks: Some(3),
            total_ticks: Some(300),
            ..Default::default()
        };
        assert_eq!(after.steal_since(&before), Some(0.01));
        assert_eq!(before.steal_since(&before), None);
    }
}
