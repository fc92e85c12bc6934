//! A standby for which nobody keeps the log.
//!
//! ## What it finds
//! A connected standby without a slot, on a server with `wal_keep_size` at 0 and no archive.
//!
//! ## Why it matters
//! The server removes log as soon as its own checkpoints need it no more. A standby that is away
//! for longer than that, for a restart or a broken link, finds its segments gone and has to be
//! copied anew.
//!
//! ## What to do
//! Give it a slot (`pg_create_physical_replication_slot`, then `primary_slot_name` on the standby)
//! together with `max_slot_wal_keep_size`; or archive the log; or set `wal_keep_size`.
//!
//! ## Risk
//! Each of them keeps log on a disk; the slot does so without limit unless one is set.
//!
//! ## When it does not apply
//! Servers with an archive that the standby reads (`restore_command`); logical subscribers, which
//! always have a slot.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/warm-standby.html#STREAMING-REPLICATION-SLOTS>
//! - <https://www.postgresql.org/docs/current/runtime-config-replication.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::postgres::Sender;
use dbdyno_model::words::plural;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use super::state;
use crate::postgres::settings::{self, SettingEvidence};
use crate::rule::{FindingExt, Rule, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "replication.unprotected_standby",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &[
        "https://www.postgresql.org/docs/current/warm-standby.html#STREAMING-REPLICATION-SLOTS",
        "https://www.postgresql.org/docs/current/runtime-config-replication.html",
    ],
    check,
    source_text: include_str!("unprotected_standby.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    let followers: Vec<&Sender> = state::senders(postgres)?
        .iter()
        .filter(|sender| state::is_following(sender))
        .collect();
    if followers.is_empty() {
        return Err(Outcome::NotApplicable(
            "nobody follows the log of this server".to_owned(),
        ));
    }
    let unprotected: Vec<&str> = followers
        .into_iter()
        .filter(|sender| sender.slot.is_none() && !sender.logical)
        .map(state::name)
        .collect();
    let keeps = settings::bytes(postgres, "wal_keep_size")? > 0;
    let archives = settings::text(postgres, "archive_mode")? != "off";
    let Some(first) = unprotected.first().filter(|_| !keeps && !archives) else {
        return Ok(Outcome::Ok);
    };
    Ok(RULE
        .finding(format!(
            "nothing keeps the log for {}, first {first}: one that is away for long has to be copied anew",
            plural(unprotected.len() as u64, "standby")
        ))
        .keeps_running()
        .shows(postgres, "wal_keep_size")
        .shows(postgres, "archive_mode")
        .evidence(
            "without a slot",
            unprotected.join(", "),
            postgres.replication.senders.origin.clone(),
        )
        .host_action(
            "set max_slot_wal_keep_size, then SELECT pg_create_physical_replication_slot('…') here and primary_slot_name on the standby",
            Needs::Reload,
        )
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::replication::state::testing::{primary_with, streaming};
    use crate::testing::{configure, finding, healthy, not_applicable, ok, unknown};
    use dbdyno_model::postgres::Sender;

    #[test]
    fn a_standby_without_anything_is_found() {
        let finding = finding(&RULE, &primary_with(vec![streaming("s1")]));
        assert_eq!(
            finding.message,
            "nothing keeps the log for 1 standby, first s1: one that is away for long has to be copied anew"
        );
        assert_eq!(finding.recommendations, []);
    }

    #[test]
    fn a_slot_an_archive_and_kept_log_are_fine() {
        let with_slot = Sender {
            slot: Some("s1".into()),
            ..streaming("s1")
        };
        ok(&RULE, &primary_with(vec![with_slot]));
        let mut facts = primary_with(vec![streaming("s1")]);
        configure(&mut facts, "archive_mode", "on");
        ok(&RULE, &facts);
        configure(&mut facts, "archive_mode", "off");
        configure(&mut facts, "wal_keep_size", "1024");
        ok(&RULE, &facts);
    }

    #[test]
    fn without_standbys_it_is_not_applicable_and_unread_unknown() {
        not_applicable(&RULE, &primary_with(Vec::new()));
        assert!(unknown(&RULE, &healthy()).starts_with("who the log is sent to"));
    }
}
