//! Queries that a standby cancels because replay cannot wait for them.
//!
//! ## What it finds
//! More than one cancelled query an hour on a standby, averaged over a day or more, by the kind of
//! conflict.
//!
//! ## Why it matters
//! Reports fail after `max_standby_streaming_delay` (30 seconds), on whichever replica they run,
//! and fail again when they are repeated.
//!
//! ## What to do
//! It is a choice of what gives way. For conflicts over snapshots: `hot_standby_feedback = on`
//! keeps the rows on the primary, whose tables grow while a long query runs here; a larger
//! `max_standby_streaming_delay` lets replay fall behind for that long. For locks: keep `TRUNCATE`,
//! `ALTER TABLE` and the truncation by vacuum (`vacuum_truncate = off`) away from tables that are
//! read here. A replica of its own for reports needs neither compromise.
//!
//! ## Risk
//! As above: bloat on the primary, or a standby that is behind when it is needed.
//!
//! ## When it does not apply
//! Primaries; counters younger than a day.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/hot-standby.html#HOT-STANDBY-CONFLICT>

use dbdyno_model::finding::Confidence;
use dbdyno_model::postgres::DatabaseCounters;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use super::state;
use crate::postgres::load;
use crate::postgres::settings::{self, SettingEvidence};
use crate::rule::{FindingExt, Rule, humane_number, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "replication.recovery_conflicts",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &["https://www.postgresql.org/docs/current/hot-standby.html#HOT-STANDBY-CONFLICT"],
    check,
    source_text: include_str!("recovery_conflicts.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

const OFTEN_PER_HOUR: f64 = 1.0;

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    state::standby(postgres)?;
    let now = load::latest(&postgres.database_counters, "cancelled queries")?;
    let all = &postgres.database_counters;
    let conflicts = |one: &DatabaseCounters| Some(one.conflicts());
    let undated = || load::undated("cancelled queries an hour", all, conflicts);
    let counted = load::in_all_databases(all, conflicts).ok_or_else(undated)?;
    let hourly = counted.per_s * 3600.0;
    if hourly <= OFTEN_PER_HOUR {
        return if counted.is_whole {
            Ok(Outcome::Ok)
        } else {
            Err(undated())
        };
    }
    let snapshot = sum(now, |one| one.conflicts_snapshot);
    let lock = sum(now, |one| one.conflicts_lock);
    let has_feedback = settings::flag(postgres, "hot_standby_feedback")?;
    let origin = || postgres.database_counters.before.origin.clone();
    let mut finding = RULE
        .finding(format!(
            "{} queries an hour are cancelled because replay cannot wait for them",
            humane_number(hourly)
        ))
        .evidence("over snapshots", snapshot, origin())
        .evidence("over locks", lock, origin())
        .evidence("others", sum(now, |one| one.conflicts_other), origin())
        .shows(postgres, "hot_standby_feedback")
        .shows(postgres, "max_standby_streaming_delay");
    if snapshot > 0.0 && !has_feedback {
        finding = finding.host_action(
            "hot_standby_feedback = on here; gives up: the primary keeps dead rows as long as queries here may see them",
            Needs::Reload,
        );
    }
    finding = finding.host_action(
        "or a longer max_standby_streaming_delay here; gives up: replay falls behind for as long",
        Needs::Reload,
    );
    if lock > 0.0 {
        finding = finding.host_action(
            "ALTER TABLE … SET (vacuum_truncate = off) for tables that are read here; gives up: empty pages at their end are kept",
            Needs::Online,
        );
    }
    Ok(finding.into_outcome())
}

fn sum(all: &[DatabaseCounters], count: impl Fn(&DatabaseCounters) -> u64) -> f64 {
    all.iter().map(|one| count(one) as f64).sum()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::replication::state::testing::standby;
    use crate::testing::{
        configure, finding, healthy, not_applicable, ok, postgres, unknown, with_statistics_of_days,
    };
    use dbdyno_model::postgres::DatabaseCounters;
    use dbdyno_model::{Fact, Facts};

    fn cancelled(snapshot: u64, lock: u64) -> Facts {
        let mut facts = standby();
        let shop = DatabaseCounters {
            name: Some("shop".into()),
            conflicts_snapshot: snapshot,
            conflicts_lock: lock,
            ..DatabaseCounters::default()
        };
        postgres(&mut facts).database_counters.before =
            Fact::known(vec![shop], "pg_stat_database_conflicts");
        with_statistics_of_days(&mut facts, 1.0);
        facts
    }

    #[test]
    fn a_database_of_unknown_age_is_not_taken_for_a_quiet_one() {
        let mut facts = cancelled(3, 0);
        let all = &mut postgres(&mut facts).database_counters.before;
        *all = all.clone().map(|mut all| {
            all.push(DatabaseCounters {
                conflicts_lock: 10,
                ..DatabaseCounters::default()
            });
            all
        });
        assert_eq!(
            unknown(&RULE, &facts),
            "cancelled queries an hour: since when the counters of some databases count is not known"
        );
    }

    #[test]
    fn both_ways_out_are_named_with_what_they_give_up() {
        let mut facts = cancelled(240, 0);
        let found = finding(&RULE, &facts);
        assert_eq!(
            found.message,
            "10 queries an hour are cancelled because replay cannot wait for them"
        );
        assert_eq!(found.recommendations, [], "what gives way is a choice");
        assert_eq!(found.host_actions.len(), 2);
        assert!(
            found
                .host_actions
                .iter()
                .all(|one| one.action.contains("gives up"))
        );
        configure(&mut facts, "hot_standby_feedback", "on");
        assert_eq!(finding(&RULE, &facts).host_actions.len(), 1);
    }

    #[test]
    fn conflicts_over_locks_name_their_own_way_out() {
        let found = finding(&RULE, &cancelled(0, 48));
        let last = &found.host_actions[found.host_actions.len() - 1];
        assert!(last.action.contains("vacuum_truncate"));
    }

    #[test]
    fn few_are_fine() {
        ok(&RULE, &cancelled(3, 0));
    }

    #[test]
    fn primaries_are_not_applicable_and_young_counters_unknown() {
        not_applicable(&RULE, &healthy());
        assert_eq!(
            unknown(&RULE, &standby()),
            "cancelled queries: not collected"
        );
        let mut facts = cancelled(240, 0);
        with_statistics_of_days(&mut facts, 0.2);
        assert!(unknown(&RULE, &facts).starts_with("cancelled queries an hour"));
    }
}
