//! Pages that did not read as they were written.
//!
//! ## What it finds
//! Any checksum failure that the server has counted, in any database.
//!
//! ## Why it matters
//! Something between the server and the disk changed data: a drive, a controller, memory, a driver.
//! It rarely stays with one page, and backups taken since may hold it.
//!
//! ## What to do
//! Keep a copy of the data directory as it is. Find the page in the server's log, and the table or
//! index with `pg_amcheck`. An index can be rebuilt; for a table, restore from a backup from before
//! the failure, or promote a replica that does not have it. Then have drives and memory tested.
//!
//! ## Risk
//! None in looking. Never set `zero_damaged_pages` without a copy: it throws away what is on them.
//!
//! ## When it does not apply
//! Servers without data checksums, which would not notice.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/monitoring-stats.html>
//! - <https://www.postgresql.org/docs/current/checksums.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::postgres::DatabaseCounters;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use super::{load, settings};
use crate::rule::{FindingExt, Rule, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "postgres.checksum_failures",
    severity: Severity::Critical,
    confidence: Confidence::High,
    sources: &[
        "https://www.postgresql.org/docs/current/monitoring-stats.html",
        "https://www.postgresql.org/docs/current/checksums.html",
    ],
    check,
    source_text: include_str!("checksum_failures.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    if !settings::flag(postgres, "data_checksums")? {
        return Err(Outcome::NotApplicable(
            "data_checksums is off: damage is not noticed".to_owned(),
        ));
    }
    let all = load::latest(&postgres.database_counters, "checksum failures")?;
    let damaged: Vec<(&DatabaseCounters, u64)> = all
        .iter()
        .filter_map(|one| Some((one, one.checksum_failures.filter(|count| *count > 0)?)))
        .collect();
    if damaged.is_empty() {
        return Ok(Outcome::Ok);
    }
    let names: Vec<String> = damaged
        .iter()
        .map(|(one, count)| format!("{count} in {}", name(one)))
        .collect();
    let mut finding = RULE
        .finding(format!(
            "pages did not read as they were written: {}",
            names.join(", ")
        ))
        .keeps_data();
    for (one, count) in &damaged {
        let last = one.checksum_last_failure.as_deref().unwrap_or("unknown");
        finding = finding.evidence(
            format!("checksum failures in {}", name(one)),
            format!("{count}, last {last}"),
            "pg_stat_database",
        );
    }
    Ok(finding
        .host_action(
            "copy the data directory as it is, then find what is damaged: the server's log and pg_amcheck",
            Needs::Online,
        )
        .into_outcome())
}

fn name(one: &DatabaseCounters) -> &str {
    one.name.as_deref().unwrap_or("what all databases share")
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, not_applicable, ok, postgres, set, unknown};
    use dbdyno_model::postgres::DatabaseCounters;
    use dbdyno_model::{Fact, Facts};

    fn counted(failures: &[(Option<&str>, u64)]) -> Facts {
        let mut facts = healthy();
        set(&mut facts, "data_checksums", "on");
        let all = failures
            .iter()
            .map(|(name, failures)| DatabaseCounters {
                name: name.map(str::to_owned),
                checksum_failures: Some(*failures),
                checksum_last_failure: Some("2026-11-20T03:12:09Z".into()),
                ..DatabaseCounters::default()
            })
            .collect();
        postgres(&mut facts).database_counters.after = Fact::known(all, "pg_stat_database");
        facts
    }

    #[test]
    fn every_database_counts_and_what_they_share_too() {
        let finding = finding(
            &RULE,
            &counted(&[(None, 1), (Some("crm"), 0), (Some("shop"), 3)]),
        );
        assert_eq!(
            finding.message,
            "pages did not read as they were written: 1 in what all databases share, 3 in shop"
        );
        assert_eq!(finding.evidence[1].value, "3, last 2026-11-20T03:12:09Z");
    }

    #[test]
    fn no_failure_is_fine() {
        ok(&RULE, &counted(&[(Some("shop"), 0)]));
    }

    #[test]
    fn without_checksums_it_is_not_applicable_and_without_counters_unknown() {
        not_applicable(&RULE, &healthy());
        let mut facts = healthy();
        set(&mut facts, "data_checksums", "on");
        assert_eq!(unknown(&RULE, &facts), "checksum failures: not collected");
    }
}
