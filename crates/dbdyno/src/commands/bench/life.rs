//! Which life of a server its counters are of: a restart begins another.

use std::time::Instant;

use dbdyno_bench::driver::Reset;

/// Seconds by which an uptime may be wrong: it is told in whole ones, and read a little later.
const SLACK_S: u64 = 2;

/// What tells one life of a server from the next.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Life {
    pub(super) server: Told,
    /// Its main process and when that began, where it runs on this machine.
    pub(super) process: Option<(u32, u64)>,
}

/// What the server itself tells.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Told {
    Postgres {
        started: String,
        /// A crash of one of its processes forgets what was counted, and starts nothing anew.
        counted_since: Option<String>,
    },
    MySql {
        /// None where it does not say so.
        up_s: Option<u64>,
        at: Instant,
    },
}

impl Told {
    /// What was told earlier where this tells nothing.
    pub(super) fn or(self, earlier: &Self) -> Self {
        match self {
            Self::MySql { up_s: None, .. } => earlier.clone(),
            told => told,
        }
    }
}

impl Life {
    /// What has begun again since an earlier look.
    pub(super) fn since(&self, earlier: &Self) -> Reset {
        let process = matches!(
            (earlier.process, self.process),
            (Some(earlier), Some(process)) if earlier != process
        );
        let (server, counts, log) = match (&earlier.server, &self.server) {
            (
                Told::Postgres {
                    started: first,
                    counted_since: before,
                },
                Told::Postgres {
                    started,
                    counted_since,
                },
            ) => {
                let counts = counted_since != before;
                // Of its log a position is told.
                (started != first || counts, counts, false)
            }
            (
                Told::MySql {
                    up_s: first,
                    at: then,
                },
                Told::MySql { up_s, at },
            ) => {
                let passed_s = at.saturating_duration_since(*then).as_secs();
                let known = first.zip(*up_s);
                let again = known.is_some_and(|(first, up_s)| up_s + SLACK_S < first + passed_s);
                (again, again, again)
            }
            _ => (true, true, true),
        };
        Reset {
            server,
            counts,
            log,
            process,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn postgres(started: &str, counted_since: &str, pid: u32) -> Life {
        Life {
            server: Told::Postgres {
                started: started.to_owned(),
                counted_since: Some(counted_since.to_owned()),
            },
            process: Some((pid, 7)),
        }
    }

    #[test]
    fn a_connection_that_was_lost_is_no_restart() {
        let life = postgres("10:00", "09:00", 1);
        assert_eq!(life.since(&life), Reset::default());
        let unseen = Life {
            process: None,
            ..life.clone()
        };
        assert!(!unseen.since(&life).process && !life.since(&unseen).process);
    }

    #[test]
    fn postgresql_keeps_its_counts_but_over_a_crash() {
        let before = postgres("10:00", "09:00", 1);
        let in_good_order = postgres("10:05", "09:00", 2).since(&before);
        assert!(in_good_order.server && in_good_order.process);
        assert!(!in_good_order.counts && !in_good_order.log);
        let of_one_process = postgres("10:00", "10:05", 1).since(&before);
        assert!(of_one_process.server && of_one_process.counts);
        assert!(!of_one_process.process && !of_one_process.log);
    }

    #[test]
    fn mysql_tells_a_restart_by_its_uptime() {
        let now = Instant::now();
        let life = |up_s, passed_s| Life {
            server: Told::MySql {
                up_s: Some(up_s),
                at: now + Duration::from_secs(passed_s),
            },
            process: None,
        };
        assert_eq!(life(109, 10).since(&life(100, 0)), Reset::default());
        let again = life(3, 10).since(&life(100, 0));
        assert!(again.server && again.counts && again.log);
        // It may have been up for less than it was down.
        assert!(life(5, 10).since(&life(3, 0)).server);
    }

    #[test]
    fn an_uptime_that_is_not_known_tells_no_restart() {
        let now = Instant::now();
        let told = |up_s, passed_s| Told::MySql {
            up_s,
            at: now + Duration::from_secs(passed_s),
        };
        let life = |server| Life {
            server,
            process: None,
        };
        let (first, unknown) = (told(Some(100), 0), told(None, 10));
        let since =
            |server: &Told, earlier: &Told| life(server.clone()).since(&life(earlier.clone()));
        assert_eq!(since(&unknown, &first), Reset::default());
        assert_eq!(since(&first, &unknown), Reset::default());
        let kept = unknown.or(&first);
        assert!(since(&told(Some(3), 20), &kept).server);
        let later = told(Some(110), 10);
        assert_eq!(later.clone().or(&first), later);
    }
}
