//! Sessions left open in a transaction.
//!
//! ## What it finds
//! A session idle in a transaction for more than ten minutes while
//! `idle_in_transaction_session_timeout` is 0, and so is `transaction_timeout` where there is one.
//!
//! ## Why it matters
//! It holds its locks, and it keeps vacuum from removing any row that died since it began, in every
//! table.
//!
//! ## What to do
//! Find the program. Then let the server end such sessions, per role: `ALTER ROLE … SET
//! idle_in_transaction_session_timeout = '10min'`, and from PostgreSQL 17 `transaction_timeout` for
//! batch roles.
//!
//! ## Risk
//! The sessions that run into the limit lose their transaction.
//!
//! ## When it does not apply
//! Nowhere.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/runtime-config-client.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use super::settings::{self, SettingEvidence};
use crate::rule::{FindingExt, Rule, need_ref, number_if_listed, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "postgres.session_timeouts",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &["https://www.postgresql.org/docs/current/runtime-config-client.html"],
    check,
    source_text: include_str!("session_timeouts.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

const LONG_S: f64 = 600.0;

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    let idle_limit = settings::number(postgres, "idle_in_transaction_session_timeout")?;
    if idle_limit > 0.0 {
        return Ok(Outcome::Ok);
    }
    // From 17 on it ends sessions that are idle, too.
    let limit = number_if_listed(postgres, "transaction_timeout")?;
    if limit.is_some_and(|limit| limit > 0.0) {
        return Ok(Outcome::Ok);
    }
    let activity = need_ref(&postgres.activity, "activity")?;
    let Some(idle) = activity
        .oldest_idle_in_transaction_s
        .filter(|idle| *idle > LONG_S)
    else {
        return Ok(Outcome::Ok);
    };
    Ok(RULE
        .finding(format!(
            "a session has been idle in its transaction for {:.0} minutes, and nothing ends it",
            idle / 60.0
        ))
        .evidence("idle in transaction", activity.idle_in_transaction, postgres.activity.origin.clone())
        .shows(postgres, "idle_in_transaction_session_timeout")
        .host_action(
            "ALTER ROLE … SET idle_in_transaction_session_timeout = '10min', for the role that leaves it open",
            Needs::Online,
        )
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{configure, finding, healthy, ok, postgres, set, unknown};
    use dbdyno_model::{Fact, Facts};

    fn idle_for(seconds: f64) -> Facts {
        let mut facts = healthy();
        let server = postgres(&mut facts);
        server.activity = server.activity.clone().map(|mut activity| {
            activity.idle_in_transaction = 1;
            activity.oldest_idle_in_transaction_s = Some(seconds);
            activity
        });
        facts
    }

    #[test]
    fn an_hour_is_found() {
        let finding = finding(&RULE, &idle_for(3600.0));
        insta::assert_snapshot!(finding.message, @"a session has been idle in its transaction for 60 minutes, and nothing ends it");
        assert_eq!(
            finding.recommendations,
            [],
            "a limit for all would end what nobody knows of"
        );
    }

    #[test]
    fn a_minute_is_fine_and_so_is_a_limit() {
        ok(&RULE, &idle_for(60.0));
        let mut facts = idle_for(3600.0);
        configure(&mut facts, "idle_in_transaction_session_timeout", "600000");
        ok(&RULE, &facts);
        let mut facts = idle_for(3600.0);
        set(&mut facts, "transaction_timeout", "0");
        finding(&RULE, &facts);
        set(&mut facts, "transaction_timeout", "7200000");
        ok(&RULE, &facts);
    }

    #[test]
    fn unread_activity_is_unknown() {
        let mut facts = healthy();
        postgres(&mut facts).activity = Fact::unknown("permission denied", "pg_stat_activity");
        assert!(unknown(&RULE, &facts).contains("permission denied"));
    }
}
