//! Sessions that wait for the locks of others.
//!
//! ## What it finds
//! A session that has waited for a lock for more than ten seconds, more than one in twenty of the
//! sessions at work waiting for one over the sample, or more than one deadlock a minute.
//!
//! ## Why it matters
//! Who waits holds locks too, so that waits pile up behind one session. A deadlock costs a second
//! of waiting and a transaction.
//!
//! ## What to do
//! Begin with the session that blocks and does not wait itself: shorten its transaction, or end it.
//! Rows that are locked one after another are to be locked in the same order everywhere; an index
//! on the condition keeps an UPDATE from passing, and locking, rows that are not its own.
//!
//! ## Risk
//! The work of a session that is ended is rolled back.
//!
//! ## When it does not apply
//! The sample is short. What was waited for before and after is in the log, with `log_lock_waits =
//! on`. Before PostgreSQL 14 the server does not say how long a session has waited. Deadlocks are
//! unknown where the counters cover less than a day.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/view-pg-locks.html>
//! - <https://www.postgresql.org/docs/current/explicit-locking.html#LOCKING-DEADLOCKS>
//! - <https://www.postgresql.org/docs/current/runtime-config-locks.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::postgres::{LockWait, LockWaits};
use dbdyno_model::{Facts, Finding, Outcome, Severity};

use crate::postgres::load;
use crate::postgres::settings::SettingEvidence;
use crate::postgres::waits;
use crate::rule::{FindingExt, Rule, humane_number, need_ref, server, settle};
use crate::scope::{LISTED, MINUTE_S, ScopeExt, humane_time, in_all};
use crate::sql::{CostExt, StatementExt, end_session, statement};

pub(super) const RULE: Rule = Rule {
    id: "query.lock_contention",
    severity: Severity::Warn,
    confidence: Confidence::Medium,
    sources: &[
        "https://www.postgresql.org/docs/current/view-pg-locks.html",
        "https://www.postgresql.org/docs/current/explicit-locking.html#LOCKING-DEADLOCKS",
        "https://www.postgresql.org/docs/current/runtime-config-locks.html",
    ],
    check,
    source_text: include_str!("lock_contention.rs"),
};

const LONG_S: f64 = 10.0;
const MANY_SHARE: f64 = 0.05;
const DEADLOCKS_PER_MINUTE: f64 = 1.0;

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    let now = need_ref(&postgres.lock_waits, "waits for locks")?;
    let deadlocks = load::counted(&postgres.database, |database| {
        Some(database.deadlocks as f64)
    })
    .map(|counted| counted.per_s() * MINUTE_S);
    let longest = now
        .listed
        .iter()
        .filter_map(|wait| wait.waiting_s)
        .max_by(f64::total_cmp)
        .filter(|longest| *longest > LONG_S);
    // Unknown where too few are at work for a share.
    let share = waits::share(postgres, |event| event.starts_with("Lock:"));
    let mut parts = Vec::new();
    if let Some(longest) = longest {
        parts.push(format!(
            "a session has waited for a lock for {}",
            humane_time(longest)
        ));
    }
    if let Ok(share) = &share
        && *share > MANY_SHARE
    {
        parts.push(format!(
            "{:.0} % of the sessions at work wait for locks",
            share * 100.0
        ));
    }
    if let Some(per_minute) = deadlocks
        && per_minute > DEADLOCKS_PER_MINUTE
    {
        parts.push(format!("{} deadlocks a minute", humane_number(per_minute)));
    }
    if parts.is_empty() {
        share?;
        if deadlocks.is_none() {
            load::latest(&postgres.database, "deadlocks")?;
            return Err(Outcome::Unknown(
                "deadlocks a minute: since when the database counts is not known, or less than a day"
                    .to_owned(),
            ));
        }
        return Ok(Outcome::Ok);
    }
    let origin = &postgres.lock_waits.origin;
    let mut finding = RULE.finding(parts.join("; "));
    for wait in now.listed.iter().take(LISTED) {
        finding = finding.evidence(format!("session {}", wait.pid), described(wait), origin);
    }
    let more = in_all(now.waiting).saturating_sub(now.listed.len().min(LISTED));
    Ok(with_blockers(finding, now)
        .shows(postgres, "log_lock_waits")
        .and_more(more, "waiting session", origin)
        .into_outcome())
}

/// `waits 40 seconds for relation (AccessExclusiveLock) on public.orders, held by 4711`.
fn described(wait: &LockWait) -> String {
    let long = wait.waiting_s.map_or(String::new(), |seconds| {
        format!(" {}", humane_time(seconds))
    });
    let on = wait
        .relation
        .as_ref()
        .map_or(String::new(), |relation| format!(" on {relation}"));
    let holders: Vec<String> = wait.blocked_by.iter().map(holder).collect();
    let held = if holders.is_empty() {
        String::new()
    } else {
        format!(", held by {}", holders.join(", "))
    };
    format!("waits{long} for {} ({}){on}{held}", wait.lock, wait.mode)
}

fn holder(pid: &u32) -> String {
    match pid {
        0 => "a prepared transaction".to_owned(),
        pid => pid.to_string(),
    }
}

/// By the time that somebody reads this, the number may be another session's.
fn still_blocks(pid: u32) -> String {
    format!(
        "EXISTS (SELECT FROM pg_locks WHERE NOT granted AND {pid} = ANY (pg_blocking_pids(pid)))"
    )
}

/// Sessions at the head of a queue: they block others and wait for nobody.
fn with_blockers(finding: Finding, now: &LockWaits) -> Finding {
    let mut heads: Vec<u32> = now
        .listed
        .iter()
        .flat_map(|wait| &wait.blocked_by)
        .copied()
        .filter(|pid| *pid != 0 && !now.listed.iter().any(|wait| wait.pid == *pid))
        .collect();
    heads.sort_unstable();
    heads.dedup();
    heads.iter().take(LISTED).fold(finding, |finding, pid| {
        finding.statement(
            statement(
                end_session(*pid, &still_blocks(*pid)),
                "others wait for it, and it waits for nobody; once its owner agrees",
            )
            .costing("the session's work is rolled back"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, ok, postgres, unknown, with_statistics_of_days};
    use dbdyno_model::host::Sampled;
    use dbdyno_model::postgres::{LockWait, LockWaits, Waits};
    use dbdyno_model::{Fact, Facts};

    fn wait(pid: u32, waiting_s: Option<f64>, blocked_by: &[u32]) -> LockWait {
        LockWait {
            pid,
            database: "shop".into(),
            role: "app".into(),
            waiting_s,
            lock: "transactionid".into(),
            mode: "ShareLock".into(),
            relation: None,
            blocked_by: blocked_by.to_vec(),
        }
    }

    /// Of a hundred sessions at work, over all looks, so many waited for a lock.
    fn with(listed: Vec<LockWait>, of_hundred: u64) -> Facts {
        let mut facts = healthy();
        with_statistics_of_days(&mut facts, 1.0);
        let server = postgres(&mut facts);
        let waits = LockWaits {
            waiting: listed.len() as u64,
            listed,
        };
        server.lock_waits = Fact::known(waits, "pg_locks");
        server.waits = Fact::known(
            Waits {
                looks: 10,
                active: 100,
                events: [("Lock:transactionid".to_owned(), of_hundred)].into(),
                ..Waits::default()
            },
            "pg_stat_activity",
        );
        facts
    }

    #[test]
    fn a_queue_is_found_with_the_session_at_its_head() {
        let found = finding(
            &RULE,
            &with(
                vec![
                    wait(11, Some(40.0), &[10]),
                    wait(12, Some(30.0), &[11, 10]),
                    wait(13, Some(1.0), &[0]),
                ],
                20,
            ),
        );
        insta::assert_snapshot!(found.message, @"a session has waited for a lock for 40 seconds; 20 % of the sessions at work wait for locks");
        insta::assert_snapshot!(found.evidence[1].value, @"waits 30 seconds for transactionid (ShareLock), held by 11, 10");
        assert!(found.evidence[2].value.ends_with("a prepared transaction"));
        assert_eq!(found.statements.len(), 1);
        insta::assert_snapshot!(found.statements[0].sql, @"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = 10 AND EXISTS (SELECT FROM pg_locks WHERE NOT granted AND 10 = ANY (pg_blocking_pids(pid)))");
    }

    #[test]
    fn deadlocks_are_counted_over_a_day() {
        let mut facts = with(Vec::new(), 1);
        let deadlocks = |count| {
            move |mut database: dbdyno_model::postgres::Database| {
                database.deadlocks = count;
                database
            }
        };
        let server = postgres(&mut facts);
        server.database.after = server.database.after.clone().map(deadlocks(14_400));
        insta::assert_snapshot!(finding(&RULE, &facts).message, @"10 deadlocks a minute");
        let server = postgres(&mut facts);
        server.database.after = server.database.after.clone().map(deadlocks(100));
        ok(&RULE, &facts);
    }

    #[test]
    fn deadlocks_over_a_time_that_nobody_knows_are_not_none() {
        let mut facts = with(Vec::new(), 1);
        with_statistics_of_days(&mut facts, 0.5);
        assert!(unknown(&RULE, &facts).starts_with("deadlocks a minute"));
        let ageless = |mut database: dbdyno_model::postgres::Database| {
            database.stats_age_s = None;
            database
        };
        let server = postgres(&mut facts);
        server.database.after = server.database.after.clone().map(ageless);
        assert!(unknown(&RULE, &facts).contains("is not known"));
        postgres(&mut facts).database = Sampled::default();
        assert_eq!(unknown(&RULE, &facts), "deadlocks: not collected");
        finding(&RULE, &with(Vec::new(), 20));
    }

    #[test]
    fn short_waits_of_few_are_fine_and_unseen_ones_unknown() {
        ok(&RULE, &with(vec![wait(11, Some(1.0), &[10])], 2));
        let mut facts = with(vec![wait(11, None, &[10])], 0);
        ok(&RULE, &facts);
        postgres(&mut facts).waits = Fact::default();
        unknown(&RULE, &facts);
        unknown(&RULE, &healthy());
    }
}
