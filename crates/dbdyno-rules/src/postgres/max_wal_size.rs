//! Checkpoints forced by the size of the write-ahead log.
//!
//! ## What it finds
//! More than a tenth of the checkpoints requested because the log reached `max_wal_size`; or,
//! before there are such counters, a declared writing load that will reach it. A timed checkpoint of an
//! idle server does nothing and is not counted with the others from PostgreSQL 18 on. Before 18 nobody
//! knows how many did nothing: the share lies between what all of them would make it and what the log
//! written allows, and where these disagree, and the log of the busy hours has no room, it is unknown.
//!
//! ## Why it matters
//! After each checkpoint the first change of every page writes the whole page into the log.
//! Checkpoints that come too early write most pages again and again, and flush in bursts that every
//! commit feels.
//!
//! ## What to do
//! Set `max_wal_size` to the log of the busy hours × `checkpoint_timeout` × (1 +
//! `checkpoint_completion_target`), within half of the free space under the log and what is replayed in
//! 15 minutes, however long `checkpoint_timeout` is. For a declared load the rate is assumed: 4 MiB/s a
//! CPU, bounded by a tenth of the free space and 16 GiB.
//!
//! ## Risk
//! None to data. The log takes more space, and recovery after a crash may have to replay all of it:
//! how long that takes is told for 80 MB/s, which is an assumption.
//!
//! ## When it does not apply
//! Servers that write little.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/wal-configuration.html>
//! - <https://www.postgresql.org/docs/current/runtime-config-wal.html>
//! - PostgreSQL's source, src/backend/access/transam/xlog.c (the factor)

use dbdyno_model::finding::{Confidence, Want};
use dbdyno_model::{Facts, Finding, Outcome, Severity};

use super::checkpoints::wanted_log;
use super::recovery;
use super::settings::{self, SettingEvidence};
use crate::rule::{FindingExt, RecommendationExt, Rule, humane_bytes, safe, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "postgres.max_wal_size",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &[
        "https://www.postgresql.org/docs/current/wal-configuration.html",
        "https://www.postgresql.org/docs/current/runtime-config-wal.html",
        "PostgreSQL's source, src/backend/access/transam/xlog.c",
    ],
    check,
    source_text: include_str!("max_wal_size.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    let now = settings::bytes(postgres, "max_wal_size")?;
    let wanted = wanted_log(facts, postgres)?;
    if wanted.bytes <= now {
        return Ok(Outcome::Ok);
    }
    let finding = RULE
        .finding(format!(
            "max_wal_size is {}, too little for checkpoints by time: {}",
            settings::humane(postgres, "max_wal_size"),
            wanted.because
        ))
        .shows(postgres, "max_wal_size")
        .shows(postgres, "checkpoint_timeout");
    let finding = recovery::shown(finding, facts, postgres)?;
    Ok(Finding {
        confidence: wanted.confidence,
        ..finding
    }
    .recommend(
        safe(
            "max_wal_size",
            Want::Bytes(wanted.bytes),
            "time, not volume, starts the checkpoints; fewer pages are logged in full",
        )
        .giving_up(format!(
            "recovery time: a crash may have up to {} of WAL to replay, {}, and the disk holds it",
            humane_bytes(wanted.bytes),
            recovery::replayed(wanted.bytes)
        )),
    )
    .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{
        configure, declare_tpcc, finding, healthy, ok, postgres, unknown, with_statistics_of_days,
    };
    use dbdyno_model::finding::{Confidence, Want};
    use dbdyno_model::{Fact, Facts};

    fn declared(free_gib: u64) -> Facts {
        let mut facts = healthy();
        declare_tpcc(&mut facts);
        let host = facts.host.as_mut().unwrap();
        host.wal = host.wal.clone().map(|mut storage| {
            storage.free_bytes = Fact::known(free_gib << 30, "statvfs");
            storage
        });
        facts
    }

    fn wanted(facts: &Facts) -> u64 {
        match finding(&RULE, facts).recommendations[0].want {
            Want::Bytes(bytes) => bytes,
            _ => panic!("a size is wanted"),
        }
    }

    #[test]
    fn a_declared_load_gets_room_within_a_tenth_of_what_is_free() {
        let found = finding(&RULE, &declared(80));
        insta::assert_snapshot!(found.message, @"max_wal_size is 1GB, too little for checkpoints by time: for the declared workload tpcc, taking 8 MiB/s of WAL for 2 CPUs");
        assert_eq!(found.confidence, Confidence::Medium);
        // 1 GiB now, 8 GiB then.
        let recovery = found.evidence.last().unwrap();
        assert_eq!(recovery.fact, "recovery after a crash");
        assert!(
            recovery.value.starts_with("up to 13.4 seconds")
                && recovery.value.contains("up to 107.4 seconds"),
            "{}",
            recovery.value
        );
        assert!(
            found.recommendations[0]
                .gives_up
                .as_ref()
                .unwrap()
                .contains("8 GiB of WAL")
        );
        assert_eq!(wanted(&declared(80)), 8 << 30);
    }

    #[test]
    fn the_bounds_of_a_declared_load() {
        // 2 CPUs · 4 MiB/s · 15 min · 1.9 are 13.4 GiB.
        assert_eq!(wanted(&declared(1000)), 13 << 30);
        let mut facts = declared(1000);
        facts.intent.cpus = Some(32);
        assert_eq!(wanted(&facts), 16 << 30);
        assert_eq!(wanted(&declared(5)), 2 << 30);
        ok(&RULE, &declared(3));
    }

    fn counted(requested: u64, wal_bytes_per_day: u64) -> Facts {
        let mut facts = healthy();
        with_statistics_of_days(&mut facts, 1.0);
        let server = postgres(&mut facts);
        server.checkpoints.after = server.checkpoints.after.clone().map(|mut all| {
            (all.timed, all.requested) = (100, requested);
            all
        });
        server.wal.after = server.wal.after.clone().map(|mut all| {
            all.bytes = Some(wal_bytes_per_day);
            all
        });
        facts
    }

    #[test]
    fn counted_requests_are_found_and_their_share_is_named() {
        let found = finding(&RULE, &counted(100, 86_400 * (2 << 20)));
        assert!(
            found
                .message
                .contains("50 % of the checkpoints were requested"),
            "{}",
            found.message
        );
        assert_eq!(found.confidence, Confidence::High);
        // Three times 2 MiB/s over 15 min · 1.9.
        assert_eq!(found.recommendations[0].want, Want::Bytes(10 << 30));
    }

    /// A thousand timed checkpoints, a hundred requested ones, and those that did something.
    fn bursts(done: Option<u64>, wal_bytes_per_day: u64) -> Facts {
        let mut facts = counted(100, wal_bytes_per_day);
        let server = postgres(&mut facts);
        server.checkpoints.after = server.checkpoints.after.clone().map(|mut all| {
            (all.timed, all.done) = (1000, done);
            all
        });
        facts
    }

    const GIGABYTE: u64 = 1_000_000_000;

    #[test]
    fn timed_checkpoints_that_did_nothing_hide_no_requested_ones() {
        let found = finding(&RULE, &bursts(Some(110), 100 * GIGABYTE));
        assert!(found.message.contains("91 %"), "{}", found.message);
        ok(&RULE, &bursts(Some(1100), 100 * GIGABYTE));
        // A server that did next to nothing.
        ok(&RULE, &bursts(Some(3), 100 * GIGABYTE));
    }

    #[test]
    fn before_18_the_share_lies_between_what_the_log_written_allows() {
        let why = unknown(&RULE, &bursts(None, 100 * GIGABYTE));
        assert!(why.contains("9 % at least, 100 % at most"), "{why}");
        // Two terabytes do not go through one gigabyte in less than 1,100 checkpoints.
        ok(&RULE, &bursts(None, 2000 * GIGABYTE));
        // Even the busy hours have room.
        ok(&RULE, &bursts(None, 10 * GIGABYTE));
    }

    #[test]
    fn no_log_is_asked_for_that_takes_hours_to_replay() {
        let mut facts = counted(100, 86_400 * (50 << 20));
        configure(&mut facts, "checkpoint_timeout", "3600");
        let host = facts.host.as_mut().unwrap();
        host.wal = host.wal.clone().map(|mut storage| {
            storage.free_bytes = Fact::known(4 << 40, "statvfs");
            storage
        });
        // 72 GB in 15 minutes, not the terabyte of an hour.
        assert_eq!(wanted(&facts), 64 << 30);
    }

    #[test]
    fn few_requests_are_fine() {
        ok(&RULE, &counted(5, 86_400 * (2 << 20)));
    }

    #[test]
    fn without_counters_or_a_declaration_nothing_is_claimed() {
        assert!(unknown(&RULE, &healthy()).starts_with("no statistics yet"));
    }

    #[test]
    fn a_disk_that_is_not_seen_is_not_filled() {
        let mut facts = declared(80);
        facts.host = None;
        facts.intent.cpus = Some(2);
        assert!(unknown(&RULE, &facts).starts_with("free space under the write-ahead log"));
    }

    #[test]
    fn enough_is_fine() {
        let mut facts = declared(80);
        configure(&mut facts, "max_wal_size", "8192");
        ok(&RULE, &facts);
    }
}
