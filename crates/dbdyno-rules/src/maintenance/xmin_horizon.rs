//! Something that keeps vacuum from removing dead rows.
//!
//! ## What it finds
//! A snapshot more than a million transactions or an hour old, a prepared transaction older than an
//! hour, or an inactive replication slot beside an old snapshot.
//!
//! ## Why it matters
//! Vacuum removes only rows that nobody can still see. One forgotten session, prepared transaction
//! or slot holds back every table of the database, and no setting of vacuum helps.
//!
//! ## What to do
//! End the holder: the session (`pg_terminate_backend`), the prepared transaction (`ROLLBACK
//! PREPARED`), the slot (`pg_drop_replication_slot`) once nothing needs it.
//!
//! ## Risk
//! The holder's work is lost; a dropped slot's replica has to be made anew.
//!
//! ## When it does not apply
//! Nowhere.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/routine-vacuuming.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use crate::rule::{FindingExt, Rule, need_ref, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "maintenance.xmin_horizon",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &["https://www.postgresql.org/docs/current/routine-vacuuming.html"],
    check,
    source_text: include_str!("xmin_horizon.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

const OLD_TRANSACTIONS: u64 = 1_000_000;
const OLD_S: f64 = 3600.0;

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    let activity = need_ref(&postgres.activity, "activity")?;
    let origin = || postgres.activity.origin.clone();
    let old_age = activity
        .oldest_xmin_age
        .filter(|age| *age > OLD_TRANSACTIONS);
    let old_transaction = activity.oldest_transaction_s.filter(|age| *age > OLD_S);
    let old_prepared = activity.oldest_prepared_s.filter(|age| *age > OLD_S);
    if old_age.is_none() && old_transaction.is_none() && old_prepared.is_none() {
        return Ok(Outcome::Ok);
    }
    let mut holders = Vec::new();
    if let Some(age) = old_transaction {
        holders.push(format!("a transaction open for {:.1} hours", age / 3600.0));
    }
    if let Some(age) = old_prepared {
        holders.push(format!(
            "a prepared transaction of {:.1} hours",
            age / 3600.0
        ));
    }
    let slots = postgres.slots.value().map_or(&[][..], Vec::as_slice);
    let idle: Vec<&str> = slots
        .iter()
        .filter(|slot| !slot.active)
        .map(|slot| slot.name.as_str())
        .collect();
    if old_age.is_some() && !idle.is_empty() {
        holders.push(format!("inactive replication slots ({})", idle.join(", ")));
    }
    if holders.is_empty() {
        holders.push("a snapshot whose holder is not visible here".to_owned());
    }
    let mut finding = RULE.finding(format!(
        "vacuum cannot remove what died since: {}{}",
        holders.join(", "),
        old_age.map_or(String::new(), |age| format!(
            " ({:.1} million transactions)",
            age as f64 / 1e6
        ))
    ));
    if let Some(age) = activity.oldest_xmin_age {
        finding = finding.evidence("oldest xmin age", age, origin());
    }
    finding = finding.evidence(
        "prepared transactions",
        activity.prepared_transactions,
        origin(),
    );
    for holder in holders {
        finding = finding.host_action(format!("end {holder}"), Needs::Online);
    }
    Ok(finding.into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, ok, postgres, unknown};
    use dbdyno_model::postgres::{Activity, ReplicationSlot};
    use dbdyno_model::{Fact, Facts};

    fn with_activity(change: impl Fn(&mut Activity)) -> Facts {
        let mut facts = healthy();
        let server = postgres(&mut facts);
        server.activity = server.activity.clone().map(|mut activity| {
            change(&mut activity);
            activity
        });
        facts
    }

    #[test]
    fn an_old_transaction_is_found_and_named() {
        let facts = with_activity(|activity| {
            activity.oldest_xmin_age = Some(3_500_000);
            activity.oldest_transaction_s = Some(7200.0);
        });
        insta::assert_snapshot!(finding(&RULE, &facts).message, @"vacuum cannot remove what died since: a transaction open for 2.0 hours (3.5 million transactions)");
    }

    #[test]
    fn a_forgotten_prepared_transaction_and_an_inactive_slot_are_named() {
        let mut facts = with_activity(|activity| {
            activity.oldest_xmin_age = Some(3_500_000);
            activity.oldest_prepared_s = Some(36_000.0);
        });
        let slot = ReplicationSlot {
            name: "gone".into(),
            ..ReplicationSlot::default()
        };
        postgres(&mut facts).slots = Fact::known(vec![slot], "pg_replication_slots");
        let message = finding(&RULE, &facts).message;
        assert!(
            message.contains("prepared transaction of 10.0 hours"),
            "{message}"
        );
        assert!(message.contains("slots (gone)"), "{message}");
    }

    #[test]
    fn young_snapshots_are_fine_and_unread_activity_unknown() {
        let mut facts = with_activity(|activity| activity.oldest_xmin_age = Some(10));
        ok(&RULE, &facts);
        postgres(&mut facts).activity = Fact::default();
        unknown(&RULE, &facts);
    }
}
