//! How far apart checkpoints should lie and how much log that needs: one answer for the rules
//! that share it.

use dbdyno_model::finding::Confidence;
use dbdyno_model::postgres::Postgres;
use dbdyno_model::{Facts, Outcome};

use super::load::{self, Writes};
use super::{machine, settings};
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

/// Share of checkpoints that the log's size forced; none before there were enough of them.
pub(crate) fn requested_share(postgres: &Postgres) -> Option<f64> {
    let timed = load::counted(&postgres.checkpoints, |count| Some(count.timed as f64))?;
    let requested = load::counted(&postgres.checkpoints, |count| Some(count.requested as f64))?;
    if timed.amount + requested.amount < ENOUGH_CHECKPOINTS {
        return None;
    }
    wal::requested_share(timed.amount, requested.amount)
}

/// Room for the log by what was counted, else by what was declared.
pub(crate) fn wanted_log(facts: &Facts, postgres: &Postgres) -> Result<WantedLog, Outcome> {
    let requested = requested_share(postgres);
    let too_short = requested.filter(|share| *share > REQUESTED_SHARE);
    if let (Some(share), Some(rate)) = (too_short, load::wal_rate(postgres)) {
        return counted_log(facts, postgres, share, rate);
    }
    if let Some(workload) = load::declared_writes(facts) {
        return declared_log(facts, postgres, workload);
    }
    Err(match (too_short, requested) {
        (Some(_), _) => Outcome::Unknown(
            "WAL rate: no pg_stat_wal before 14; collect over ten minutes or more".to_owned(),
        ),
        (None, Some(_)) => Outcome::Ok,
        (None, None) if facts.intent.workload.is_some() => Outcome::Ok,
        (None, None) => load::no_statistics(),
    })
}

fn counted_log(
    facts: &Facts,
    postgres: &Postgres,
    share: f64,
    rate: f64,
) -> Result<WantedLog, Outcome> {
    let needed = needed(facts, postgres, rate * PEAK_TO_MEAN)?;
    let most = (free_bytes(facts)? as f64 * SHARE_OF_FREE) as u64;
    Ok(WantedLog {
        bytes: humane::round_down(needed.min(most)),
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
