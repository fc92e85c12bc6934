//! The counters of a server that was restarted meanwhile: those of all its lives, added up.

use std::ops::Add;

use super::sampler::ServerCounters;

/// What has begun again since a server was last read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reset {
    /// The server as such.
    pub server: bool,
    /// What it counts; PostgreSQL keeps that over a restart in good order.
    pub counts: bool,
    /// What it counts of its log; a position goes on.
    pub log: bool,
    /// The process that its processor time and I/O are counted of.
    pub process: bool,
}

/// Joins the readings of a server's lives, so that counters only ever rise. What the server did
/// between the last reading of a life and its end is in none of them.
#[derive(Debug, Clone, Copy, Default)]
pub struct Segments {
    restarts: u64,
    wal_bytes: Count<u64>,
    full_page_images: Count<u64>,
    checkpoints_timed: Count<u64>,
    checkpoints_requested: Count<u64>,
    blocks_hit: Count<u64>,
    blocks_read: Count<u64>,
    pages_flushed: Count<u64>,
    fsyncs: Count<u64>,
    server_cpu_s: Count<f64>,
    server_read_bytes: Count<u64>,
    server_write_bytes: Count<u64>,
}

impl Segments {
    /// What was read, behind all that the lives before it had counted.
    #[must_use]
    pub fn join(&mut self, mut read: ServerCounters, reset: Reset) -> ServerCounters {
        self.restarts += u64::from(reset.server);
        read.restarts = Some(self.restarts);
        self.wal_bytes.go_on(&mut read.wal_bytes, reset.log);
        for (count, read) in [
            (&mut self.full_page_images, &mut read.full_page_images),
            (&mut self.checkpoints_timed, &mut read.checkpoints_timed),
            (
                &mut self.checkpoints_requested,
                &mut read.checkpoints_requested,
            ),
            (&mut self.blocks_hit, &mut read.blocks_hit),
            (&mut self.blocks_read, &mut read.blocks_read),
            (&mut self.pages_flushed, &mut read.pages_flushed),
            (&mut self.fsyncs, &mut read.fsyncs),
        ] {
            count.go_on(read, reset.counts);
        }
        self.server_cpu_s
            .go_on(&mut read.server_cpu_s, reset.process);
        for (count, read) in [
            (&mut self.server_read_bytes, &mut read.server_read_bytes),
            (&mut self.server_write_bytes, &mut read.server_write_bytes),
        ] {
            count.go_on(read, reset.process);
        }
        read
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Count<T> {
    /// Of the lives before.
    carried: T,
    /// The most that was read in the present life: what dips is not whole, as the processor time of
    /// processes that have ended and are not counted to another one yet.
    last: Option<T>,
}

impl<T: Copy + PartialOrd + Add<Output = T>> Count<T> {
    fn go_on(&mut self, read: &mut Option<T>, reset: bool) {
        if reset && let Some(last) = self.last.take() {
            self.carried = self.carried + last;
        }
        if let Some(read) = read {
            let most = match self.last {
                Some(last) if last > *read => last,
                _ => *read,
            };
            self.last = Some(most);
            *read = self.carried + most;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::server_use;

    fn read(counts: u64, cpu_s: f64) -> ServerCounters {
        ServerCounters {
            wal_bytes: Some(counts),
            blocks_read: Some(counts),
            server_cpu_s: Some(cpu_s),
            dead_tuples: Some(counts),
            ..ServerCounters::default()
        }
    }

    const AGAIN: Reset = Reset {
        server: true,
        counts: true,
        log: true,
        process: true,
    };

    #[test]
    fn the_lives_of_a_server_add_up() {
        let mut segments = Segments::default();
        let before = segments.join(read(1_000, 1_000.0), Reset::default());
        let _ = segments.join(read(1_500, 1_002.0), Reset::default());
        let down = segments.join(ServerCounters::default(), Reset::default());
        assert_eq!((down.server_cpu_s, down.blocks_read), (None, None));
        let _ = segments.join(read(10, 0.5), AGAIN);
        let after = segments.join(read(110, 1.5), Reset::default());
        let used = server_use(&before, &after, 100);
        assert_eq!(used.restarts, Some(1));
        assert_eq!(used.blocks_read, Some(610));
        assert_eq!(used.wal_bytes_per_transaction, Some(6.1));
        let cpu_us = used.cpu_us_per_transaction.unwrap();
        assert!((cpu_us - 35_000.0).abs() < 1.0, "{cpu_us}");
        assert_eq!(used.dead_tuples, Some(110), "a size, not a count");
    }

    #[test]
    fn a_second_restart_adds_a_third_life() {
        let mut segments = Segments::default();
        let before = segments.join(read(100, 1.0), Reset::default());
        let _ = segments.join(read(50, 2.0), AGAIN);
        let after = segments.join(read(20, 4.0), AGAIN);
        let used = server_use(&before, &after, 1);
        assert_eq!((used.restarts, used.blocks_read), (Some(2), Some(70)));
        assert_eq!(used.cpu_us_per_transaction, Some(6e6));
    }

    #[test]
    fn a_dip_before_the_end_of_a_life_loses_nothing_of_it() {
        let mut segments = Segments::default();
        let _ = segments.join(read(100, 100.0), Reset::default());
        let dipped = segments.join(read(60, 60.0), Reset::default());
        assert_eq!(
            (dipped.blocks_read, dipped.server_cpu_s),
            (Some(100), Some(100.0))
        );
        let after = segments.join(read(5, 5.0), AGAIN);
        assert_eq!(
            (after.blocks_read, after.server_cpu_s),
            (Some(105), Some(105.0))
        );
    }

    #[test]
    fn what_goes_on_over_a_restart_is_not_added_twice() {
        let mut segments = Segments::default();
        let before = segments.join(read(1_000, 5.0), Reset::default());
        let reset = Reset {
            server: true,
            process: true,
            ..Reset::default()
        };
        let after = segments.join(read(1_200, 1.0), reset);
        let used = server_use(&before, &after, 1);
        assert_eq!(used.blocks_read, Some(200));
        assert_eq!(used.wal_bytes_per_transaction, Some(200.0));
        assert_eq!(used.cpu_us_per_transaction, Some(1e6));
    }
}
