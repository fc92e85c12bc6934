//! Replication slots that may keep log until the disk is full.
//!
//! ## What it finds
//! Replication slots on a server with `max_slot_wal_keep_size` at −1.
//!
//! ## Why it matters
//! A slot keeps log for a standby or subscriber that is away. Without a limit, one that does not
//! come back stops the server once the disk is full: the spare takes the primary down.
//!
//! ## What to do
//! Set `max_slot_wal_keep_size` to two fifths of the volume of the log, and to no more than what is kept
//! already and half of what is free there: data and all else share the volume. From PostgreSQL 18 on,
//! `idle_replication_slot_timeout` ends slots that nobody uses, too.
//!
//! ## Risk
//! None to the server's data. A standby or subscriber that is away for longer than the limit lasts
//! has to be made anew.
//!
//! ## When it does not apply
//! Servers without slots. Where the volume or its free space is not known, or a slot keeps more than
//! half of what the limit would be, no value is recommended.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/runtime-config-replication.html>

use dbdyno_model::finding::{Confidence, Want};
use dbdyno_model::postgres::Postgres;
use dbdyno_model::words::plural;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use super::state;
use crate::postgres::machine;
use crate::postgres::settings::{self, SettingEvidence};
use crate::rule::{FindingExt, RecommendationExt, Rule, humane_bytes, safe, server, settle};
use crate::solver::humane;

pub(super) const RULE: Rule = Rule {
    id: "replication.slot_limit",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &["https://www.postgresql.org/docs/current/runtime-config-replication.html"],
    check,
    source_text: include_str!("slot_limit.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

const SHARE_OF_VOLUME: f64 = 0.40;

/// The rest is for data, and for the log between checkpoints.
const SHARE_OF_FREE: f64 = 0.50;

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    let slots = state::slots(postgres)?;
    if slots.is_empty() {
        return Err(Outcome::NotApplicable(
            "the server has no replication slots".to_owned(),
        ));
    }
    if settings::number(postgres, "max_slot_wal_keep_size")? >= 0.0 {
        return Ok(Outcome::Ok);
    }
    let kept = slots
        .iter()
        .filter_map(state::kept_bytes)
        .max()
        .unwrap_or(0);
    let finding = RULE
        .finding(format!(
            "{} may keep log until the disk is full: max_slot_wal_keep_size is -1",
            plural(slots.len() as u64, "replication slot")
        ))
        .keeps_running()
        .shows(postgres, "max_slot_wal_keep_size")
        .evidence(
            "kept by one slot",
            humane_bytes(kept),
            postgres.slots.origin.clone(),
        );
    let Some(wanted) = wanted(facts, postgres, kept) else {
        return Ok(finding
            .host_action(
                "set max_slot_wal_keep_size below what the volume of the log has room for, once no slot keeps more than that",
                Needs::Reload,
            )
            .into_outcome());
    };
    Ok(finding
        .recommend(
            safe(
                "max_slot_wal_keep_size",
                Want::Bytes(wanted),
                "no slot can fill the disk",
            )
            .giving_up(format!(
                "a standby or subscriber that is {} behind has to be made anew",
                humane_bytes(wanted)
            )),
        )
        .into_outcome())
}

/// A limit that the disk can hold, that leaves room for a checkpoint's log and loses no slot at once;
/// none where that cannot be said.
fn wanted(facts: &Facts, postgres: &Postgres, kept: u64) -> Option<u64> {
    let storage = machine::wal_storage(facts).ok()?;
    let share = (storage.total_bytes.get()? as f64 * SHARE_OF_VOLUME) as u64;
    // What is kept already takes no more of what is free.
    let room = (storage.free_bytes.get()? as f64 * SHARE_OF_FREE) as u64;
    let limit = humane::round_down(share.min(room.saturating_add(kept)));
    let least = postgres.bytes("max_wal_size")?.max(kept.saturating_mul(2));
    (limit > least).then_some(limit)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::replication::state::testing::with_slots;
    use crate::testing::{configure, finding, healthy, not_applicable, ok, postgres, unknown};
    use dbdyno_model::finding::Want;
    use dbdyno_model::postgres::ReplicationSlot;
    use dbdyno_model::{Fact, Facts};

    fn keeping(kept: u64) -> Facts {
        let mut facts = with_slots(vec![ReplicationSlot {
            name: "standby_1".into(),
            active: true,
            retained_bytes: Some(kept),
            ..ReplicationSlot::default()
        }]);
        let host = facts.host.as_mut().unwrap();
        host.wal = host.wal.clone().map(|mut storage| {
            storage.total_bytes = Fact::known(100 << 30, "statvfs");
            storage.free_bytes = Fact::known(90 << 30, "statvfs");
            storage
        });
        facts
    }

    fn with_free(facts: &mut Facts, free: Fact<u64>) {
        let host = facts.host.as_mut().unwrap();
        host.wal = host.wal.clone().map(|mut storage| {
            storage.free_bytes = free;
            storage
        });
    }

    #[test]
    fn two_fifths_of_the_volume_are_recommended_for_what_they_give_up() {
        let finding = finding(&RULE, &keeping(1 << 30));
        assert_eq!(
            finding.message,
            "1 replication slot may keep log until the disk is full: max_slot_wal_keep_size is -1"
        );
        assert_eq!(finding.recommendations[0].want, Want::Bytes(40 << 30));
        assert_eq!(
            finding.recommendations[0].gives_up.as_deref(),
            Some("a standby or subscriber that is 40 GiB behind has to be made anew")
        );
    }

    #[test]
    fn a_limit_is_no_more_than_the_disk_can_hold_beside_the_data() {
        let mut facts = keeping(1 << 30);
        with_free(&mut facts, Fact::known(30 << 30, "statvfs"));
        // 1 GiB that is kept, and 15 of the 30 that are free.
        let found = finding(&RULE, &facts);
        assert_eq!(found.recommendations[0].want, Want::Bytes(16 << 30));
        with_free(&mut facts, Fact::known(1 << 30, "statvfs"));
        assert_eq!(finding(&RULE, &facts).recommendations, []);
        with_free(&mut facts, Fact::default());
        assert_eq!(finding(&RULE, &facts).recommendations, []);
    }

    #[test]
    fn a_slot_that_would_be_lost_at_once_and_an_unknown_volume_get_no_value() {
        let mut facts = keeping(30 << 30);
        assert_eq!(finding(&RULE, &facts).recommendations, []);
        facts = keeping(1 << 30);
        facts.host = None;
        let finding = finding(&RULE, &facts);
        assert_eq!(finding.recommendations, []);
        assert_eq!(finding.host_actions.len(), 1);
    }

    #[test]
    fn a_limit_is_fine_no_slots_are_not_applicable_and_unread_ones_unknown() {
        let mut facts = keeping(1 << 30);
        configure(&mut facts, "max_slot_wal_keep_size", "10240");
        ok(&RULE, &facts);
        not_applicable(&RULE, &healthy());
        postgres(&mut facts).slots = Fact::default();
        unknown(&RULE, &facts);
    }
}
