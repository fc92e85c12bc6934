//! How long a crash takes to recover from, by the checkpoint settings and the rate of the log.

use dbdyno_model::postgres::Postgres;
use dbdyno_model::{Facts, Finding, Outcome};

use super::{checkpoints, settings};
use crate::formulas::{MIB, wal};
use crate::rule::{FindingExt, humane_number};
use crate::scope::humane_time;

/// Replay is one process that waits for reads: an assumption, since no view tells it of a server that
/// did not crash.
const REPLAY_BYTES_PER_S: f64 = 80e6;

/// `1.8 minutes at an assumed 80 MB/s`.
pub(crate) fn replayed(log_bytes: u64) -> String {
    let seconds = wal::recovery_s(log_bytes as f64, REPLAY_BYTES_PER_S).unwrap_or(0.0);
    format!(
        "{} at an assumed {} MB/s",
        humane_time(seconds),
        humane_number(REPLAY_BYTES_PER_S / 1e6)
    )
}

/// Log that is replayed in that time.
pub(crate) fn replayed_in(seconds: f64) -> u64 {
    (REPLAY_BYTES_PER_S * seconds) as u64
}

/// Shows what a crash would take now, and with what the rules on checkpoints ask for.
pub(crate) fn shown(
    finding: Finding,
    facts: &Facts,
    postgres: &Postgres,
) -> Result<Finding, Outcome> {
    let Some(rate) = checkpoints::busy_rate(facts, postgres) else {
        return Ok(finding);
    };
    let now_bytes = settings::bytes(postgres, "max_wal_size")?;
    let now_s = settings::number(postgres, "checkpoint_timeout")?;
    let planned_bytes = checkpoints::wanted_log(facts, postgres)
        .map_or(now_bytes, |wanted| wanted.bytes.max(now_bytes));
    let planned_s = checkpoints::planned_timeout_s(facts, postgres)?;
    let target = settings::number(postgres, "checkpoint_completion_target")?;
    // Until a checkpoint is complete, recovery begins at the one before.
    let log =
        |timeout_s: f64, most: u64| wal::max_wal_size_bytes(rate, timeout_s, target).min(most);
    let value = format!(
        "up to {} now, up to {} with these values, with {} MiB/s of WAL in busy hours",
        replayed(log(now_s, now_bytes)),
        replayed(log(planned_s, planned_bytes)),
        humane_number(rate / MIB as f64)
    );
    let origin = "max_wal_size, checkpoint_timeout and the WAL rate";
    Ok(finding.evidence("recovery after a crash", value, origin))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{healthy, postgres, with_statistics_of_days};
    use dbdyno_model::Severity;

    fn finding() -> Finding {
        let rules = crate::catalogue();
        let rule = rules.iter().find(|rule| rule.id == "postgres.max_wal_size");
        rule.unwrap().finding("").severity(Severity::Info)
    }

    #[test]
    fn the_log_since_the_last_checkpoint_is_bounded_by_time_and_by_volume() {
        let mut facts = healthy();
        with_statistics_of_days(&mut facts, 1.0);
        let server = postgres(&mut facts);
        server.wal.after = server.wal.after.clone().map(|mut wal| {
            wal.bytes = Some(86_400 * MIB);
            wal
        });
        let server = facts.postgres.clone().unwrap();
        let told = shown(finding(), &facts, &server).unwrap();
        // 3 MiB/s · 300 s · 1.9 are more than the gigabyte of max_wal_size.
        insta::assert_snapshot!(told.evidence[0].value, @"up to 13.4 seconds at an assumed 80 MB/s now, up to 13.4 seconds at an assumed 80 MB/s with these values, with 3 MiB/s of WAL in busy hours");
    }

    #[test]
    fn a_log_of_unknown_rate_tells_no_time() {
        let facts = healthy();
        let server = facts.postgres.clone().unwrap();
        let told = shown(finding(), &facts, &server).unwrap();
        assert_eq!(told.evidence, []);
        assert_eq!(
            replayed(16_000_000_000),
            "3.3 minutes at an assumed 80 MB/s"
        );
    }
}
