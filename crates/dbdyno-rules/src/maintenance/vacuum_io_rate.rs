//! Vacuum that is too slow for the tables that wait for it.
//!
//! ## What it finds
//! Tables past their vacuum threshold that would take more than an hour together at the rate at
//! which autovacuum may change pages.
//!
//! ## Why it matters
//! Autovacuum sleeps whenever it has used up its cost limit. At the defaults it changes at most 39
//! MiB a second, shared by all workers, and with the 20 ms delay of old configurations 3.9. Where
//! rows die faster than that, it never catches up.
//!
//! ## What to do
//! Raise `autovacuum_vacuum_cost_limit` to 1,000 (195 MiB/s of changed pages) on solid-state
//! storage and 400 elsewhere, with a delay of 2 ms. Keep it under a third of what the storage can
//! write; never set the delay to 0.
//!
//! ## Risk
//! None to data. Vacuum takes a larger share of the storage.
//!
//! ## When it does not apply
//! Servers whose tables are vacuumed in time.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/runtime-config-vacuum.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::postgres::Postgres;
use dbdyno_model::{Facts, Outcome, Severity};

use super::tables;
use crate::formulas::MIB;
use crate::formulas::vacuum::io_rate_mib_s;
use crate::postgres::machine::rotational;
use crate::postgres::settings::{self, SettingEvidence, value};
use crate::rule::{FindingExt, RecommendationExt, Rule, humane_bytes, safe, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "maintenance.vacuum_io_rate",
    severity: Severity::Warn,
    confidence: Confidence::Medium,
    sources: &["https://www.postgresql.org/docs/current/runtime-config-vacuum.html"],
    check,
    source_text: include_str!("vacuum_io_rate.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

const LONG_S: f64 = 3600.0;
const WANTED_DELAY_S: f64 = 0.002;
const SOLID_LIMIT: f64 = 1000.0;
const OTHER_LIMIT: f64 = 400.0;

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    let overdue = tables::overdue(postgres)?;
    let bytes: u64 = overdue.iter().map(|table| table.size_bytes).sum();
    let delay = automatic(
        postgres,
        "autovacuum_vacuum_cost_delay",
        "vacuum_cost_delay",
    )?;
    let limit = tables::cost_limit(postgres)?;
    let dirty = settings::number(postgres, "vacuum_cost_page_dirty")?;
    let Some(rate) = io_rate_mib_s(delay * 1000.0, limit, dirty) else {
        return Ok(Outcome::Ok);
    };
    let seconds = bytes as f64 / MIB as f64 / rate;
    if seconds <= LONG_S {
        return Ok(Outcome::Ok);
    }
    let solid = rotational(facts).get() == Some(false);
    let wanted = if solid { SOLID_LIMIT } else { OTHER_LIMIT };
    let mut finding = RULE
        .finding(format!(
            "{} table(s) with {} wait for vacuum, {:.1} hours of work at {rate:.1} MiB/s of changed pages",
            overdue.len(),
            humane_bytes(bytes),
            seconds / 3600.0
        ))
        .shows(postgres, "autovacuum_vacuum_cost_limit")
        .shows(postgres, "autovacuum_vacuum_cost_delay");
    let cost = "a larger share of the storage while vacuum runs";
    if limit < wanted {
        let why = "vacuum keeps up with the rows that die";
        let limit = safe(
            "autovacuum_vacuum_cost_limit",
            value(wanted.to_string()),
            why,
        );
        finding = finding.recommend(limit.giving_up(cost));
    }
    if delay > WANTED_DELAY_S {
        let why = "the delay of present versions";
        let delay = safe("autovacuum_vacuum_cost_delay", value("2ms"), why);
        finding = finding.recommend(delay.giving_up(cost));
    }
    Ok(finding.into_outcome())
}

/// −1 stands for the setting of manual vacuums.
fn automatic(postgres: &Postgres, own: &str, manual: &str) -> Result<f64, Outcome> {
    let value = settings::number(postgres, own)?;
    if value < 0.0 {
        settings::number(postgres, manual)
    } else {
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{configure, finding, healthy, ok, postgres, unknown};
    use dbdyno_model::finding::Want;
    use dbdyno_model::postgres::Table;
    use dbdyno_model::{Fact, Facts};

    fn waiting(gib: u64) -> Facts {
        let mut facts = healthy();
        let table = Table {
            schema: "public".into(),
            name: "history".into(),
            size_bytes: gib << 30,
            rows_estimate: Some(1e9),
            dead_tuples: 300_000_000,
            ..Table::default()
        };
        postgres(&mut facts).tables = Fact::known(vec![table], "pg_stat_user_tables");
        facts
    }

    #[test]
    fn hours_of_backlog_are_found() {
        let finding = finding(&RULE, &waiting(500));
        insta::assert_snapshot!(finding.message, @"1 table(s) with 500 GiB wait for vacuum, 3.6 hours of work at 39.1 MiB/s of changed pages");
        assert_eq!(finding.recommendations.len(), 1);
        assert_eq!(finding.recommendations[0].want, Want::Value("1000".into()));
    }

    #[test]
    fn the_delay_of_old_configurations_is_found_sooner() {
        ok(&RULE, &waiting(50));
        let mut facts = waiting(50);
        configure(&mut facts, "autovacuum_vacuum_cost_delay", "20");
        let finding = finding(&RULE, &facts);
        assert!(finding.message.contains("3.9 MiB/s"), "{}", finding.message);
        assert_eq!(finding.recommendations.len(), 2);
    }

    #[test]
    fn storage_that_is_not_known_to_be_solid_gets_less() {
        let mut facts = waiting(500);
        facts.host = None;
        assert_eq!(
            finding(&RULE, &facts).recommendations[0].want,
            Want::Value("400".into())
        );
    }

    #[test]
    fn nothing_waiting_or_nothing_braked_is_fine() {
        ok(&RULE, &healthy());
        let mut facts = waiting(500);
        configure(&mut facts, "autovacuum_vacuum_cost_delay", "0");
        ok(&RULE, &facts);
    }

    #[test]
    fn unread_tables_are_unknown() {
        let mut facts = healthy();
        postgres(&mut facts).tables = Fact::default();
        unknown(&RULE, &facts);
    }
}
