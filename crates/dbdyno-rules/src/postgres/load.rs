//! What load the server carries: counted over a long enough time, or declared by the user.

use dbdyno_model::finding::Confidence;
use dbdyno_model::host::Sampled;
use dbdyno_model::postgres::{Checkpoints, Database, DatabaseCounters, Postgres, Wal};
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

/// Counters that know since when they count: every view has a reset of its own.
pub(crate) trait Dated {
    fn age_s(&self) -> Option<f64>;
}

impl Dated for Database {
    fn age_s(&self) -> Option<f64> {
        self.stats_age_s
    }
}

impl Dated for Wal {
    fn age_s(&self) -> Option<f64> {
        self.stats_age_s
    }
}

impl Dated for Checkpoints {
    fn age_s(&self) -> Option<f64> {
        self.stats_age_s
    }
}

/// One counter's growth: over the window where that is long, else since its view was reset where
/// that is long ago; none where neither is.
pub(crate) fn counted<T: Dated>(
    sampled: &Sampled<T>,
    counter: impl Fn(&T) -> Option<f64>,
) -> Option<Counted> {
    counted_since(sampled, T::age_s, counter)
}

/// The same for a counter whose age is not that of the others beside it.
pub(crate) fn counted_since<T>(
    sampled: &Sampled<T>,
    age_s: impl Fn(&T) -> Option<f64>,
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
    let latest = sampled.latest()?;
    let seconds = age_s(latest)?;
    let amount = counter(latest)?;
    (seconds >= LONG_STATISTICS_S).then_some(Counted { amount, seconds })
}

/// What one counter of every database grew by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct InAllDatabases {
    pub(crate) per_s: f64,
    pub(crate) amount: f64,
    /// Over how long, where it is longest.
    pub(crate) seconds: f64,
    /// Whether no database that counted something had to be left out for its age.
    pub(crate) is_whole: bool,
}

/// Each database's counter over its own time; none where no database has counted for long.
pub(crate) fn in_all_databases(
    sampled: &Sampled<Vec<DatabaseCounters>>,
    counter: impl Fn(&DatabaseCounters) -> Option<u64>,
) -> Option<InAllDatabases> {
    let sum = |all: &Vec<DatabaseCounters>| {
        let known: Vec<u64> = all.iter().filter_map(&counter).collect();
        (!known.is_empty()).then(|| known.iter().map(|count| *count as f64).sum::<f64>())
    };
    if sampled.seconds >= LONG_WINDOW_S
        && let Some(per_s) = sampled.rate(sum)
    {
        return Some(InAllDatabases {
            per_s,
            amount: per_s * sampled.seconds,
            seconds: sampled.seconds,
            is_whole: true,
        });
    }
    let mut all = InAllDatabases {
        per_s: 0.0,
        amount: 0.0,
        seconds: 0.0,
        is_whole: true,
    };
    for one in sampled.latest()? {
        let Some(count) = counter(one) else { continue };
        match one.stats_age_s.filter(|age_s| *age_s >= LONG_STATISTICS_S) {
            Some(age_s) => {
                all.per_s += count as f64 / age_s;
                all.amount += count as f64;
                all.seconds = all.seconds.max(age_s);
            }
            None => all.is_whole &= count == 0,
        }
    }
    (all.seconds > 0.0).then_some(all)
}

/// Why a counter of all databases tells nothing, or not of all of them.
pub(crate) fn undated(
    what: &str,
    sampled: &Sampled<Vec<DatabaseCounters>>,
    counter: impl Fn(&DatabaseCounters) -> Option<u64>,
) -> Outcome {
    let all = sampled.latest().map_or(&[][..], Vec::as_slice);
    let is_partial = all.iter().any(|one| counter(one).is_some() && is_old(one));
    let (mut is_young, mut is_dateless) = (false, false);
    for one in all.iter().filter(|one| !is_old(one)) {
        match counter(one) {
            None => continue,
            Some(0) if is_partial => continue,
            Some(_) => {}
        }
        is_young |= one.stats_age_s.is_some();
        is_dateless |= one.stats_age_s.is_none();
    }
    let whose = if is_partial {
        "the counters of some databases"
    } else {
        "the counters"
    };
    let why = match (is_young, is_dateless) {
        (true, true) => {
            format!("{whose} cover less than a day, and since when others count is not known")
        }
        (false, true) => format!("since when {whose} count is not known"),
        (_, false) => format!("{whose} cover less than a day"),
    };
    Outcome::Unknown(format!("{what}: {why}"))
}

fn is_old(one: &DatabaseCounters) -> bool {
    one.stats_age_s
        .is_some_and(|age_s| age_s >= LONG_STATISTICS_S)
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
    counted(&postgres.wal, |wal| wal.bytes.map(|bytes| bytes as f64))
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
        "no statistics yet: the counters cover less than a day, or nobody knows how long, and no workload is declared"
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
    use crate::testing::{declare_tpcc, healthy, postgres, with_statistics_of_days};

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
    fn each_view_is_divided_by_its_own_age() {
        let mut facts = healthy();
        with_statistics_of_days(&mut facts, 365.0);
        let day = |mut database: Database| {
            database.stats_age_s = Some(90_000.0);
            database
        };
        let server = postgres(&mut facts);
        server.database.after = server.database.after.clone().map(day);
        let rate = wal_rate(server).unwrap();
        assert!(
            (rate - 100_000.0 / (365.0 * 86_400.0)).abs() < 1e-9,
            "{rate}"
        );
        let commits = counted(&server.database, |all| Some(all.commits as f64)).unwrap();
        assert!((commits.seconds - 90_000.0).abs() < 1e-9);
        server.wal.after = server.wal.after.clone().map(|mut wal| {
            wal.stats_age_s = Some(3600.0);
            wal
        });
        assert_eq!(wal_rate(server), None);
    }

    #[test]
    fn databases_are_summed_as_rates_and_young_ones_left_out() {
        let one = |sessions, stats_age_s| DatabaseCounters {
            sessions: Some(sessions),
            stats_age_s,
            ..DatabaseCounters::default()
        };
        let sampled = |all| Sampled {
            before: dbdyno_model::Fact::known(all, "pg_stat_database"),
            ..Sampled::default()
        };
        let old = one(864_000, Some(10.0 * LONG_STATISTICS_S));
        let newer = one(86_400, Some(LONG_STATISTICS_S));
        let of = |all| in_all_databases(&sampled(all), |one| one.sessions);
        let both = of(vec![old.clone(), newer, one(0, None)]).unwrap();
        assert!((both.per_s - 2.0).abs() < 1e-9 && both.is_whole, "{both:?}");
        let partly = of(vec![old, one(5, None)]).unwrap();
        assert!(
            (partly.per_s - 1.0).abs() < 1e-9 && !partly.is_whole,
            "{partly:?}"
        );
        assert_eq!(of(vec![one(5, Some(60.0))]), None);
    }

    #[test]
    fn why_a_counter_tells_nothing_is_true_of_it() {
        let one = |sessions, stats_age_s| DatabaseCounters {
            sessions: Some(sessions),
            stats_age_s,
            ..DatabaseCounters::default()
        };
        let why = |all: Vec<DatabaseCounters>| {
            let sampled = Sampled {
                before: dbdyno_model::Fact::known(all, "pg_stat_database"),
                ..Sampled::default()
            };
            match undated("sessions", &sampled, |one| one.sessions) {
                Outcome::Unknown(why) => why,
                other => panic!("{other:?}"),
            }
        };
        let (old, young) = (one(9, Some(LONG_STATISTICS_S)), one(9, Some(60.0)));
        insta::assert_snapshot!(why(vec![young.clone()]), @"sessions: the counters cover less than a day");
        insta::assert_snapshot!(why(vec![one(9, None)]), @"sessions: since when the counters count is not known");
        insta::assert_snapshot!(why(vec![young, one(9, None)]), @"sessions: the counters cover less than a day, and since when others count is not known");
        insta::assert_snapshot!(why(vec![old, one(9, None), one(0, Some(60.0))]), @"sessions: since when the counters of some databases count is not known");
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
