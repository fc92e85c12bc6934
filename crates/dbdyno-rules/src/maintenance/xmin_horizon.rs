//! Something that keeps vacuum from removing dead rows.
//!
//! ## What it finds
//! A snapshot or transaction id more than a million transactions or an hour old, and who holds it:
//! a session, a prepared transaction, a replication slot or a standby with feedback.
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
//! A slot's catalog horizon holds back the system catalogs alone, and is told as that. A session in
//! another database holds back that one and shared catalogs, and is told with its database. What runs on a standby holds its primary's
//! vacuum back only with `hot_standby_feedback`.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/routine-vacuuming.html>

use dbdyno_model::finding::{Confidence, Statement};
use dbdyno_model::postgres::{HolderKind, Postgres, ReplicationRole, XminHolder};
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use crate::postgres::settings;
use crate::rule::{FindingExt, Rule, need_ref, server, settle};
use crate::scope::{LISTED, humane_count, humane_time};
use crate::sql::{CostExt, StatementExt, end_session, end_transaction, literal, statement};

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
    if postgres.role.get() == Some(ReplicationRole::Standby)
        && !settings::flag(postgres, "hot_standby_feedback")?
    {
        return Err(Outcome::NotApplicable(
            "a standby without hot_standby_feedback keeps no vacuum back".to_owned(),
        ));
    }
    match postgres.xmin_holders.value() {
        Some(holders) => Ok(by_holder(postgres, holders)),
        None => by_age(postgres),
    }
}

fn by_holder(postgres: &Postgres, holders: &[XminHolder]) -> Outcome {
    let mut old: Vec<&XminHolder> = holders.iter().filter(|holder| is_old(holder)).collect();
    // Who holds back the connected database comes first; the oldest of them did before.
    old.sort_by_key(|holder| elsewhere(postgres, holder).is_some());
    let Some(worst) = old.first() else {
        return Outcome::Ok;
    };
    let place = |holder: &XminHolder| match elsewhere(postgres, holder) {
        Some(database) => format!(" in database {database}"),
        None => String::new(),
    };
    let mut finding = RULE.finding(format!(
        "vacuum cannot remove what died{} since: {}",
        place(worst),
        described(worst)
    ));
    for holder in old.iter().take(LISTED) {
        let count = humane_count(holder.xid_age as f64);
        let age = format!("{count} transactions{}", place(holder));
        finding = finding
            .evidence(named(holder), age, &postgres.xmin_holders.origin)
            .statement(ended(holder));
    }
    finding.into_outcome()
}

/// The database whose tables it holds back, where that is not the connected one. On a standby it holds
/// back all of them, by feedback.
///
/// Source: `ComputeXidHorizons()` of PostgreSQL
fn elsewhere<'a>(postgres: &Postgres, holder: &'a XminHolder) -> Option<&'a str> {
    if postgres.role.get() != Some(ReplicationRole::Primary) {
        return None;
    }
    let here = &postgres.database.latest()?.name;
    let database = holder.database.as_deref()?;
    (!here.is_empty() && database != here).then_some(database)
}

/// Old in transactions, or in hours while others were at work.
fn is_old(holder: &XminHolder) -> bool {
    holder.xid_age > OLD_TRANSACTIONS
        || (holder.xid_age > 0 && holder.held_s.is_some_and(|held| held > OLD_S))
}

/// `session 4711 (app worker), 2.5 hours and 3.5 million transactions old`.
fn described(holder: &XminHolder) -> String {
    let transactions = humane_count(holder.xid_age as f64);
    let age = match holder.held_s {
        Some(held) => format!("{} and {transactions} transactions old", humane_time(held)),
        None => format!("{transactions} transactions old"),
    };
    let what = if holder.catalogs_only {
        " (system catalogs alone)"
    } else {
        ""
    };
    format!("{}, {age}{what}", named(holder))
}

fn named(holder: &XminHolder) -> String {
    let kind = match holder.kind {
        HolderKind::Session => "session",
        HolderKind::PreparedTransaction => "prepared transaction",
        HolderKind::ReplicationSlot => "replication slot",
        HolderKind::Standby => "standby",
    };
    let who = if holder.who.is_empty() {
        String::new()
    } else {
        format!(" ({})", holder.who)
    };
    format!("{kind} {}{who}", holder.name)
}

/// The session that was seen, and no other that has its number by now.
fn end_holder(pid: u32, holder: &XminHolder) -> String {
    match holder.held_s {
        Some(held) => end_transaction(pid, held),
        // One that wrote may have an id of its own and no snapshot.
        None => {
            let age = "greatest(age(backend_xid), age(backend_xmin))";
            end_session(pid, &format!("{age} >= {}", holder.xid_age))
        }
    }
}

fn ended(holder: &XminHolder) -> Statement {
    let name = literal(&holder.name);
    match holder.kind {
        // A document may come from anywhere: what is no number ends nothing.
        HolderKind::Session => statement(
            end_holder(holder.name.parse().unwrap_or(0), holder),
            "once its owner agrees",
        )
        .costing("the session's transaction is rolled back"),
        HolderKind::PreparedTransaction => statement(
            format!("ROLLBACK PREPARED {name}"),
            "connected to its database, or COMMIT PREPARED where its coordinator committed it",
        )
        .costing("the prepared work, where it is rolled back"),
        HolderKind::ReplicationSlot => statement(
            format!("SELECT pg_drop_replication_slot({name})"),
            "once nothing needs it: an active one has to be caught up instead",
        )
        .costing("whatever reads from the slot has to be made anew"),
        HolderKind::Standby => statement(
            "ALTER SYSTEM SET hot_standby_feedback = off",
            "on the standby, or end the long query there",
        )
        .costing("queries on the standby may be cancelled")
        .needing(Needs::Reload),
    }
}

/// Facts of older collectors name nobody.
fn by_age(postgres: &Postgres) -> Result<Outcome, Outcome> {
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
    use crate::testing::{finding, healthy, not_applicable, ok, postgres, set, unknown};
    use dbdyno_model::postgres::{
        Activity, HolderKind, ReplicationRole, ReplicationSlot, XminHolder,
    };
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

    fn held_by(kind: HolderKind, name: &str, xid_age: u64, held_s: Option<f64>) -> XminHolder {
        XminHolder {
            kind,
            name: name.into(),
            who: String::new(),
            xid_age,
            held_s,
            database: None,
            catalogs_only: false,
        }
    }

    fn with_holders(holders: Vec<XminHolder>) -> Facts {
        let mut facts = healthy();
        postgres(&mut facts).xmin_holders = Fact::known(holders, "pg_stat_activity");
        facts
    }

    #[test]
    fn each_holder_is_named_with_what_ends_it() {
        let mut session = held_by(HolderKind::Session, "4711", 3_500_000, Some(9000.0));
        session.who = "app worker".into();
        let mut slot = held_by(HolderKind::ReplicationSlot, "cdc", 2_000_000, None);
        slot.catalogs_only = true;
        let found = finding(
            &RULE,
            &with_holders(vec![
                session,
                slot,
                held_by(HolderKind::PreparedTransaction, "it's", 10, Some(7200.0)),
                held_by(HolderKind::Standby, "replica", 2_000_000, None),
            ]),
        );
        insta::assert_snapshot!(found.message, @"vacuum cannot remove what died since: session 4711 (app worker), 2.5 hours and 3.5 million transactions old");
        let sql: Vec<&str> = found
            .statements
            .iter()
            .map(|one| one.sql.as_str())
            .collect();
        assert_eq!(
            sql,
            [
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = 4711 AND xact_start <= now() - interval '9000 seconds'",
                "SELECT pg_drop_replication_slot('cdc')",
                "ROLLBACK PREPARED 'it''s'",
                "ALTER SYSTEM SET hot_standby_feedback = off",
            ]
        );
        assert!(found.statements.iter().all(|one| one.gives_up.is_some()));
    }

    /// Its own database's tables, and shared catalogs, are all that it holds back.
    #[test]
    fn a_session_of_another_database_is_told_with_it_and_behind_those_of_this_one() {
        let mut other = held_by(HolderKind::Session, "1", 3_500_000, Some(9000.0));
        other.database = Some("archive".into());
        let found = finding(&RULE, &with_holders(vec![other.clone()]));
        insta::assert_snapshot!(found.message, @"vacuum cannot remove what died in database archive since: session 1, 2.5 hours and 3.5 million transactions old");
        let mut own = held_by(HolderKind::Session, "2", 2_000_000, Some(9000.0));
        own.database = Some("postgres".into());
        let found = finding(&RULE, &with_holders(vec![other, own]));
        insta::assert_snapshot!(found.message, @"vacuum cannot remove what died since: session 2, 2.5 hours and 2 million transactions old");
        assert_eq!(
            found.evidence[1].value,
            "3.5 million transactions in database archive"
        );
    }

    /// A report on a standby is where the guide sends it.
    #[test]
    fn what_runs_on_a_standby_holds_back_by_feedback_alone() {
        let report = held_by(HolderKind::Session, "4711", 3_500_000, Some(9000.0));
        let mut facts = with_holders(vec![report]);
        postgres(&mut facts).role = Fact::known(ReplicationRole::Standby, "test");
        set(&mut facts, "hot_standby_feedback", "off");
        not_applicable(&RULE, &facts);
        set(&mut facts, "hot_standby_feedback", "on");
        finding(&RULE, &facts);
    }

    #[test]
    fn a_session_is_known_again_by_the_age_that_was_read() {
        let session = held_by(HolderKind::Session, "4711", 3_500_000, None);
        let found = finding(&RULE, &with_holders(vec![session]));
        insta::assert_snapshot!(found.statements[0].sql, @"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = 4711 AND greatest(age(backend_xid), age(backend_xmin)) >= 3500000");
    }

    #[test]
    fn young_holders_and_old_ones_that_hold_nothing_are_fine() {
        ok(
            &RULE,
            &with_holders(vec![
                held_by(HolderKind::Session, "1", 500, Some(60.0)),
                held_by(HolderKind::Session, "2", 0, Some(90_000.0)),
            ]),
        );
        ok(&RULE, &with_holders(Vec::new()));
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
