//! Transactions that stay open for more than an hour.
//!
//! ## What it finds
//! Sessions of clients whose transaction has been open for more than an hour. One that does nothing
//! meanwhile is critical, one that runs a statement is warned of.
//!
//! ## Why it matters
//! An open transaction keeps its locks, and keeps vacuum from removing what died since in every
//! table of the database. Tables and indexes grow by that.
//!
//! ## What to do
//! Find the program by role and application name. Once its owner agrees, end the session; then let
//! the server do so: `idle_in_transaction_session_timeout` for the role, and from PostgreSQL 17
//! `transaction_timeout`.
//!
//! ## Risk
//! The session's work is rolled back.
//!
//! ## When it does not apply
//! Reports and dumps that are known to run that long: best on a standby.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/routine-vacuuming.html#VACUUM-FOR-WRAPAROUND>
//! - <https://www.postgresql.org/docs/current/runtime-config-client.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::postgres::OpenTransaction;
use dbdyno_model::words::plural;
use dbdyno_model::{Facts, Outcome, Severity};

use crate::rule::{FindingExt, Rule, need_ref, server, settle};
use crate::scope::{HOUR_S, LISTED, ScopeExt, humane_count, humane_time};
use crate::sql::{CostExt, StatementExt, end_transaction, identifier, statement};

pub(super) const RULE: Rule = Rule {
    id: "query.long_transactions",
    severity: Severity::Critical,
    confidence: Confidence::High,
    sources: &[
        "https://www.postgresql.org/docs/current/routine-vacuuming.html#VACUUM-FOR-WRAPAROUND",
        "https://www.postgresql.org/docs/current/runtime-config-client.html",
    ],
    check,
    source_text: include_str!("long_transactions.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    let mut long: Vec<&OpenTransaction> =
        need_ref(&postgres.open_transactions, "open transactions")?
            .iter()
            .filter(|one| one.open_s > HOUR_S)
            .collect();
    long.sort_by(|a, b| b.open_s.total_cmp(&a.open_s).then(a.pid.cmp(&b.pid)));
    let Some(oldest) = long.first() else {
        return Ok(Outcome::Ok);
    };
    let severity = if long.iter().any(|one| is_idle(one)) {
        Severity::Critical
    } else {
        Severity::Warn
    };
    let origin = &postgres.open_transactions.origin;
    let mut finding = RULE
        .finding(format!(
            "{} open for more than an hour, the oldest for {}, {}",
            plural(long.len() as u64, "transaction"),
            humane_time(oldest.open_s),
            oldest.state
        ))
        .severity(severity);
    for one in long.iter().take(LISTED) {
        finding = finding
            .evidence(format!("session {}", one.pid), described(one), origin)
            .statement(
                statement(
                    end_transaction(one.pid, one.open_s),
                    "once its owner agrees",
                )
                .costing("the session's work is rolled back"),
            );
    }
    if let Some(idle) = long.iter().find(|one| is_idle(one)) {
        finding = finding.statement(
            statement(
                format!(
                    "ALTER ROLE {} SET idle_in_transaction_session_timeout = '10min'",
                    identifier(&idle.role)
                ),
                "the server ends such sessions of this role from now on",
            )
            .costing("transactions that idle longer than that are rolled back"),
        );
    }
    Ok(finding
        .and_more(
            long.len().saturating_sub(LISTED),
            "such transaction",
            origin,
        )
        .into_outcome())
}

fn is_idle(transaction: &OpenTransaction) -> bool {
    transaction.state.starts_with("idle in transaction")
}

/// `app (worker) in shop, idle in transaction for 3.5 hours, holds back 1.2 million transactions`.
fn described(one: &OpenTransaction) -> String {
    let mut text = format!("{} ({}) in {}", one.role, one.application, one.database);
    text += &format!(", open for {}", humane_time(one.open_s));
    match one.state_s {
        Some(state_s) => text += &format!(", {} for {}", one.state, humane_time(state_s)),
        None => text += &format!(", {}", one.state),
    }
    if let Some(waits_for) = &one.waits_for {
        text += &format!(", waits for {waits_for}");
    }
    if let Some(age) = one.xid_age {
        text += &format!(", holds back {} transactions", humane_count(age as f64));
    }
    if let Some(id) = &one.query_id {
        text += &format!(", statement {id}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, ok, postgres, unknown};
    use dbdyno_model::postgres::OpenTransaction;
    use dbdyno_model::{Fact, Facts, Severity};

    fn open(pid: u32, state: &str, open_s: f64) -> OpenTransaction {
        OpenTransaction {
            pid,
            database: "shop".into(),
            role: "App".into(),
            application: "worker".into(),
            state: state.into(),
            open_s,
            state_s: Some(open_s - 60.0),
            xid_age: Some(1_200_000),
            waits_for: Some("Client: ClientRead".into()),
            query_id: None,
        }
    }

    fn with(transactions: Vec<OpenTransaction>) -> Facts {
        let mut facts = healthy();
        postgres(&mut facts).open_transactions = Fact::known(transactions, "pg_stat_activity");
        facts
    }

    #[test]
    fn an_idle_one_is_critical_and_its_role_gets_a_limit() {
        let found = finding(
            &RULE,
            &with(vec![
                open(4, "active", 5000.0),
                open(5, "idle in transaction", 12_600.0),
                open(6, "idle in transaction", 60.0),
            ]),
        );
        insta::assert_snapshot!(found.message, @"2 transactions open for more than an hour, the oldest for 3.5 hours, idle in transaction");
        assert_eq!(found.severity, Severity::Critical);
        insta::assert_snapshot!(found.evidence[0].value, @"App (worker) in shop, open for 3.5 hours, idle in transaction for 3.5 hours, waits for Client: ClientRead, holds back 1.2 million transactions");
        let sql: Vec<&str> = found
            .statements
            .iter()
            .map(|one| one.sql.as_str())
            .collect();
        assert_eq!(
            sql,
            [
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = 5 AND xact_start <= now() - interval '12600 seconds'",
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = 4 AND xact_start <= now() - interval '5000 seconds'",
                "ALTER ROLE \"App\" SET idle_in_transaction_session_timeout = '10min'",
            ]
        );
    }

    #[test]
    fn a_running_report_is_warned_of() {
        let found = finding(&RULE, &with(vec![open(4, "active", 5000.0)]));
        assert_eq!(found.severity, Severity::Warn);
        assert_eq!(found.statements.len(), 1);
    }

    #[test]
    fn short_ones_are_fine_and_unseen_ones_unknown() {
        ok(&RULE, &with(vec![open(4, "active", 50.0)]));
        unknown(&RULE, &healthy());
    }
}
