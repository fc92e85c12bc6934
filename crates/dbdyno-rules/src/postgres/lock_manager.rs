//! Sessions that queue for the shared lock table.
//!
//! ## What it finds
//! More than one in twenty sessions at work waiting for `LWLock:LockManager`.
//!
//! ## Why it matters
//! Each session keeps the locks of its first relations to itself: 16 of them before PostgreSQL 18,
//! since then as many as `max_locks_per_transaction`. A query over many partitions and indexes
//! needs more, and takes every further one in a table that all sessions share. On many CPUs they
//! queue for that.
//!
//! ## What to do
//! Let queries name the partition key so that others are pruned, and drop indexes that nothing
//! uses. From PostgreSQL 18 on, raise `max_locks_per_transaction` above the relations that one
//! session locks, to 1024 at most: what locks more is a dump, or a query over all partitions.
//!
//! ## Risk
//! None to data. The setting needs a restart and takes shared memory for every connection that is
//! allowed; on standbys it has to be raised first.
//!
//! ## When it does not apply
//! Servers with little to do while they were looked at: one look over the sample is no proof that
//! it never happens.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/18/release-18.html>
//! - <https://www.postgresql.org/docs/current/monitoring-stats.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use super::settings::{self, SettingEvidence, value};
use super::waits;
use crate::formulas::io::fast_path_slots;
use crate::rule::{FindingExt, RecommendationExt, Rule, safe, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "postgres.lock_manager",
    severity: Severity::Info,
    confidence: Confidence::Medium,
    sources: &[
        "https://www.postgresql.org/docs/18/release-18.html",
        "https://www.postgresql.org/docs/current/monitoring-stats.html",
    ],
    check,
    source_text: include_str!("lock_manager.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

const EVENT: &str = "LWLock:LockManager";
const WAITING_SHARE: f64 = 0.05;

/// From here on the slots follow max_locks_per_transaction.
const SETTABLE_SINCE: u32 = 18;

/// The shared lock table grows by as many entries for each connection that is allowed.
const MOST_WANTED: u64 = 1024;

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    let share = waits::share(postgres, |event| event == EVENT)?;
    if share <= WAITING_SHARE {
        return Ok(Outcome::Ok);
    }
    let max_locks = settings::number(postgres, "max_locks_per_transaction")? as u64;
    let slots = fast_path_slots(postgres.major(), max_locks);
    let most = postgres
        .waits
        .value()
        .and_then(|waits| waits.most_relation_locks);
    let mut finding = RULE
        .finding(format!(
            "{:.0} % of the sessions at work wait for the shared lock table; {slots} relations can be locked without it",
            share * 100.0
        ))
        .shows(postgres, "max_locks_per_transaction")
        .evidence(EVENT, format!("{:.0} %", share * 100.0), "pg_stat_activity");
    if let Some(most) = most {
        finding = finding.evidence("relations locked by one session", most, "pg_locks");
    }
    if let Some(most) = most.filter(|most| *most > slots)
        && postgres.major() >= SETTABLE_SINCE
    {
        let wanted = most.min(MOST_WANTED).next_power_of_two();
        if wanted > max_locks {
            finding = finding.recommend(
                safe(
                    "max_locks_per_transaction",
                    value(wanted.to_string()),
                    "a session locks its relations without the shared lock table",
                )
                .giving_up("a restart, and shared memory for each connection; standbys first"),
            );
        }
    }
    Ok(finding
        .host_action(
            "let the queries name the partition key, so that fewer partitions and indexes are locked",
            Needs::Online,
        )
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{configure, finding, healthy, ok, postgres, unknown};
    use dbdyno_model::finding::Want;
    use dbdyno_model::postgres::Waits;
    use dbdyno_model::{Fact, Facts};

    fn waiting(version_num: u32, waiting: u64, most: Option<u64>) -> Facts {
        let mut facts = healthy();
        let server = postgres(&mut facts);
        server.version_num = version_num;
        server.waits = Fact::known(
            Waits {
                looks: 10,
                active: 200,
                events: [("LWLock:LockManager".to_owned(), waiting)].into(),
                most_relation_locks: most,
                ..Waits::default()
            },
            "pg_stat_activity",
        );
        facts
    }

    #[test]
    fn eighteen_is_given_more_slots() {
        let finding = finding(&RULE, &waiting(180_006, 40, Some(150)));
        assert_eq!(
            finding.message,
            "20 % of the sessions at work wait for the shared lock table; 64 relations can be locked without it"
        );
        assert_eq!(finding.recommendations[0].want, Want::Value("256".into()));
        assert!(finding.recommendations[0].gives_up.is_some());
    }

    #[test]
    fn a_dump_that_locks_everything_sizes_no_lock_table() {
        let mut facts = waiting(180_006, 40, Some(16_000));
        let asked = finding(&RULE, &facts);
        assert_eq!(asked.recommendations[0].want, Want::Value("1024".into()));
        configure(&mut facts, "max_locks_per_transaction", "1024");
        assert_eq!(finding(&RULE, &facts).recommendations, []);
    }

    #[test]
    fn older_servers_and_short_lists_of_locks_are_left_to_the_queries() {
        for facts in [
            waiting(150_019, 40, Some(150)),
            waiting(180_006, 40, Some(20)),
            waiting(180_006, 40, None),
        ] {
            let finding = finding(&RULE, &facts);
            assert_eq!(finding.recommendations, []);
            assert!(finding.host_actions[0].action.contains("partition key"));
        }
    }

    #[test]
    fn few_waits_are_fine_and_unread_ones_unknown() {
        ok(&RULE, &waiting(180_006, 10, Some(150)));
        assert!(unknown(&RULE, &healthy()).starts_with("what sessions wait for"));
    }
}
