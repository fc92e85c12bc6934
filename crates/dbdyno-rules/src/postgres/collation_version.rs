//! Indexes on text that were sorted by another version of a library.
//!
//! ## What it finds
//! A database, or a collation that indexes of the connected database sort by, whose recorded
//! version differs from that of the library (the C library or ICU) that the server runs with.
//!
//! ## Why it matters
//! An index keeps text in the order of the day it was built. Where a new library sorts some of it
//! differently, searches miss rows that are there, and unique indexes let duplicates in. It happens
//! with a new release of the operating system, or when a replica or backup is brought up on one.
//!
//! ## What to do
//! Rebuild the indexes on text (`REINDEX`, with `CONCURRENTLY` while the server is in use), then
//! record the new version: `ALTER DATABASE … REFRESH COLLATION VERSION`, `ALTER COLLATION … REFRESH
//! VERSION`. Recording it alone only hides the warning. `amcheck` tells which indexes are wrong. A
//! standby has its primary's indexes and cannot rebuild them. Where the primary runs with another
//! library, give the standby that one, and read nothing by text from it until then; where it runs with
//! the same, rebuild them on the primary.
//!
//! ## Risk
//! Rebuilding takes time and space for a second copy of each index. A unique index that has let
//! duplicates in cannot be rebuilt before they are removed.
//!
//! ## When it does not apply
//! Databases with the locale C or POSIX. Before PostgreSQL 15 a database does not record its
//! version. Constraints and partitions by range of text can be wrong, too; they are not listed.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/sql-altercollation.html>
//! - <https://www.postgresql.org/docs/current/sql-alterdatabase.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::postgres::{CollationUse, DatabaseLocale, Postgres, ReplicationRole};
use dbdyno_model::words::plural;
use dbdyno_model::{Facts, Finding, Needs, Outcome, Severity};

use crate::rule::{FindingExt, Rule, need_ref, server, settle};
use crate::sql::{identifier, qualified};

pub(super) const RULE: Rule = Rule {
    id: "postgres.collation_version",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &[
        "https://www.postgresql.org/docs/current/sql-altercollation.html",
        "https://www.postgresql.org/docs/current/sql-alterdatabase.html",
    ],
    check,
    source_text: include_str!("collation_version.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

/// From here on a database records the version that it was made with.
const RECORDED_SINCE: u32 = 15;

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    let locales = need_ref(&postgres.locales, "locales of the databases")?;
    let collations = need_ref(&postgres.collations, "collations of indexes")?;
    let databases: Vec<&DatabaseLocale> = locales
        .iter()
        .filter(|one| differs(one.version.as_deref(), one.actual.as_deref()))
        .collect();
    let others: Vec<&CollationUse> = collations
        .iter()
        .filter(|one| differs(Some(one.version.as_str()), one.actual.as_deref()))
        .collect();
    if databases.is_empty() && others.is_empty() {
        let sorts = locales.iter().any(|one| !is_bytewise(&one.collate));
        if postgres.major() < RECORDED_SINCE && sorts {
            return Err(Outcome::Unknown(format!(
                "collation versions of databases: recorded from PostgreSQL {RECORDED_SINCE} on"
            )));
        }
        return Ok(Outcome::Ok);
    }
    let mut changed: Vec<String> = Vec::new();
    if let Some(first) = databases.first() {
        changed.push(format!(
            "{}, first {} (made with {}, now {})",
            plural(databases.len() as u64, "database"),
            first.name,
            shown(first.version.as_deref()),
            shown(first.actual.as_deref())
        ));
    }
    if let Some(first) = others.first() {
        changed.push(format!(
            "{} in use, first {} (made with {}, now {}, {})",
            plural(others.len() as u64, "collation"),
            first.name,
            first.version,
            shown(first.actual.as_deref()),
            plural(first.indexes, "index")
        ));
    }
    let mut finding = RULE
        .finding(format!(
            "text may sort differently than when its indexes were built: {}",
            changed.join("; ")
        ))
        .keeps_data();
    for one in &databases {
        finding = finding.evidence(
            format!("collation version of {}", one.name),
            shown(one.version.as_deref()),
            postgres.locales.origin.clone(),
        );
    }
    for one in &others {
        finding = finding.evidence(
            format!("version of {}", qualified(&one.schema, &one.name)),
            &one.version,
            postgres.collations.origin.clone(),
        );
    }
    Ok(mended(finding, postgres, &databases, &others).into_outcome())
}

/// What to do, by where the indexes can be rebuilt: a standby has its primary's.
fn mended(
    finding: Finding,
    postgres: &Postgres,
    databases: &[&DatabaseLocale],
    others: &[&CollationUse],
) -> Finding {
    if postgres.role.get() == Some(ReplicationRole::Standby) {
        return finding.host_action(
            "see which library the primary runs with, whose indexes these are: where it is another one, give \
             this standby that one and read nothing by text here until then; where it is the same, mend the \
             indexes on the primary",
            Needs::Migration,
        );
    }
    let finding = databases.iter().fold(finding, |finding, one| {
        finding.host_action(
            format!(
                "in {0}: REINDEX DATABASE CONCURRENTLY {0}; then ALTER DATABASE {0} REFRESH COLLATION VERSION",
                identifier(&one.name)
            ),
            Needs::Online,
        )
    });
    others.iter().fold(finding, |finding, one| {
        let name = qualified(&one.schema, &one.name);
        finding.host_action(
            format!(
                "REINDEX what sorts by {name} ({}), then ALTER COLLATION {name} REFRESH VERSION",
                plural(one.indexes, "index")
            ),
            Needs::Online,
        )
    })
}

/// A version that the library does not tell any more is no difference that anybody can act on.
fn differs(recorded: Option<&str>, actual: Option<&str>) -> bool {
    matches!((recorded, actual), (Some(recorded), Some(actual)) if recorded != actual)
}

fn is_bytewise(collate: &str) -> bool {
    matches!(collate, "C" | "POSIX")
}

fn shown(version: Option<&str>) -> &str {
    version.unwrap_or("unknown")
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, ok, postgres, unknown};
    use dbdyno_model::postgres::{CollationUse, DatabaseLocale, ReplicationRole};
    use dbdyno_model::{Effect, Fact, Facts};

    fn sorted(version: Option<&str>, actual: Option<&str>, collations: Vec<CollationUse>) -> Facts {
        let mut facts = healthy();
        let server = postgres(&mut facts);
        let locale = DatabaseLocale {
            name: "Shop".into(),
            encoding: "UTF8".into(),
            collate: "en_GB.UTF-8".into(),
            version: version.map(str::to_owned),
            actual: actual.map(str::to_owned),
        };
        server.locales = Fact::known(vec![locale], "pg_database");
        server.collations = Fact::known(collations, "pg_collation");
        facts
    }

    #[test]
    fn a_database_under_a_new_library_is_found() {
        let finding = finding(&RULE, &sorted(Some("2.31"), Some("2.36"), Vec::new()));
        assert_eq!(finding.effect, Effect::Durability);
        assert_eq!(
            finding.message,
            "text may sort differently than when its indexes were built: 1 database, first Shop (made with 2.31, now 2.36)"
        );
        assert_eq!(
            finding.host_actions[0].action,
            "in \"Shop\": REINDEX DATABASE CONCURRENTLY \"Shop\"; then ALTER DATABASE \"Shop\" REFRESH COLLATION VERSION"
        );
    }

    #[test]
    fn a_collation_under_a_new_library_is_found_with_its_indexes() {
        let german = CollationUse {
            schema: "public".into(),
            name: "german".into(),
            version: "153.14".into(),
            actual: Some("153.120".into()),
            indexes: 3,
        };
        let finding = finding(&RULE, &sorted(Some("2.36"), Some("2.36"), vec![german]));
        assert!(
            finding
                .message
                .contains("first german (made with 153.14, now 153.120, 3 indexes)"),
            "{}",
            finding.message
        );
    }

    #[test]
    fn a_standby_is_told_to_take_its_primary_s_library_or_to_mend_the_primary() {
        let mut facts = sorted(Some("2.31"), Some("2.36"), Vec::new());
        postgres(&mut facts).role = Fact::known(ReplicationRole::Standby, "pg_is_in_recovery()");
        let finding = finding(&RULE, &facts);
        assert_eq!(finding.host_actions.len(), 1);
        let action = &finding.host_actions[0].action;
        assert!(
            action.contains("give this standby that one") && !action.contains("REINDEX"),
            "{action}"
        );
        // Both were upgraded together: there is no other library to give it.
        assert!(
            action.contains("where it is the same, mend the indexes on the primary"),
            "{action}"
        );
    }

    #[test]
    fn equal_and_untold_versions_are_fine() {
        ok(&RULE, &sorted(Some("2.36"), Some("2.36"), Vec::new()));
        ok(&RULE, &sorted(None, None, Vec::new()));
        ok(&RULE, &sorted(Some("2.36"), None, Vec::new()));
    }

    #[test]
    fn what_older_servers_do_not_record_and_what_was_not_read_is_unknown() {
        let mut facts = sorted(None, None, Vec::new());
        postgres(&mut facts).version_num = 140_024;
        assert!(unknown(&RULE, &facts).ends_with("recorded from PostgreSQL 15 on"));
        assert!(unknown(&RULE, &healthy()).starts_with("locales of the databases"));
        postgres(&mut facts).collations = Fact::default();
        assert!(unknown(&RULE, &facts).starts_with("collations of indexes"));
    }
}
