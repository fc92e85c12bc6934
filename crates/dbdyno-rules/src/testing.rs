//! Facts that rule tests start from, and the words they assert with.

use dbdyno_model::{Facts, Finding, Outcome};

use crate::Rule;

/// Facts captured from a healthy 2-CPU virtual machine with PostgreSQL 15 at its defaults.
pub(crate) fn healthy() -> Facts {
    serde_json::from_str(include_str!(
        "../../../fixtures/facts/vm-2cpu-postgres15.json"
    ))
    .expect("the captured facts are of this schema")
}

pub(crate) fn finding(rule: &Rule, facts: &Facts) -> Finding {
    match (rule.check)(facts) {
        Outcome::Finding(finding) => *finding,
        other => panic!("{}: expected a finding, got {other:?}", rule.id),
    }
}

pub(crate) fn ok(rule: &Rule, facts: &Facts) {
    assert_eq!((rule.check)(facts), Outcome::Ok, "{}", rule.id);
}

pub(crate) fn unknown(rule: &Rule, facts: &Facts) -> String {
    match (rule.check)(facts) {
        Outcome::Unknown(why) => why,
        other => panic!("{}: expected unknown, got {other:?}", rule.id),
    }
}

pub(crate) fn not_applicable(rule: &Rule, facts: &Facts) -> String {
    match (rule.check)(facts) {
        Outcome::NotApplicable(why) => why,
        other => panic!("{}: expected not applicable, got {other:?}", rule.id),
    }
}

/// Overrides one of pg_settings' values, in the setting's own unit; adds a setting that is new.
pub(crate) fn set(facts: &mut Facts, name: &str, value: &str) {
    let server = facts.postgres.as_mut().expect("the facts have a server");
    server.settings.entry(name.to_owned()).or_default().value = value.to_owned();
}

/// Declares TPC-C: short transactions that write.
pub(crate) fn declare_tpcc(facts: &mut Facts) {
    facts.intent.workload = Some(dbdyno_model::facts::DeclaredWorkload {
        name: "tpcc".to_owned(),
        writes: true,
    });
}

/// Makes the counters as old as that, which is what lets rules trust them.
pub(crate) fn with_statistics_of_days(facts: &mut Facts, days: f64) {
    let postgres = postgres(facts);
    let aged = |mut database: dbdyno_model::postgres::Database| {
        database.stats_age_s = Some(days * 86_400.0);
        database
    };
    postgres.database.before = postgres.database.before.clone().map(aged);
    postgres.database.after = postgres.database.after.clone().map(aged);
}

pub(crate) fn postgres(facts: &mut Facts) -> &mut dbdyno_model::postgres::Postgres {
    facts
        .postgres
        .as_mut()
        .expect("the captured facts have a server")
}

/// Like `set`, as the owner's configuration file would: such a setting must exist.
pub(crate) fn configure(facts: &mut Facts, name: &str, value: &str) {
    assert!(
        postgres(facts).settings.contains_key(name),
        "no setting {name}"
    );
    set(facts, name, value);
    if let Some(setting) = postgres(facts).settings.get_mut(name) {
        setting.source = "configuration file".to_owned();
    }
}
