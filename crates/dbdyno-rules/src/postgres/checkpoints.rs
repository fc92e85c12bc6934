//! How far apart checkpoints should lie and how much log that needs: one answer for the rules
//! that share it.

use dbdyno_model::finding::Confidence;
use dbdyno_model::postgres::{Checkpoints, Postgres};
use dbdyno_model::{Facts, Outcome};

use super::load::{self, Writes};
use super::{machine, recovery, settings};
use crate::formulas::{GIB, MIB, wal};
use crate::rule::need;
use crate::solver::humane;

/// The default interval, which writes most pages in full again and again.
pub(crate) const SHORT_TIMEOUT_S: f64 = 300.0;
pub(crate) const WANTED_TIMEOUT_S: f64 = 900.0;

/// Log that one CPU is assumed to write under a declared load of short writing transactions.
///
/// A published TPC-C run wrote 3,359 GB in ten hours on 56 hardware threads with full-page images
/// uncompressed: 1.7 MB/s each, on processors of 2014. Twice that, rounded up, for present ones.
const ASSUMED_WAL_BYTES_PER_S_AND_CPU: f64 = 4.0 * MIB as f64;

/// A declared load is an assumption: it may take a tenth of what is free, and no more than a
/// server replays in minutes.
const DECLARED_SHARE_OF_FREE: f64 = 0.10;
const DECLARED_MOST_BYTES: u64 = 16 * GIB;
const DECLARED_LEAST_BYTES: u64 = 2 * GIB;

/// Whatever was counted, the log leaves half of what is free to everything else.
const SHARE_OF_FREE: f64 = 0.50;

/// Whoever chose a long `checkpoint_timeout` did not ask for hours of recovery: no log is asked for that
/// takes longer to replay than the interval that is recommended.
const LONGEST_RECOVERY_S: f64 = WANTED_TIMEOUT_S;

/// The mean over days hides the busy hours for which the log is sized.
const PEAK_TO_MEAN: f64 = 3.0;

/// Share of requested checkpoints from which the log is too short.
const REQUESTED_SHARE: f64 = 0.10;

/// Checkpoints from which their share means something: an hour at the default interval.
const ENOUGH_CHECKPOINTS: f64 = 12.0;

/// The log that a server should have room for between checkpoints.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WantedLog {
    pub(crate) bytes: u64,
    pub(crate) confidence: Confidence,
    /// For a message: what the size rests on.
    pub(crate) because: String,
}

/// Seconds between checkpoints once the plan is carried out.
pub(crate) fn planned_timeout_s(facts: &Facts, postgres: &Postgres) -> Result<f64, Outcome> {
    let now = settings::number(postgres, "checkpoint_timeout")?;
    let raised = now <= SHORT_TIMEOUT_S && load::writes(facts, postgres).is_ok();
    Ok(if raised { WANTED_TIMEOUT_S } else { now })
}

/// Log written a second in busy hours: counted, or assumed of a declared load.
pub(crate) fn busy_rate(facts: &Facts, postgres: &Postgres) -> Option<f64> {
    let counted = load::wal_rate(postgres).map(|rate| rate * PEAK_TO_MEAN);
    let declared = load::declared_writes(facts)
        .and_then(|_| machine::cpus(facts).get())
        .map(|cpus| f64::from(cpus) * ASSUMED_WAL_BYTES_PER_S_AND_CPU);
    counted.into_iter().chain(declared).reduce(f64::max)
}

/// Share of the checkpoints that did something which were requested; between the two where it is not
/// known how many timed ones did nothing, since the server had been idle.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Requested {
    least: f64,
    most: f64,
}

/// None before there were enough of them.
fn requested(postgres: &Postgres) -> Result<Option<Requested>, Outcome> {
    let counted = |count: fn(&Checkpoints) -> Option<u64>| {
        load::counted(&postgres.checkpoints, |all| count(all).map(|n| n as f64))
    };
    let timed = counted(|all| Some(all.timed));
    let requested = counted(|all| Some(all.requested));
    let (Some(timed), Some(requested)) = (timed, requested) else {
        return Ok(None);
    };
    let all = timed.amount + requested.amount;
    if all < ENOUGH_CHECKPOINTS {
        return Ok(None);
    }
    // A requested one is never passed over: it has log to make room for, or was asked for by name.
    let (least_done, most_done) = match counted(|all| all.done) {
        // Too few to call the log too short, after a time that was long enough for more.
        Some(done) if done.amount < ENOUGH_CHECKPOINTS => {
            return Ok(Some(Requested {
                least: 0.0,
                most: 0.0,
            }));
        }
        Some(done) => (done.amount, done.amount),
        None => {
            let room = settings::bytes(postgres, "max_wal_size")?;
            let written = load::wal_rate(postgres).map_or(0.0, |rate| rate * timed.seconds);
            // Between two of them lies no more log than there is room for.
            ((written / room.max(1) as f64).min(all), all)
        }
    };
    let share = |done: f64| {
        let timed = (done - requested.amount).max(0.0);
        wal::requested_share(timed, requested.amount).unwrap_or(0.0)
    };
    Ok(Some(Requested {
        least: share(most_done),
        most: share(least_done),
    }))
}

/// Room for the log by what was counted, else by what was declared.
pub(crate) fn wanted_log(facts: &Facts, postgres: &Postgres) -> Result<WantedLog, Outcome> {
    let requested = requested(postgres)?;
    let rate = load::wal_rate(postgres);
    let is_too_short = requested.is_some_and(|share| share.least > REQUESTED_SHARE);
    if let (Some(share), Some(rate), true) = (requested, rate, is_too_short) {
        return counted_log(facts, postgres, share.least, rate);
    }
    if let Some(workload) = load::declared_writes(facts) {
        return declared_log(facts, postgres, workload);
    }
    let Some(share) = requested else {
        return Err(match facts.intent.workload {
            Some(_) => Outcome::Ok,
            None => load::no_statistics(),
        });
    };
    if is_too_short {
        return Err(Outcome::Unknown(
            "WAL rate: no pg_stat_wal before 14; collect over ten minutes or more".to_owned(),
        ));
    }
    // A log that holds the busy hours is long enough, whoever requested the checkpoints.
    let has_room = match rate {
        Some(rate) => {
            let room = settings::bytes(postgres, "max_wal_size")?;
            wanted_bytes(facts, postgres, rate * PEAK_TO_MEAN)? <= room
        }
        None => false,
    };
    if share.most <= REQUESTED_SHARE || has_room {
        return Err(Outcome::Ok);
    }
    Err(Outcome::Unknown(format!(
        "share of requested checkpoints: {:.0} % at least, {:.0} % at most; how many of the timed ones \
         had something to do is counted from PostgreSQL 18 on",
        share.least * 100.0,
        share.most * 100.0
    )))
}

fn counted_log(
    facts: &Facts,
    postgres: &Postgres,
    share: f64,
    rate: f64,
) -> Result<WantedLog, Outcome> {
    let wanted = wanted_bytes(facts, postgres, rate * PEAK_TO_MEAN)?;
    let most = (free_bytes(facts)? as f64 * SHARE_OF_FREE) as u64;
    Ok(WantedLog {
        bytes: wanted.min(humane::round_down(most)),
        confidence: Confidence::High,
        because: format!(
            "{:.0} % of the checkpoints were requested, {}",
            share * 100.0,
            Writes::Counted {
                wal_bytes_per_s: rate
            }
            .because()
        ),
    })
}

fn declared_log(facts: &Facts, postgres: &Postgres, workload: &str) -> Result<WantedLog, Outcome> {
    let cpus = need(&machine::cpus(facts), "CPUs")?;
    let rate = f64::from(cpus) * ASSUMED_WAL_BYTES_PER_S_AND_CPU;
    let needed = needed(facts, postgres, rate)?.min(DECLARED_MOST_BYTES);
    let free = free_bytes(facts)?;
    let share = (free as f64 * DECLARED_SHARE_OF_FREE) as u64;
    let room_for_least = DECLARED_LEAST_BYTES <= (free as f64 * SHARE_OF_FREE) as u64;
    let least = if room_for_least {
        DECLARED_LEAST_BYTES
    } else {
        0
    };
    let bytes = needed.min(share).max(least.min(needed));
    Ok(WantedLog {
        bytes: humane::round_down(bytes),
        confidence: Confidence::Medium,
        because: format!(
            "for the declared workload {workload}, taking {:.0} MiB/s of WAL for {cpus} CPUs",
            rate / MIB as f64
        ),
    })
}

/// The log of the busy hours, as far as a crash may have it to replay.
fn wanted_bytes(facts: &Facts, postgres: &Postgres, rate: f64) -> Result<u64, Outcome> {
    let needed = needed(facts, postgres, rate)?;
    Ok(humane::round_down(
        needed.min(recovery::replayed_in(LONGEST_RECOVERY_S)),
    ))
}

fn needed(facts: &Facts, postgres: &Postgres, rate: f64) -> Result<u64, Outcome> {
    let timeout = planned_timeout_s(facts, postgres)?;
    let target = settings::number(postgres, "checkpoint_completion_target")?.max(0.9);
    Ok(wal::max_wal_size_bytes(rate, timeout, target))
}

fn free_bytes(facts: &Facts) -> Result<u64, Outcome> {
    const NAME: &str = "free space under the write-ahead log";
    let storage =
        machine::wal_storage(facts).map_err(|why| Outcome::Unknown(format!("{NAME}: {why}")))?;
    need(&storage.free_bytes, NAME)
}
