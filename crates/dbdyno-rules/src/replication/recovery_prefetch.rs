//! Replay that waits for one read after the other.
//!
//! ## What it finds
//! A standby that is behind, whose startup process waits for reads in most looks, while
//! `recovery_prefetch` is off or `maintenance_io_concurrency` is below 32.
//!
//! ## Why it matters
//! One process replays what many sessions wrote. Without reading ahead it waits for each page of
//! data that is not cached; storage that would serve dozens of reads at once serves one.
//!
//! ## What to do
//! Set `recovery_prefetch` to try and `maintenance_io_concurrency` to 32 on the standby.
//!
//! ## Risk
//! None to data. Replay takes a larger share of the standby's storage; index builds and vacuum
//! there read further ahead, too.
//!
//! ## When it does not apply
//! Before PostgreSQL 15; standbys that keep up; systems without `posix_fadvise`.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/runtime-config-wal.html>
//! - <https://www.postgresql.org/docs/current/runtime-config-resource.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::words::{plural, verb};
use dbdyno_model::{Facts, Outcome, Severity};

use super::state;
use crate::postgres::releases;
use crate::postgres::settings::{self, SettingEvidence, value};
use crate::rule::{
    FindingExt, RecommendationExt, Rule, humane_bytes, need_ref, safe, server, settle,
};

pub(super) const RULE: Rule = Rule {
    id: "replication.recovery_prefetch",
    severity: Severity::Info,
    confidence: Confidence::Medium,
    sources: &[
        "https://www.postgresql.org/docs/current/runtime-config-wal.html",
        "https://www.postgresql.org/docs/current/runtime-config-resource.html",
    ],
    check,
    source_text: include_str!("recovery_prefetch.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

/// Four segments: less is the unevenness of every replay.
const BEHIND_BYTES: u64 = 64 << 20;
const READING_SHARE: f64 = 0.50;
const ENOUGH_LOOKS: u64 = 5;
const WANTED_CONCURRENCY: f64 = 32.0;

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    state::standby(postgres)?;
    releases::since(postgres, 15, "reading ahead in replay")?;
    let replay_fact = &postgres.replication.replay;
    let replay = need_ref(replay_fact, "how far the standby has replayed")?;
    let Some(behind) = replay
        .unreplayed_bytes
        .filter(|bytes| *bytes > BEHIND_BYTES)
    else {
        return Ok(Outcome::Ok);
    };
    let waits = need_ref(&postgres.waits, "what the startup process waits for")?;
    if waits.looks < ENOUGH_LOOKS {
        return Err(Outcome::Unknown(format!(
            "what the startup process waits for: {} {} too few, take a longer sample",
            plural(waits.looks, "look"),
            verb(waits.looks, "is", "are")
        )));
    }
    let reading = waits
        .startup_events
        .iter()
        .filter(|(event, _)| is_read(event))
        .fold(0_u64, |sum, (_, seen)| sum.saturating_add(*seen));
    let share = reading as f64 / waits.looks as f64;
    let is_off = settings::text(postgres, "recovery_prefetch")? == "off";
    let concurrency = settings::number(postgres, "maintenance_io_concurrency")?;
    let is_narrow = concurrency < WANTED_CONCURRENCY;
    if share < READING_SHARE || !(is_off || is_narrow) {
        return Ok(Outcome::Ok);
    }
    let mut finding = RULE
        .finding(format!(
            "replay is {} behind and waits for reads {:.0} % of the time",
            humane_bytes(behind),
            (share * 100.0).min(100.0)
        ))
        .evidence(
            "not replayed",
            humane_bytes(behind),
            replay_fact.origin.clone(),
        )
        .evidence("looks", waits.looks, postgres.waits.origin.clone())
        .shows(postgres, "recovery_prefetch")
        .shows(postgres, "maintenance_io_concurrency");
    let costs = "a larger share of the standby's storage";
    if is_off {
        finding = finding.recommend(
            safe(
                "recovery_prefetch",
                value("try"),
                "pages that replay will need are read ahead",
            )
            .giving_up(costs),
        );
    }
    if is_narrow {
        finding = finding.recommend(
            safe(
                "maintenance_io_concurrency",
                value(WANTED_CONCURRENCY.to_string()),
                "more reads of replay are under way at the same time",
            )
            .giving_up(costs),
        );
    }
    Ok(finding.into_outcome())
}

/// Of pages, which can be read ahead: waits for the log itself and for writes cannot.
fn is_read(event: &str) -> bool {
    event == "IO:DataFileRead" || event.starts_with("IO:Aio")
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::replication::state::testing::standby;
    use crate::testing::{configure, finding, healthy, not_applicable, ok, postgres, unknown};
    use dbdyno_model::finding::Want;
    use dbdyno_model::postgres::{Replay, Waits};
    use dbdyno_model::{Fact, Facts};

    fn reading(behind: u64, looks: u64, waiting: u64) -> Facts {
        waiting_for("IO:DataFileRead", behind, looks, waiting)
    }

    fn waiting_for(event: &str, behind: u64, looks: u64, waiting: u64) -> Facts {
        let mut facts = standby();
        let server = postgres(&mut facts);
        server.replication.replay = Fact::known(
            Replay {
                unreplayed_bytes: Some(behind),
                pause: "not paused".into(),
                ..Replay::default()
            },
            "pg_last_wal_replay_lsn()",
        );
        server.waits = Fact::known(
            Waits {
                looks,
                startup_events: [(event.to_owned(), waiting)].into(),
                ..Waits::default()
            },
            "pg_stat_activity",
        );
        facts
    }

    #[test]
    fn replay_that_waits_for_reads_is_found() {
        let mut facts = reading(2 << 30, 10, 8);
        let found = finding(&RULE, &facts);
        assert_eq!(
            found.message,
            "replay is 2 GiB behind and waits for reads 80 % of the time"
        );
        assert_eq!(found.recommendations[0].want, Want::Value("32".into()));
        configure(&mut facts, "recovery_prefetch", "off");
        assert_eq!(finding(&RULE, &facts).recommendations.len(), 2);
    }

    #[test]
    fn keeping_up_computing_and_reading_ahead_already_are_fine() {
        ok(&RULE, &standby());
        ok(&RULE, &reading(2 << 30, 10, 2));
        ok(&RULE, &waiting_for("IO:WALRead", 2 << 30, 10, 8));
        let mut facts = reading(2 << 30, 10, 8);
        configure(&mut facts, "maintenance_io_concurrency", "64");
        ok(&RULE, &facts);
    }

    #[test]
    fn primaries_and_older_servers_are_not_applicable() {
        not_applicable(&RULE, &healthy());
        let mut facts = reading(2 << 30, 10, 8);
        postgres(&mut facts).version_num = 140_024;
        not_applicable(&RULE, &facts);
    }

    #[test]
    fn too_few_looks_are_unknown() {
        let why = unknown(&RULE, &reading(2 << 30, 1, 1));
        assert!(why.ends_with("1 look is too few, take a longer sample"));
    }
}
