//! No room for another standby, backup or slot.
//!
//! ## What it finds
//! `max_wal_senders` with fewer than two to spare beside those that are connected, or no slot left
//! of `max_replication_slots`.
//!
//! ## Why it matters
//! A standby that lost its connection needs a second sender until the first one is noticed to be
//! dead, and a base backup takes two. What finds none is turned away, in the middle of a failover.
//!
//! ## What to do
//! Raise the limit that is named. A sender that is not used costs next to nothing.
//!
//! ## Risk
//! None to data. It needs a restart, and `max_wal_senders` has to be raised on standbys first: with
//! less than the primary they stop replaying.
//!
//! ## When it does not apply
//! Servers that nobody is connected to and that have no slots.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/runtime-config-replication.html>
//! - <https://www.postgresql.org/docs/current/app-pgbasebackup.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Outcome, Severity};

use super::state;
use crate::postgres::settings::{self, SettingEvidence, value};
use crate::rule::{FindingExt, RecommendationExt, Rule, safe, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "replication.senders",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &[
        "https://www.postgresql.org/docs/current/runtime-config-replication.html",
        "https://www.postgresql.org/docs/current/app-pgbasebackup.html",
    ],
    check,
    source_text: include_str!("senders.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

/// For a base backup, or a standby that connects again.
const SPARE_SENDERS: u64 = 2;
/// The server's own default for both limits: below it nothing is saved.
const LEAST: u64 = 10;

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    let senders = state::senders(postgres)?.len() as u64;
    let slots = state::slots(postgres)?.len() as u64;
    if senders == 0 && slots == 0 {
        return Err(Outcome::NotApplicable(
            "nobody replicates from this server".to_owned(),
        ));
    }
    let most_senders = settings::number(postgres, "max_wal_senders")? as u64;
    let most_slots = settings::number(postgres, "max_replication_slots")? as u64;
    let few_senders = senders > 0 && most_senders < senders + SPARE_SENDERS;
    let few_slots = slots > 0 && most_slots <= slots;
    let mut short = Vec::new();
    if few_senders {
        short.push(format!("{senders} of {most_senders} WAL senders"));
    }
    if few_slots {
        short.push(format!("{slots} of {most_slots} replication slots"));
    }
    if short.is_empty() {
        return Ok(Outcome::Ok);
    }
    let mut finding = RULE
        .finding(format!("{} are taken", short.join(" and ")))
        .keeps_running()
        .shows(postgres, "max_wal_senders")
        .shows(postgres, "max_replication_slots");
    if few_senders {
        finding = finding.recommend(
            safe(
                "max_wal_senders",
                value((senders + SPARE_SENDERS).max(LEAST).to_string()),
                "a standby that connects again, or a backup, finds a sender",
            )
            .giving_up("a restart; on standbys it has to be raised first"),
        );
    }
    if few_slots {
        finding = finding.recommend(
            safe(
                "max_replication_slots",
                value((slots + 1).max(LEAST).to_string()),
                "another standby or subscriber finds a slot",
            )
            .giving_up("a restart"),
        );
    }
    Ok(finding.into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::replication::state::testing::{primary_with, streaming};
    use crate::testing::{configure, finding, healthy, not_applicable, ok, postgres, unknown};
    use dbdyno_model::finding::Want;
    use dbdyno_model::postgres::ReplicationSlot;
    use dbdyno_model::{Fact, Facts};

    fn connected(senders: usize, slots: usize) -> Facts {
        let mut facts = primary_with((0..senders).map(|_| streaming("s")).collect());
        let slots = (0..slots).map(|_| ReplicationSlot::default()).collect();
        postgres(&mut facts).slots = Fact::known(slots, "pg_replication_slots");
        facts
    }

    #[test]
    fn senders_and_slots_that_run_out_are_found() {
        let mut facts = connected(4, 5);
        configure(&mut facts, "max_wal_senders", "5");
        configure(&mut facts, "max_replication_slots", "5");
        let found = finding(&RULE, &facts);
        assert_eq!(
            found.message,
            "4 of 5 WAL senders and 5 of 5 replication slots are taken"
        );
        assert_eq!(found.recommendations[0].want, Want::Value("10".into()));
        assert_eq!(found.recommendations[1].want, Want::Value("10".into()));
    }

    #[test]
    fn many_standbys_get_as_many_senders_and_two() {
        let found = finding(&RULE, &connected(20, 0));
        assert_eq!(found.recommendations[0].want, Want::Value("22".into()));
        assert_eq!(found.recommendations.len(), 1);
    }

    #[test]
    fn two_to_spare_are_fine() {
        ok(&RULE, &connected(8, 9));
    }

    #[test]
    fn without_replication_it_is_not_applicable_and_unread_unknown() {
        not_applicable(&RULE, &connected(0, 0));
        assert!(unknown(&RULE, &healthy()).starts_with("who the log is sent to"));
    }
}
