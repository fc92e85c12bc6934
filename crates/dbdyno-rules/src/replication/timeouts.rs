//! Replication connections whose death nobody notices.
//!
//! ## What it finds
//! `wal_sender_timeout` at 0 on a server with standbys, or `wal_receiver_timeout` at 0 on a
//! standby.
//!
//! ## Why it matters
//! When a machine or the network between two servers dies without a word, TCP alone keeps the
//! connection for a quarter of an hour or longer. A synchronous commit waits for that standby all
//! the while, and the standby does not look for its primary again.
//!
//! ## What to do
//! Set it to 60 seconds, the default.
//!
//! ## Risk
//! A connection that stalls for longer, over a very bad link, is cut and made anew.
//!
//! ## When it does not apply
//! Servers without replication.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/runtime-config-replication.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::postgres::ReplicationRole;
use dbdyno_model::{Facts, Outcome, Severity};

use super::state;
use crate::postgres::settings::{self, SettingEvidence, value};
use crate::rule::{FindingExt, RecommendationExt, Rule, safe, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "replication.timeouts",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &["https://www.postgresql.org/docs/current/runtime-config-replication.html"],
    check,
    source_text: include_str!("timeouts.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    let is_standby = state::role(postgres)? == ReplicationRole::Standby;
    let has_followers = state::senders(postgres)?.iter().any(state::is_following);
    if !is_standby && !has_followers {
        return Err(Outcome::NotApplicable(
            "the server takes no part in replication".to_owned(),
        ));
    }
    let mut off = Vec::new();
    for (name, matters) in [
        ("wal_sender_timeout", has_followers),
        ("wal_receiver_timeout", is_standby),
    ] {
        if matters && settings::number(postgres, name)? <= 0.0 {
            off.push(name);
        }
    }
    if off.is_empty() {
        return Ok(Outcome::Ok);
    }
    let mut finding = RULE
        .finding(format!(
            "{} off: a connection that died is kept until TCP gives up",
            off.join(" and ")
        ))
        .keeps_running();
    for name in off {
        finding = finding.shows(postgres, name).recommend(
            safe(name, value("60s"), "a dead connection is noticed")
                .giving_up("connections that stall for longer than a minute are cut"),
        );
    }
    Ok(finding.into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::replication::state::testing::{primary_with, standby, streaming};
    use crate::testing::{configure, finding, healthy, not_applicable, ok, unknown};

    #[test]
    fn a_sender_without_a_limit_is_found() {
        let mut facts = primary_with(vec![streaming("s1")]);
        ok(&RULE, &facts);
        configure(&mut facts, "wal_sender_timeout", "0");
        let found = finding(&RULE, &facts);
        assert_eq!(
            found.message,
            "wal_sender_timeout off: a connection that died is kept until TCP gives up"
        );
        assert_eq!(found.recommendations[0].setting, "wal_sender_timeout");
    }

    #[test]
    fn a_standby_is_asked_for_its_own_limit() {
        let mut facts = standby();
        configure(&mut facts, "wal_sender_timeout", "0");
        ok(&RULE, &facts);
        configure(&mut facts, "wal_receiver_timeout", "0");
        let found = finding(&RULE, &facts);
        assert_eq!(found.recommendations.len(), 1);
        assert_eq!(found.recommendations[0].setting, "wal_receiver_timeout");
    }

    #[test]
    fn without_replication_it_is_not_applicable_and_unread_unknown() {
        not_applicable(&RULE, &primary_with(Vec::new()));
        unknown(&RULE, &healthy());
    }
}
