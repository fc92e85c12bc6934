//! A replication slot that nobody uses and that keeps the log.
//!
//! ## What it finds
//! Slots without a user that keep more than 10 GiB or a fifth of the volume (critical), or, on a
//! primary, that nothing will ever stop from keeping more (`max_slot_wal_keep_size` at −1).
//!
//! ## Why it matters
//! The server removes no segment that a slot may still need. One slot of a standby that was taken
//! down, or of a subscriber that was forgotten, fills the disk with log; when it is full, the
//! server shuts down. Logical slots keep dead rows of the catalogs, too.
//!
//! ## What to do
//! Find out who used it. If nobody will again, `SELECT pg_drop_replication_slot('…')`; if it is
//! away for a while only, see that the disk lasts.
//!
//! ## Risk
//! Whoever used the slot has to be made anew once it is dropped. That is the owner's to decide:
//! dbdyno drops none.
//!
//! ## When it does not apply
//! Temporary slots; slots that are lost or were invalidated, for which the server keeps nothing any
//! more (`replication.lost_slot`); a standby's copies of its primary's slots, which nobody is meant to
//! use. Patroni, CloudNativePG and pg_failover_slots keep such copies by themselves and move them on:
//! on a standby only slots that keep much are told.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/warm-standby.html#STREAMING-REPLICATION-SLOTS>
//! - <https://www.postgresql.org/docs/current/view-pg-replication-slots.html>
//! - PostgreSQL's source, src/backend/replication/slot.c (what an invalidated slot keeps)

use dbdyno_model::finding::Confidence;
use dbdyno_model::postgres::{Postgres, ReplicationRole, ReplicationSlot};
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use super::state;
use crate::formulas::{GIB, wal};
use crate::postgres::settings::{self, SettingEvidence};
use crate::postgres::{load, machine};
use crate::rule::{FindingExt, Rule, humane_bytes, server, settle};
use crate::scope::humane_time;

pub(super) const RULE: Rule = Rule {
    id: "replication.inactive_slot",
    severity: Severity::Critical,
    confidence: Confidence::High,
    sources: &[
        "https://www.postgresql.org/docs/current/warm-standby.html#STREAMING-REPLICATION-SLOTS",
        "https://www.postgresql.org/docs/current/view-pg-replication-slots.html",
        "PostgreSQL's source, src/backend/replication/slot.c",
    ],
    check,
    source_text: include_str!("inactive_slot.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

const MUCH_BYTES: u64 = 10 * GIB;
const MUCH_OF_VOLUME: f64 = 0.20;

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    let inactive: Vec<&ReplicationSlot> = state::slots(postgres)?
        .iter()
        .filter(|slot| is_forgotten(slot))
        .collect();
    let Some(worst) = inactive
        .iter()
        .max_by_key(|slot| slot.retained_bytes)
        .copied()
    else {
        return Ok(Outcome::Ok);
    };
    let kept = worst.retained_bytes.unwrap_or(0);
    let is_unbounded = settings::number(postgres, "max_slot_wal_keep_size")? < 0.0;
    let is_primary = state::role(postgres)? == ReplicationRole::Primary;
    let severity = if is_much(facts, kept) {
        Severity::Critical
    } else if is_unbounded && is_primary {
        Severity::Warn
    } else {
        return Ok(Outcome::Ok);
    };
    let others = match inactive.len() - 1 {
        0 => String::new(),
        others => format!("; {others} more without a user"),
    };
    let mut finding = RULE
        .finding(format!(
            "nobody uses the slot {}, and it keeps {} of log{}{others}",
            worst.name,
            humane_bytes(kept),
            until_full(facts, postgres, is_unbounded)
        ))
        .severity(severity)
        .keeps_running()
        .shows(postgres, "max_slot_wal_keep_size");
    for slot in inactive {
        finding = finding
            .evidence(
                format!("slot {}", slot.name),
                shown(slot),
                postgres.slots.origin.clone(),
            )
            .host_action(
                format!(
                    "SELECT pg_drop_replication_slot('{}'), once its owner says that nobody will come back for it",
                    slot.name
                ),
                Needs::Online,
            );
    }
    Ok(finding.into_outcome())
}

/// What is lost already keeps nothing.
fn is_forgotten(slot: &ReplicationSlot) -> bool {
    !slot.active && !slot.temporary && !slot.synced && state::kept_bytes(slot).is_some()
}

fn is_much(facts: &Facts, kept: u64) -> bool {
    let volume = machine::wal_storage(facts)
        .ok()
        .and_then(|storage| storage.total_bytes.get());
    kept > MUCH_BYTES || volume.is_some_and(|volume| kept as f64 > volume as f64 * MUCH_OF_VOLUME)
}

/// How long the disk lasts at the rate that was counted, where all of that is known.
fn until_full(facts: &Facts, postgres: &Postgres, is_unbounded: bool) -> String {
    let free = machine::wal_storage(facts)
        .ok()
        .and_then(|storage| storage.free_bytes.get());
    let seconds = free
        .zip(load::wal_rate(postgres))
        .and_then(|(free, rate)| wal::fills_in_s(free as f64, rate));
    match seconds {
        Some(seconds) if is_unbounded => format!(
            "; at the present rate the disk is full in {}",
            humane_time(seconds)
        ),
        _ => String::new(),
    }
}

fn shown(slot: &ReplicationSlot) -> String {
    let mut parts = vec![if slot.logical { "logical" } else { "physical" }.to_owned()];
    if let Some(kept) = slot.retained_bytes {
        parts.push(format!("keeps {}", humane_bytes(kept)));
    }
    if let Some(age) = slot.xmin_age {
        parts.push(format!("and rows of the last {age} transactions"));
    }
    if let Some(seconds) = slot.inactive_s {
        parts.push(format!("unused for {}", humane_time(seconds as f64)));
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::replication::state::testing::{standby, with_slots};
    use crate::testing::{configure, finding, healthy, ok, postgres, unknown};
    use dbdyno_model::postgres::ReplicationSlot;
    use dbdyno_model::{Effect, Fact, Severity};

    fn unused(name: &str, kept: u64) -> ReplicationSlot {
        ReplicationSlot {
            name: name.into(),
            retained_bytes: Some(kept),
            wal_status: Some("extended".into()),
            inactive_s: Some(7200),
            ..ReplicationSlot::default()
        }
    }

    #[test]
    fn a_slot_that_keeps_much_is_critical_and_left_to_its_owner() {
        let facts = with_slots(vec![unused("small", 1 << 20), unused("gone", 20 << 30)]);
        let finding = finding(&RULE, &facts);
        assert_eq!(
            finding.message,
            "nobody uses the slot gone, and it keeps 20 GiB of log; 1 more without a user"
        );
        assert_eq!(finding.severity, Severity::Critical);
        assert_eq!(finding.effect, Effect::Availability);
        assert_eq!(finding.recommendations, []);
        assert_eq!(
            finding.evidence[2].value,
            "physical, keeps 20 GiB, unused for 2 hours"
        );
    }

    #[test]
    fn a_fifth_of_a_small_volume_is_critical() {
        let mut facts = with_slots(vec![unused("gone", 3 << 30)]);
        let host = facts.host.as_mut().unwrap();
        host.wal = host.wal.clone().map(|mut storage| {
            storage.total_bytes = Fact::known(10 << 30, "statvfs");
            storage
        });
        assert_eq!(finding(&RULE, &facts).severity, Severity::Critical);
    }

    #[test]
    fn little_is_a_warning_until_something_bounds_it() {
        let mut facts = with_slots(vec![unused("gone", 1 << 20)]);
        assert_eq!(finding(&RULE, &facts).severity, Severity::Warn);
        configure(&mut facts, "max_slot_wal_keep_size", "4096");
        ok(&RULE, &facts);
    }

    #[test]
    fn used_temporary_copied_and_lost_slots_are_fine() {
        let used = ReplicationSlot {
            active: true,
            ..unused("used", 20 << 30)
        };
        let temporary = ReplicationSlot {
            temporary: true,
            ..unused("temporary", 20 << 30)
        };
        let copy = ReplicationSlot {
            synced: true,
            ..unused("copy", 20 << 30)
        };
        let lost = ReplicationSlot {
            retained_bytes: None,
            ..unused("lost", 0)
        };
        ok(&RULE, &with_slots(vec![used, temporary, copy, lost]));
        ok(&RULE, &healthy());
    }

    /// It shows where it was, and the server keeps nothing for it.
    #[test]
    fn an_invalidated_slot_keeps_nothing_whatever_position_it_shows() {
        let invalidated = ReplicationSlot {
            wal_status: Some("lost".into()),
            invalidation_reason: Some("idle_timeout".into()),
            ..unused("idle", 200 << 30)
        };
        ok(&RULE, &with_slots(vec![invalidated.clone()]));
        let finding = finding(
            &RULE,
            &with_slots(vec![invalidated, unused("gone", 20 << 30)]),
        );
        assert_eq!(
            finding.message,
            "nobody uses the slot gone, and it keeps 20 GiB of log"
        );
        assert_eq!(finding.host_actions.len(), 1);
    }

    #[test]
    fn what_a_cluster_manager_keeps_on_a_standby_is_told_only_where_it_is_much() {
        let mut facts = standby();
        let keeping = |kept| Fact::known(vec![unused("_cnpg_2", kept)], "pg_replication_slots");
        postgres(&mut facts).slots = keeping(16 << 20);
        ok(&RULE, &facts);
        postgres(&mut facts).slots = keeping(20 << 30);
        assert_eq!(finding(&RULE, &facts).severity, Severity::Critical);
    }

    #[test]
    fn unread_slots_are_unknown() {
        let mut facts = healthy();
        postgres(&mut facts).slots = Fact::unknown("permission denied", "pg_replication_slots");
        assert!(unknown(&RULE, &facts).contains("permission denied"));
    }
}
