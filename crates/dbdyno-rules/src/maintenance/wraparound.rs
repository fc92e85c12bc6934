//! Transaction ids that run out.
//!
//! ## What it finds
//! A database whose oldest unfrozen transaction (or multixact) is more than 500 million ids old;
//! from 1,000 million on it is critical.
//!
//! ## Why it matters
//! Ids are reused after two thousand million. Shortly before, the server refuses every write until
//! the oldest tables are frozen.
//!
//! ## What to do
//! Find what holds the oldest ids back (`maintenance.xmin_horizon`), then run `VACUUM (FREEZE)` on
//! the oldest tables, in normal operation: single-user mode is not needed.
//!
//! ## Risk
//! Freezing reads and may write the whole table.
//!
//! ## When it does not apply
//! Nowhere.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/routine-vacuuming.html#VACUUM-FOR-WRAPAROUND>

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use crate::postgres::settings::SettingEvidence;
use crate::rule::{FindingExt, Rule, need_ref, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "maintenance.wraparound",
    severity: Severity::Critical,
    confidence: Confidence::High,
    sources: &[
        "https://www.postgresql.org/docs/current/routine-vacuuming.html#VACUUM-FOR-WRAPAROUND",
    ],
    check,
    source_text: include_str!("wraparound.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

const WARN_AGE: u64 = 500_000_000;
const CRITICAL_AGE: u64 = 1_000_000_000;

/// Ids after which the server stops writing, nearly.
const LAST_AGE: u64 = 2_000_000_000;

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    let databases = need_ref(&postgres.databases, "ages of the databases")?;
    let ages = databases.iter().flat_map(|database| {
        [
            (database.xid_age, "transaction ids", &database.name),
            (database.multixact_age, "multixact ids", &database.name),
        ]
    });
    let Some((age, kind, database)) = ages.max().filter(|(age, ..)| *age > WARN_AGE) else {
        return Ok(Outcome::Ok);
    };
    let severity = if age > CRITICAL_AGE {
        Severity::Critical
    } else {
        Severity::Warn
    };
    Ok(RULE
        .finding(format!(
            "database {database} has {kind} {:.0} million old, {:.0} million before writing stops",
            age as f64 / 1e6,
            LAST_AGE.saturating_sub(age) as f64 / 1e6
        ))
        .severity(severity)
        .keeps_running()
        .evidence("age", age, postgres.databases.origin.clone())
        .shows(postgres, "autovacuum_freeze_max_age")
        .host_action(
            format!("VACUUM (FREEZE) of the oldest tables of {database}"),
            Needs::Online,
        )
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, ok, postgres, unknown};
    use dbdyno_model::postgres::DatabaseAge;
    use dbdyno_model::{Fact, Facts, Severity};

    fn aged(xid_age: u64, multixact_age: u64) -> Facts {
        let mut facts = healthy();
        let shop = DatabaseAge {
            name: "shop".into(),
            xid_age,
            multixact_age,
        };
        postgres(&mut facts).databases =
            Fact::known(vec![DatabaseAge::default(), shop], "pg_database");
        facts
    }

    #[test]
    fn an_old_database_is_found_and_grows_critical() {
        let found = finding(&RULE, &aged(600_000_000, 0));
        insta::assert_snapshot!(found.message, @"database shop has transaction ids 600 million old, 1400 million before writing stops");
        assert_eq!(found.severity, Severity::Warn);
        assert_eq!(
            finding(&RULE, &aged(1_200_000_000, 0)).severity,
            Severity::Critical
        );
        finding(&RULE, &aged(2_100_000_000, 0));
    }

    #[test]
    fn multixacts_count_too() {
        assert!(
            finding(&RULE, &aged(10, 700_000_000))
                .message
                .contains("multixact")
        );
    }

    #[test]
    fn young_is_fine_and_unread_unknown() {
        let mut facts = aged(200_000_000, 10);
        ok(&RULE, &facts);
        postgres(&mut facts).databases = Fact::default();
        unknown(&RULE, &facts);
    }
}
