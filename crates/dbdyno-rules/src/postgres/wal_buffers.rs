//! A log buffer that runs full.
//!
//! ## What it finds
//! More than one write in ten seconds by a session that found the log buffer full, with
//! `wal_buffers` below 64 MB; or a `wal_buffers` set below 1 MB.
//!
//! ## Why it matters
//! A full buffer makes the session that wants to log write it out itself, while it holds a lock
//! that every other writer needs.
//!
//! ## What to do
//! Set `wal_buffers` to 64 MB. Its default, −1, is a thirty-second of `shared_buffers` up to 16 MB,
//! and is enough for most: raise `shared_buffers` first.
//!
//! ## Risk
//! None to data. It needs a restart.
//!
//! ## When it does not apply
//! Servers on which nothing writes. Before PostgreSQL 14 the counter does not exist.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/runtime-config-wal.html>

use dbdyno_model::finding::{Confidence, Want};
use dbdyno_model::{Facts, Outcome, Severity};

use super::load;
use super::settings::{self, SettingEvidence};
use crate::formulas::MIB;
use crate::rule::{FindingExt, RecommendationExt, Rule, safe, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "postgres.wal_buffers",
    severity: Severity::Info,
    confidence: Confidence::High,
    sources: &["https://www.postgresql.org/docs/current/runtime-config-wal.html"],
    check,
    source_text: include_str!("wal_buffers.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

const WANTED_BYTES: u64 = 64 * MIB;
const FULL_PER_S: f64 = 0.1;
const TINY_BYTES: u64 = MIB;

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    let now = settings::bytes(postgres, "wal_buffers")?;
    let by_owner = postgres
        .setting("wal_buffers")
        .is_some_and(|now| now.is_set_by_user());
    let full = load::counted(&postgres.wal, |wal| {
        wal.buffers_full.map(|count| count as f64)
    });
    let why = match full {
        _ if now >= WANTED_BYTES => return Ok(Outcome::Ok),
        Some(full) if full.per_s() > FULL_PER_S => {
            format!("it was found full {:.1} times a second", full.per_s())
        }
        _ if by_owner && now < TINY_BYTES => "less than sessions that write need".to_owned(),
        Some(_) => return Ok(Outcome::Ok),
        // The default grows with shared_buffers; a declared load gives no reason for more.
        None if load::declared_writes(facts).is_some() => return Ok(Outcome::Ok),
        None => return Err(load::no_wal_statistics(postgres)),
    };
    Ok(RULE
        .finding(format!(
            "wal_buffers is {}: {why}",
            settings::humane(postgres, "wal_buffers")
        ))
        .shows(postgres, "wal_buffers")
        .recommend(
            safe(
                "wal_buffers",
                Want::Bytes(WANTED_BYTES),
                "sessions need not write the log themselves",
            )
            .giving_up("a restart"),
        )
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{
        configure, declare_tpcc, finding, healthy, ok, postgres, unknown, with_statistics_of_days,
    };
    use dbdyno_model::Facts;

    fn full(times_a_day: u64) -> Facts {
        let mut facts = healthy();
        with_statistics_of_days(&mut facts, 1.0);
        let server = postgres(&mut facts);
        server.wal.after = server.wal.after.clone().map(|mut wal| {
            wal.buffers_full = Some(times_a_day);
            wal
        });
        facts
    }

    #[test]
    fn a_full_buffer_is_found() {
        insta::assert_snapshot!(finding(&RULE, &full(86_400 * 3)).message, @"wal_buffers is 4MB: it was found full 3.0 times a second");
    }

    #[test]
    fn a_tiny_buffer_of_the_owner_s_is_found() {
        let mut facts = full(0);
        configure(&mut facts, "wal_buffers", "8");
        assert!(finding(&RULE, &facts).message.contains("64kB"));
    }

    #[test]
    fn rarely_full_large_enough_or_declared_is_fine() {
        ok(&RULE, &full(10));
        let mut facts = full(86_400 * 3);
        configure(&mut facts, "wal_buffers", "8192");
        ok(&RULE, &facts);
        let mut facts = healthy();
        declare_tpcc(&mut facts);
        ok(&RULE, &facts);
    }

    #[test]
    fn without_counters_nothing_is_claimed() {
        assert!(unknown(&RULE, &healthy()).starts_with("no statistics yet"));
    }
}
