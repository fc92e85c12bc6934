//! What InnoDB counts while the load goes on: its redo log, its buffer pool and what it wrote back.

use std::collections::BTreeMap;

use dbdyno_bench::driver::ServerCounters;
use dbdyno_bench::wire::{Link, Statement, WireError};

/// MySQL's names where the two differ, from 8.0.30 on; MariaDB's stand behind them.
const COUNTERS: &str = "SHOW GLOBAL STATUS WHERE Variable_name IN \
    ('Innodb_os_log_written', 'Innodb_buffer_pool_read_requests', 'Innodb_buffer_pool_reads', \
     'Innodb_buffer_pool_pages_dirty', 'Innodb_buffer_pool_pages_flushed', 'Innodb_data_fsyncs', \
     'Innodb_redo_log_current_lsn', 'Innodb_redo_log_checkpoint_lsn', \
     'Innodb_lsn_current', 'Innodb_lsn_last_checkpoint')";

/// InnoDB's counters, read again and again.
pub(super) struct Status {
    link: Link,
    statement: Statement,
}

impl Status {
    pub(super) fn new(mut link: Link) -> Result<Self, WireError> {
        let statement = link.prepare(COUNTERS)?;
        Ok(Self { link, statement })
    }

    pub(super) fn read(&mut self) -> Result<ServerCounters, WireError> {
        let mut told = BTreeMap::new();
        self.link.rows_of(&self.statement, |mut row| {
            let name = row.text()?.to_owned();
            if let Ok(value) = row.text()?.parse::<u64>() {
                told.insert(name, value);
            }
            Ok(())
        })?;
        Ok(counters(&told))
    }
}

/// What a version does not tell stays unknown.
fn counters(told: &BTreeMap<String, u64>) -> ServerCounters {
    let value = |name: &str| told.get(name).copied();
    let requests = value("Innodb_buffer_pool_read_requests");
    let reads = value("Innodb_buffer_pool_reads");
    let checkpoint = value("Innodb_redo_log_checkpoint_lsn");
    let checkpoint = checkpoint.or_else(|| value("Innodb_lsn_last_checkpoint"));
    let end = value("Innodb_redo_log_current_lsn").or_else(|| value("Innodb_lsn_current"));
    ServerCounters {
        wal_bytes: value("Innodb_os_log_written"),
        blocks_read: reads,
        blocks_hit: requests
            .zip(reads)
            .map(|(requests, reads)| requests.saturating_sub(reads)),
        checkpoint_position: checkpoint,
        // The two are not read at one moment.
        checkpoint_age_bytes: end
            .zip(checkpoint)
            .map(|(end, checkpoint)| end.saturating_sub(checkpoint)),
        dirty_pages: value("Innodb_buffer_pool_pages_dirty"),
        pages_flushed: value("Innodb_buffer_pool_pages_flushed"),
        fsyncs: value("Innodb_data_fsyncs"),
        ..ServerCounters::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(told: &[(&str, u64)]) -> ServerCounters {
        let told = told
            .iter()
            .map(|(name, value)| ((*name).to_owned(), *value));
        counters(&told.collect())
    }

    #[test]
    fn each_server_has_names_of_its_own_for_the_checkpoint() {
        for (end, checkpoint) in [
            (
                "Innodb_redo_log_current_lsn",
                "Innodb_redo_log_checkpoint_lsn",
            ),
            ("Innodb_lsn_current", "Innodb_lsn_last_checkpoint"),
        ] {
            let counters = of(&[(end, 1_000), (checkpoint, 900)]);
            assert_eq!(counters.checkpoint_position, Some(900));
            assert_eq!(counters.checkpoint_age_bytes, Some(100));
            assert_eq!(counters.dirty_pages, None);
        }
    }

    #[test]
    fn what_is_not_told_is_not_nothing() {
        assert_eq!(of(&[]), ServerCounters::default());
        let counters = of(&[("Innodb_buffer_pool_reads", 5)]);
        assert_eq!((counters.blocks_read, counters.blocks_hit), (Some(5), None));
    }
}
