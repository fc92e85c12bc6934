//! What load the server carries: counted over a long enough time, or declared by the user.

use dbdyno_model::finding::Confidence;
use dbdyno_model::host::Sampled;
use dbdyno_model::postgres::Postgres;
use dbdyno_model::{Facts, Outcome};

use crate::formulas::MIB;

/// A window between two reads from which rates are taken as they are.
const LONG_WINDOW_S: f64 = 600.0;

/// Age from which counters since the last reset speak for a server: less misses a business day.
const LONG_STATISTICS_S: f64 = 86_400.0;

/// Log written per second from which a load counts as writing.
const WRITING_BYTES_PER_S: f64 = MIB as f64;

const WAL_STATISTICS_SINCE: u32 = 14;

/// How much one counter grew, and over how long.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Counted {
    pub(crate) amount: f64,
    pub(crate) seconds: f64,
}

impl Counted {
    pub(crate) fn per_s(self) -> f64 {
        self.amount / self.seconds
    }
}

/// One counter's growth: over the window where that is long, else since the statistics were
/// reset where that is long ago; none where neither is.
pub(crate) fn counted<T>(
    postgres: &Postgres,
    sampled: &Sampled<T>,
    counter: impl Fn(&T) -> Option<f64>,
) -> Option<Counted> {
    if sampled.seconds >= LONG_WINDOW_S
        && let Some(per_s) = sampled.rate(&counter)
    {
        return Some(Counted {
            amount: per_s * sampled.seconds,
            seconds: sampled.seconds,
        });
    }
    // Each view has its own reset; the database's is the one that is known, and resetting the
    // shared ones alone is rare.
    let seconds = postgres.database.latest()?.stats_age_s?;
    let amount = counter(sampled.latest()?)?;
    (seconds >= LONG_STATISTICS_S).then_some(Counted { amount, seconds })
}

/// The newest reading of a view, or the outcome that names what is missing.
pub(crate) fn latest<'a, T>(sampled: &'a Sampled<T>, name: &str) -> Result<&'a T, Outcome> {
    sampled.latest().ok_or_else(|| {
        let why = sampled.before.why_unknown().unwrap_or("unknown");
        Outcome::Unknown(format!("{name}: {why}"))
    })
}

/// Log written, in bytes a second; unknown before 14 unless two reads lie far apart.
pub(crate) fn wal_rate(postgres: &Postgres) -> Option<f64> {
    let in_window = || {
        let rate = postgres
            .wal
            .rate(|wal| wal.position_bytes.map(|bytes| bytes as f64))?;
        (postgres.wal.seconds >= LONG_WINDOW_S).then_some(rate)
    };
    counted(postgres, &postgres.wal, |wal| {
        wal.bytes.map(|bytes| bytes as f64)
    })
    .map(Counted::per_s)
    .or_else(in_window)
}

/// Name of the declared workload, where it consists of short transactions that write.
pub(crate) fn declared_writes(facts: &Facts) -> Option<&str> {
    let workload = facts.intent.workload.as_ref()?;
    workload.writes.then_some(workload.name.as_str())
}

pub(crate) fn no_statistics() -> Outcome {
    Outcome::Unknown(
        "no statistics yet: the counters cover less than a day, and no workload is declared"
            .to_owned(),
    )
}

/// The same for what pg_stat_wal counts, which older servers do not have.
pub(crate) fn no_wal_statistics(postgres: &Postgres) -> Outcome {
    if postgres.major() >= WAL_STATISTICS_SINCE {
        return no_statistics();
    }
    Outcome::Unknown(format!(
        "WAL written: counted from PostgreSQL {WAL_STATISTICS_SINCE} on; collect over ten minutes or more, or declare a workload"
    ))
}

/// Why a load counts as writing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Writes<'a> {
    Counted { wal_bytes_per_s: f64 },
    Declared(&'a str),
}

impl Writes<'_> {
    pub(crate) fn confidence(self) -> Confidence {
        match self {
            Self::Counted { .. } => Confidence::High,
            Self::Declared(_) => Confidence::Medium,
        }
    }

    /// For a message: what the load is known from.
    pub(crate) fn because(self) -> String {
        match self {
            Self::Counted { wal_bytes_per_s } => {
                format!(
                    "with {:.1} MiB/s of WAL written",
                    wal_bytes_per_s / MIB as f64
                )
            }
            Self::Declared(name) => format!("for the declared workload {name}"),
        }
    }
}

/// Whether the server carries, or is declared to carry, a writing load.
pub(crate) fn writes<'a>(facts: &'a Facts, postgres: &Postgres) -> Result<Writes<'a>, Outcome> {
    let rate = wal_rate(postgres);
    if let Some(wal_bytes_per_s) = rate.filter(|rate| *rate >= WRITING_BYTES_PER_S) {
        return Ok(Writes::Counted { wal_bytes_per_s });
    }
    if let Some(name) = declared_writes(facts) {
        return Ok(Writes::Declared(name));
    }
    let decided = rate.is_some() || facts.intent.workload.is_some();
    Err(if decided {
        Outcome::Ok
    } else {
        no_wal_statistics(postgres)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{declare_tpcc, healthy, with_statistics_of_days};

    #[test]
    fn young_counters_say_nothing_and_old_ones_do() {
        let mut facts = healthy();
        let postgres = facts.postgres.as_ref().unwrap();
        assert_eq!(wal_rate(postgres), None);
        with_statistics_of_days(&mut facts, 2.0);
        let rate = wal_rate(facts.postgres.as_ref().unwrap()).unwrap();
        assert!((rate - 100_000.0 / 172_800.0).abs() < 1e-9);
    }

    #[test]
    fn a_long_window_wins_over_the_time_since_the_reset() {
        let mut facts = healthy();
        with_statistics_of_days(&mut facts, 2.0);
        let postgres = facts.postgres.as_mut().unwrap();
        postgres.wal.seconds = 1000.0;
        postgres.wal.after = postgres.wal.after.clone().map(|mut wal| {
            wal.bytes = Some(100_000 + 5_000_000);
            wal
        });
        assert_eq!(wal_rate(postgres), Some(5000.0));
    }

    #[test]
    fn thirteen_says_what_it_does_not_count() {
        let mut facts = healthy();
        facts.postgres.as_mut().unwrap().version_num = 130_014;
        let postgres = facts.postgres.clone().unwrap();
        let Err(Outcome::Unknown(why)) = writes(&facts, &postgres) else {
            panic!()
        };
        assert!(why.contains("from PostgreSQL 14 on"), "{why}");
    }

    #[test]
    fn a_declared_load_counts_where_counters_are_young_or_idle() {
        let mut facts = healthy();
        let postgres = facts.postgres.clone().unwrap();
        assert_eq!(writes(&facts, &postgres), Err(no_statistics()));
        declare_tpcc(&mut facts);
        assert_eq!(writes(&facts, &postgres), Ok(Writes::Declared("tpcc")));
        facts.intent.workload.as_mut().unwrap().writes = false;
        assert_eq!(writes(&facts, &postgres), Err(Outcome::Ok));
    }
}
