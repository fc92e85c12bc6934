//! A standby that was told to stop replaying.
//!
//! ## What it finds
//! Replay that is paused, or about to be.
//!
//! ## Why it matters
//! The standby goes on receiving and looks alive, but its data stay where they are, and the log
//! piles up on its disk. From PostgreSQL 14 on, a standby also pauses by itself when the primary
//! was given more connections, workers, senders, prepared transactions or locks than it has.
//!
//! ## What to do
//! Where somebody paused it and is done: `SELECT pg_wal_replay_resume()`. Where its log says that a
//! parameter is too low, raise that parameter on the standby and restart it.
//!
//! ## Risk
//! What was left unreplayed to rescue something is replayed.
//!
//! ## When it does not apply
//! Pauses on purpose, for a backup or a look at the past.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/functions-admin.html>
//! - <https://www.postgresql.org/docs/current/hot-standby.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use super::state;
use crate::postgres::settings::SettingEvidence;
use crate::rule::{FindingExt, Rule, humane_bytes, need_ref, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "replication.replay_paused",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &[
        "https://www.postgresql.org/docs/current/functions-admin.html",
        "https://www.postgresql.org/docs/current/hot-standby.html",
    ],
    check,
    source_text: include_str!("replay_paused.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

/// What a standby must have at least as much of as its primary.
const COPIED: [&str; 5] = [
    "max_connections",
    "max_locks_per_transaction",
    "max_prepared_transactions",
    "max_wal_senders",
    "max_worker_processes",
];

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    state::standby(postgres)?;
    let fact = &postgres.replication.replay;
    let replay = need_ref(fact, "whether replay is paused")?;
    match replay.pause.as_str() {
        "not paused" => return Ok(Outcome::Ok),
        "paused" | "pause requested" => {}
        other => {
            return Err(Outcome::Unknown(format!(
                "whether replay is paused: the server says \"{other}\""
            )));
        }
    }
    let waiting = match replay.unreplayed_bytes {
        Some(bytes) if bytes > 0 => format!(", with {} waiting", humane_bytes(bytes)),
        _ => String::new(),
    };
    let mut finding = RULE
        .finding(format!("replay is {}{waiting}", shown(&replay.pause)))
        .keeps_running()
        .evidence("pause", &replay.pause, fact.origin.clone());
    for name in COPIED {
        finding = finding.shows(postgres, name);
    }
    Ok(finding
        .host_action(
            "read in the standby's log why; then SELECT pg_wal_replay_resume(), or raise the parameter that the log names and restart",
            Needs::Online,
        )
        .into_outcome())
}

fn shown(pause: &str) -> &str {
    if pause == "paused" {
        pause
    } else {
        "about to be paused"
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::replication::state::testing::standby;
    use crate::testing::{finding, healthy, not_applicable, ok, postgres, unknown};
    use dbdyno_model::postgres::Replay;
    use dbdyno_model::{Fact, Facts};

    fn replaying(pause: &str) -> Facts {
        let mut facts = standby();
        postgres(&mut facts).replication.replay = Fact::known(
            Replay {
                unreplayed_bytes: Some(64 << 20),
                newest_transaction_s: None,
                pause: pause.into(),
            },
            "pg_last_wal_replay_lsn()",
        );
        facts
    }

    #[test]
    fn a_pause_is_found_with_what_waits() {
        assert_eq!(
            finding(&RULE, &replaying("paused")).message,
            "replay is paused, with 64 MiB waiting"
        );
        assert!(
            finding(&RULE, &replaying("pause requested"))
                .message
                .starts_with("replay is about to be paused")
        );
    }

    #[test]
    fn replaying_is_fine_and_a_primary_not_applicable() {
        ok(&RULE, &standby());
        not_applicable(&RULE, &healthy());
    }

    #[test]
    fn what_was_not_read_is_unknown() {
        assert!(unknown(&RULE, &replaying("")).starts_with("whether replay is paused"));
        let mut facts = standby();
        postgres(&mut facts).replication.replay = Fact::default();
        unknown(&RULE, &facts);
    }
}
