//! A replication slot whose log is gone, or about to go.
//!
//! ## What it finds
//! A slot whose `wal_status` is lost or that was invalidated (critical), or whose log will be
//! removed by the next checkpoint (`unreserved`).
//!
//! ## Why it matters
//! Whoever reads from it cannot go on. A standby falls back on the archive, if there is one; else
//! it stays where it is and answers queries from the past. A subscriber loses changes.
//!
//! ## What to do
//! Make the standby or the subscription anew, then drop the slot. Where it is only unreserved, let
//! its user catch up now, and raise `max_slot_wal_keep_size` for the next time.
//!
//! ## Risk
//! Copying the data loads the server and the network.
//!
//! ## When it does not apply
//! Slots that are kept on purpose for somebody who reads the archive.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/view-pg-replication-slots.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::postgres::ReplicationSlot;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use super::state;
use crate::postgres::settings::SettingEvidence;
use crate::rule::{FindingExt, Rule, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "replication.lost_slot",
    severity: Severity::Critical,
    confidence: Confidence::High,
    sources: &["https://www.postgresql.org/docs/current/view-pg-replication-slots.html"],
    check,
    source_text: include_str!("lost_slot.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    let slots = state::slots(postgres)?;
    let lost: Vec<&ReplicationSlot> = slots.iter().filter(|slot| state::is_lost(slot)).collect();
    let unreserved: Vec<&ReplicationSlot> = slots
        .iter()
        .filter(|slot| !state::is_lost(slot) && slot.wal_status.as_deref() == Some("unreserved"))
        .collect();
    let (severity, message) = match (lost.first(), unreserved.first()) {
        (Some(first), _) => (
            Severity::Critical,
            format!(
                "the log that {} still needs is gone ({}): whoever reads from it cannot go on",
                first.name,
                why(first)
            ),
        ),
        (None, Some(first)) => (
            Severity::Warn,
            format!(
                "the next checkpoint removes log that the slot {} still needs",
                first.name
            ),
        ),
        (None, None) => return Ok(Outcome::Ok),
    };
    let mut finding = RULE
        .finding(message)
        .severity(severity)
        .keeps_running()
        .shows(postgres, "max_slot_wal_keep_size");
    for slot in &lost {
        finding = finding
            .evidence(
                format!("slot {}", slot.name),
                why(slot),
                postgres.slots.origin.clone(),
            )
            .host_action(
                format!(
                    "make who reads from {0} anew, then SELECT pg_drop_replication_slot('{0}')",
                    slot.name
                ),
                Needs::Migration,
            );
    }
    for slot in &unreserved {
        finding = finding
            .evidence(
                format!("slot {}", slot.name),
                "unreserved",
                postgres.slots.origin.clone(),
            )
            .host_action(
                format!("let who reads from {} catch up now", slot.name),
                Needs::Online,
            );
    }
    Ok(finding.into_outcome())
}

fn why(slot: &ReplicationSlot) -> &str {
    slot.invalidation_reason.as_deref().unwrap_or("lost")
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::replication::state::testing::with_slots;
    use crate::testing::{finding, healthy, ok, postgres, unknown};
    use dbdyno_model::postgres::ReplicationSlot;
    use dbdyno_model::{Fact, Severity};

    fn slot(name: &str, status: &str, reason: Option<&str>) -> ReplicationSlot {
        ReplicationSlot {
            name: name.into(),
            wal_status: Some(status.into()),
            invalidation_reason: reason.map(str::to_owned),
            ..ReplicationSlot::default()
        }
    }

    #[test]
    fn a_lost_slot_is_found_before_one_that_will_be() {
        let facts = with_slots(vec![
            slot("late", "unreserved", None),
            slot("gone", "lost", None),
        ]);
        let finding = finding(&RULE, &facts);
        assert_eq!(
            finding.message,
            "the log that gone still needs is gone (lost): whoever reads from it cannot go on"
        );
        assert_eq!(finding.severity, Severity::Critical);
        assert_eq!(finding.host_actions.len(), 2);
    }

    #[test]
    fn newer_servers_say_why() {
        let facts = with_slots(vec![slot("idle", "lost", Some("idle_timeout"))]);
        assert!(finding(&RULE, &facts).message.contains("(idle_timeout)"));
    }

    #[test]
    fn an_unreserved_slot_is_a_warning() {
        let facts = with_slots(vec![slot("late", "unreserved", None)]);
        assert_eq!(finding(&RULE, &facts).severity, Severity::Warn);
    }

    #[test]
    fn reserved_and_extended_slots_are_fine_and_unread_ones_unknown() {
        let mut facts = with_slots(vec![
            slot("a", "reserved", None),
            slot("b", "extended", None),
        ]);
        ok(&RULE, &facts);
        ok(&RULE, &healthy());
        postgres(&mut facts).slots = Fact::default();
        unknown(&RULE, &facts);
    }
}
