//! A standby that is far behind.
//!
//! ## What it finds
//! On the sending server, a standby or subscriber that is more than a minute, or more than
//! `max_wal_size`, behind, and where most of that waits: to be sent, to be written or to be
//! replayed. On a standby, more than `max_wal_size` of received log that is not replayed yet.
//!
//! ## Why it matters
//! Queries there answer from the past, and a failover to it loses or delays what it does not have.
//! `max_wal_size` is what a server keeps of the log by itself: beyond it, a standby without slot or
//! archive cannot catch up any more.
//!
//! ## What to do
//! Not sent: look at the network. Not written: look at the standby's disk. Not replayed: look at
//! its reads (`replication.recovery_prefetch`), at queries that hold replay up
//! (`max_standby_streaming_delay`), at a single core, since replay is one process, and at
//! `recovery_min_apply_delay`.
//!
//! ## Risk
//! None in looking.
//!
//! ## When it does not apply
//! Standbys that are delayed on purpose (`recovery_min_apply_delay`). That is known on the standby
//! only: on its primary it is found like any other, with less confidence where what is behind waits
//! for replay.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/monitoring-stats.html>
//! - <https://www.postgresql.org/docs/current/wal-configuration.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::postgres::{Postgres, ReplicationRole, Sender};
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use super::state;
use crate::postgres::settings::{self, SettingEvidence};
use crate::rule::{FindingExt, Rule, humane_bytes, need_ref, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "replication.lag",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &[
        "https://www.postgresql.org/docs/current/monitoring-stats.html",
        "https://www.postgresql.org/docs/current/wal-configuration.html",
    ],
    check,
    source_text: include_str!("lag.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

const LONG_S: f64 = 60.0;

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    let role = state::role(postgres)?;
    let far = settings::bytes(postgres, "max_wal_size")?;
    if let Some(outcome) = sending(postgres, role, far)? {
        return Ok(outcome);
    }
    match role {
        ReplicationRole::Primary => Ok(Outcome::Ok),
        ReplicationRole::Standby => replaying(postgres, far),
    }
}

/// Standbys that are behind this server; none where they all keep up.
fn sending(
    postgres: &Postgres,
    role: ReplicationRole,
    far: u64,
) -> Result<Option<Outcome>, Outcome> {
    let senders: Vec<&Sender> = state::senders(postgres)?
        .iter()
        .filter(|sender| state::is_following(sender))
        .collect();
    if senders.is_empty() && role == ReplicationRole::Primary {
        return Err(Outcome::NotApplicable(
            "nobody follows the log of this server".to_owned(),
        ));
    }
    let late: Vec<&Sender> = senders
        .into_iter()
        .filter(|sender| is_late(sender, far))
        .collect();
    let Some(worst) = late
        .iter()
        .max_by_key(|sender| sender.unreplayed_bytes)
        .copied()
    else {
        return Ok(None);
    };
    let (waits, action, confidence) = step(worst);
    let mut finding = RULE
        .finding(format!(
            "{} is {} behind: most of it {waits}",
            state::name(worst),
            behind(worst)
        ))
        .shows(postgres, "max_wal_size");
    finding.confidence = confidence;
    for sender in late {
        finding = finding.evidence(
            format!("behind: {}", state::name(sender)),
            behind(sender),
            postgres.replication.senders.origin.clone(),
        );
    }
    Ok(Some(
        finding.host_action(action, Needs::Online).into_outcome(),
    ))
}

fn is_late(sender: &Sender, far: u64) -> bool {
    sender.unreplayed_bytes.is_some_and(|bytes| bytes > far)
        || sender.replay_lag_s.is_some_and(|lag| lag > LONG_S)
}

fn behind(sender: &Sender) -> String {
    let bytes = sender.unreplayed_bytes.map(humane_bytes);
    let time = sender
        .replay_lag_s
        .filter(|lag| *lag >= 1.0)
        .map(|lag| format!("{lag:.0} s"));
    [bytes, time]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(" and ")
}

/// The step that holds most of what is behind, where to look, and how sure it is that nobody meant it.
fn step(sender: &Sender) -> (&'static str, &'static str, Confidence) {
    let unsent = sender.unsent_bytes.unwrap_or(0);
    let unflushed = sender.unflushed_bytes.unwrap_or(0);
    let unreplayed = sender.unreplayed_bytes.unwrap_or(0);
    // Of equals the last is taken: what is behind in time alone waits for replay.
    let steps = [
        (
            unsent,
            "is not sent yet",
            "look at the network between the two",
            RULE.confidence,
        ),
        (
            unflushed.saturating_sub(unsent),
            "is sent and not written yet",
            "on the standby, look at the disk of its log",
            RULE.confidence,
        ),
        (
            unreplayed.saturating_sub(unflushed),
            "is not replayed yet",
            "on the standby, look at its reads, its one busy core, queries that hold replay up, and \
             recovery_min_apply_delay: a delay on purpose is not seen from here",
            Confidence::Medium,
        ),
    ];
    let (_, waits, action, confidence) = steps
        .into_iter()
        .max_by_key(|(bytes, ..)| *bytes)
        .unwrap_or(steps[0]);
    (waits, action, confidence)
}

fn replaying(postgres: &Postgres, far: u64) -> Result<Outcome, Outcome> {
    if settings::number(postgres, "recovery_min_apply_delay")? > 0.0 {
        return Err(Outcome::NotApplicable(
            "replay is delayed on purpose (recovery_min_apply_delay)".to_owned(),
        ));
    }
    let fact = &postgres.replication.replay;
    let replay = need_ref(fact, "how far the standby has replayed")?;
    let Some(waiting) = replay.unreplayed_bytes.filter(|bytes| *bytes > far) else {
        return Ok(Outcome::Ok);
    };
    Ok(RULE
        .finding(format!(
            "{} of log are received and not replayed: a failover has to wait for them",
            humane_bytes(waiting)
        ))
        .shows(postgres, "max_wal_size")
        .shows(postgres, "max_standby_streaming_delay")
        .evidence("not replayed", humane_bytes(waiting), fact.origin.clone())
        .host_action(
            "look at the reads of the startup process, its one busy core, and queries that hold replay up",
            Needs::Online,
        )
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::replication::state::testing::{primary_with, standby, streaming};
    use crate::testing::{configure, finding, healthy, not_applicable, ok, postgres, unknown};
    use dbdyno_model::finding::Confidence;
    use dbdyno_model::postgres::{Replay, Sender};
    use dbdyno_model::{Fact, Facts};

    const GIB: u64 = 1 << 30;

    fn behind(unsent: u64, unflushed: u64, unreplayed: u64, lag_s: Option<f64>) -> Facts {
        primary_with(vec![
            streaming("near"),
            Sender {
                unsent_bytes: Some(unsent),
                unflushed_bytes: Some(unflushed),
                unreplayed_bytes: Some(unreplayed),
                replay_lag_s: lag_s,
                ..streaming("far")
            },
        ])
    }

    #[test]
    fn each_step_is_told_apart() {
        for (facts, wanted) in [
            (
                behind(3 * GIB, 3 * GIB, 4 * GIB, Some(90.0)),
                "far is 4 GiB and 90 s behind: most of it is not sent yet",
            ),
            (
                behind(0, 3 * GIB, 4 * GIB, None),
                "far is 4 GiB behind: most of it is sent and not written yet",
            ),
            (
                behind(0, GIB, 4 * GIB, None),
                "far is 4 GiB behind: most of it is not replayed yet",
            ),
        ] {
            assert_eq!(finding(&RULE, &facts).message, wanted);
        }
    }

    #[test]
    fn what_may_be_delayed_on_purpose_is_less_sure() {
        let unsent = finding(&RULE, &behind(4 * GIB, 4 * GIB, 4 * GIB, None));
        assert_eq!(unsent.confidence, Confidence::High);
        let unreplayed = finding(&RULE, &behind(0, 0, 4 * GIB, Some(3600.0)));
        assert_eq!(unreplayed.confidence, Confidence::Medium);
        let action = &unreplayed.host_actions[0].action;
        assert!(action.contains("recovery_min_apply_delay"), "{action}");
    }

    #[test]
    fn a_long_delay_of_little_log_is_found() {
        let facts = behind(0, 0, 1 << 20, Some(3600.0));
        assert!(finding(&RULE, &facts).message.contains("1 MiB and 3600 s"));
    }

    #[test]
    fn standbys_that_keep_up_are_fine() {
        ok(&RULE, &behind(0, 0, 16 << 20, Some(0.4)));
        ok(&RULE, &standby());
    }

    #[test]
    fn a_server_that_nobody_follows_is_not_applicable() {
        not_applicable(&RULE, &primary_with(Vec::new()));
        let backup = Sender {
            state: "backup".into(),
            unreplayed_bytes: Some(9 * GIB),
            ..streaming("pg_basebackup")
        };
        not_applicable(&RULE, &primary_with(vec![backup]));
    }

    fn replaying(unreplayed: u64) -> Facts {
        let mut facts = standby();
        postgres(&mut facts).replication.replay = Fact::known(
            Replay {
                unreplayed_bytes: Some(unreplayed),
                ..Replay::default()
            },
            "pg_last_wal_replay_lsn()",
        );
        facts
    }

    #[test]
    fn a_standby_says_what_it_has_not_replayed() {
        let mut facts = replaying(5 * GIB);
        assert_eq!(
            finding(&RULE, &facts).message,
            "5 GiB of log are received and not replayed: a failover has to wait for them"
        );
        configure(&mut facts, "recovery_min_apply_delay", "3600000");
        not_applicable(&RULE, &facts);
        ok(&RULE, &replaying(1 << 20));
    }

    #[test]
    fn unread_state_is_unknown() {
        assert!(unknown(&RULE, &healthy()).starts_with("who the log is sent to"));
        let mut facts = standby();
        postgres(&mut facts).replication.replay = Fact::default();
        assert!(unknown(&RULE, &facts).starts_with("how far the standby has replayed"));
    }
}
