//! A server that lacks corrections which are out.
//!
//! ## What it finds
//! A minor release older than the newest that this catalogue knows; a development or beta release;
//! and, as critical, 14.0 to 14.3.
//!
//! ## Why it matters
//! Minor releases hold corrections only: of security holes, crashes and lost data. They need no
//! dump. In 14.0 to 14.3, `CREATE INDEX CONCURRENTLY` and `REINDEX CONCURRENTLY` could leave rows
//! out of the index.
//!
//! ## What to do
//! Install the newest minor release and restart. Read its release notes for what to do afterwards:
//! some name indexes to rebuild. After 14.0 to 14.3, rebuild every index that was made
//! concurrently.
//!
//! ## Risk
//! A restart.
//!
//! ## When it does not apply
//! Lab servers; majors that this catalogue does not know. dbdyno asks no network: there may be a
//! newer release than it knows, and of a server that is newer nothing is said. A service offers a release
//! weeks after it is out: there, being behind is a word, and what to do is what the service offers.
//!
//! ## Sources
//! - <https://www.postgresql.org/support/versioning/>
//! - <https://www.postgresql.org/docs/release/14.4/>

use dbdyno_model::finding::Confidence;
use dbdyno_model::words::plural;
use dbdyno_model::{Effect, Facts, Finding, Needs, Outcome, Severity};

use super::releases;
use crate::cloud::is_service;
use crate::rule::{FindingExt, Rule, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "postgres.minor_release",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &[
        "https://www.postgresql.org/support/versioning/",
        "https://www.postgresql.org/docs/release/14.4/",
    ],
    check,
    source_text: include_str!("minor_release.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

/// Until 14.3, indexes that were built concurrently could miss rows.
const LOSES_INDEX_ENTRIES: std::ops::Range<u32> = 140_000..140_004;

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    if facts.intent.lab {
        return Err(Outcome::NotApplicable(
            "a lab server lives as long as its command".to_owned(),
        ));
    }
    let release = releases::of(postgres)?;
    let minor = postgres.version_num % 10_000;
    let newest = format!("{}.{}", release.major, release.newest_minor);
    let number = postgres
        .version
        .split_whitespace()
        .next()
        .unwrap_or_default();
    let is_trial = ["devel", "alpha", "beta", "rc"]
        .iter()
        .any(|word| number.contains(word));
    let is_services = postgres.managed_by.as_deref().is_some_and(is_service);
    let (severity, effect, message) = if is_trial {
        (
            Severity::Warn,
            Effect::Durability,
            format!("{number} is not a release: no data that matters belong on it"),
        )
    } else if LOSES_INDEX_ENTRIES.contains(&postgres.version_num) {
        (
            Severity::Critical,
            Effect::Durability,
            format!(
                "{}.{minor} can leave rows out of indexes that are built concurrently",
                release.major
            ),
        )
    } else if minor < release.newest_minor {
        (
            if is_services {
                Severity::Info
            } else {
                Severity::Warn
            },
            Effect::Operation,
            format!(
                "{}.{minor} is {} behind {newest}, the newest {}",
                release.major,
                plural((release.newest_minor - minor).into(), "minor release"),
                release.known_on.map_or(
                    "that this catalogue knows, of a day that was not noted".to_owned(),
                    |day| format!("known on {day}")
                )
            ),
        )
    } else {
        return Ok(Outcome::Ok);
    };
    let finding = Finding {
        effect,
        ..RULE.finding(message)
    };
    let action = if is_services {
        "have the service upgrade to the newest minor release that it offers".to_owned()
    } else {
        format!("install PostgreSQL {newest} or a newer minor release, then restart the server")
    };
    Ok(finding
        .severity(severity)
        .evidence("server_version", &postgres.version, "server_version")
        .host_action(action, Needs::Restart)
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, not_applicable, ok, postgres, unknown};
    use dbdyno_model::{Facts, Severity};

    fn running(version_num: u32, version: &str) -> Facts {
        let mut facts = healthy();
        let server = postgres(&mut facts);
        (server.version_num, server.version) = (version_num, version.into());
        facts
    }

    #[test]
    fn an_older_minor_release_is_found() {
        let finding = finding(&RULE, &running(150_015, "15.15 (Debian 15.15-0+deb12u1)"));
        let known_on = crate::postgres::releases::RELEASES[2].known_on.unwrap();
        assert_eq!(
            finding.message,
            format!("15.15 is 5 minor releases behind 15.20, the newest known on {known_on}")
        );
        assert_eq!(finding.severity, Severity::Warn);
    }

    #[test]
    fn a_service_is_asked_for_what_it_offers() {
        let mut facts = running(150_015, "15.15");
        postgres(&mut facts).managed_by = Some("Amazon RDS".into());
        let behind = finding(&RULE, &facts);
        assert_eq!(behind.severity, Severity::Info);
        assert!(behind.host_actions[0].action.contains("that it offers"));
        let server = postgres(&mut facts);
        (server.version_num, server.version) = (140_003, "14.3".into());
        assert_eq!(finding(&RULE, &facts).severity, Severity::Critical);
    }

    #[test]
    fn a_day_on_which_nobody_looked_is_not_named() {
        let message = finding(&RULE, &running(140_010, "14.10")).message;
        assert!(
            message.ends_with(
                "14.24, the newest that this catalogue knows, of a day that was not noted"
            ),
            "{message}"
        );
    }

    #[test]
    fn releases_that_lose_index_entries_are_critical() {
        let severity =
            |version_num, version: &str| finding(&RULE, &running(version_num, version)).severity;
        assert_eq!(severity(140_003, "14.3"), Severity::Critical);
        assert_eq!(severity(140_004, "14.4"), Severity::Warn);
    }

    #[test]
    fn what_is_no_release_is_found() {
        let finding = finding(&RULE, &running(180_000, "18beta2"));
        assert!(finding.message.starts_with("18beta2 is not a release"));
    }

    #[test]
    fn the_newest_and_what_is_newer_still_are_fine_and_a_lab_not_applicable() {
        ok(&RULE, &running(150_020, "15.20"));
        ok(&RULE, &running(150_021, "15.21"));
        ok(&RULE, &running(180_008, "18.8"));
        let mut facts = running(150_015, "15.15");
        facts.intent.lab = true;
        not_applicable(&RULE, &facts);
    }

    #[test]
    fn an_unknown_major_is_unknown() {
        assert!(unknown(&RULE, &running(200_001, "20.1")).starts_with("releases of PostgreSQL 20"));
    }
}
