//! Vacuum that is too slow for the tables that wait for it.
//!
//! ## What it finds
//! Tables past their vacuum threshold that would take more than an hour together at the rate at
//! which autovacuum may change pages; or tables whose rows die so fast that vacuum would have to
//! run more than all of the time to be done with each when it falls due again.
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
//! Servers whose tables are vacuumed in time; standbys. What is counted is an estimate: one page of
//! the table changed for each dead row, or all of them where those are fewer, none in the indexes, and
//! only the tables of the connected database that are read in full. A table with a cost limit or delay
//! of its own leaves the shared limit and is not counted, nor is one that autovacuum leaves alone.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/runtime-config-vacuum.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::postgres::{Postgres, Table};
use dbdyno_model::words::{plural, verb};
use dbdyno_model::{Facts, Outcome, Severity};

use super::schedule::schedule;
use super::tables;
use crate::formulas::vacuum::{io_rate_mib_s, utilisation};
use crate::formulas::{MIB, PAGE_BYTES};
use crate::postgres::machine::rotational;
use crate::postgres::settings::{self, SettingEvidence, value};
use crate::rule::{
    FindingExt, RecommendationExt, Rule, humane_bytes, need_ref, safe, server, settle,
};
use crate::scope::{ScopeExt, on_primary};

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
    on_primary(postgres, "vacuuming")?;
    let mut overdue = tables::overdue(postgres)?;
    overdue.retain(|table| !has_own_cost(table));
    let bytes: u64 = overdue.iter().map(|table| changed_bytes(table)).sum();
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
    let load = load(postgres, rate)?;
    let message = if seconds > LONG_S {
        format!(
            "{} with {} to change {} for vacuum, {:.1} hours of work at {rate:.1} MiB/s of changed pages",
            plural(overdue.len() as u64, "table"),
            humane_bytes(bytes),
            verb(overdue.len() as u64, "waits", "wait"),
            seconds / 3600.0
        )
    } else if load > 1.0 {
        format!(
            "at {rate:.1} MiB/s of changed pages vacuum needs {:.0} % of the time to keep up with the rows that die",
            load * 100.0
        )
    } else {
        return Ok(Outcome::Ok);
    };
    let solid = rotational(facts).get() == Some(false);
    let wanted = if solid { SOLID_LIMIT } else { OTHER_LIMIT };
    let mut finding = RULE
        .finding(message)
        .of_database(postgres)
        .shows(postgres, "autovacuum_vacuum_cost_limit")
        .shows(postgres, "autovacuum_vacuum_cost_delay")
        .evidence(
            "share of the time",
            format!("{:.0} %", load * 100.0),
            &postgres.tables.origin,
        );
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

/// Share of the time that vacuum has to run at this rate; tables whose rate is not known add
/// nothing.
fn load(postgres: &Postgres, rate_mib_s: f64) -> Result<f64, Outcome> {
    let mut work = Vec::new();
    for table in need_ref(&postgres.tables, "tables")? {
        let schedule = schedule(postgres, table)?;
        let Some(per_s) = schedule.dead_per_s.filter(|per_s| *per_s > 0.0) else {
            continue;
        };
        if has_own_cost(table) || !tables::is_taken_up(table) {
            continue;
        }
        let pages = tables::own_bytes(table) as f64 / PAGE_BYTES as f64;
        let changed_mib = pages.min(schedule.threshold) * PAGE_BYTES as f64 / MIB as f64;
        work.push((changed_mib / rate_mib_s, schedule.threshold / per_s));
    }
    Ok(utilisation(&work))
}

/// Pages of the table that vacuum has to change: those without dead rows it only passes, if at all.
fn changed_bytes(table: &Table) -> u64 {
    tables::own_bytes(table).min(table.dead_tuples.saturating_mul(PAGE_BYTES))
}

fn has_own_cost(table: &Table) -> bool {
    [
        "autovacuum_vacuum_cost_limit",
        "autovacuum_vacuum_cost_delay",
    ]
    .iter()
    .any(|name| tables::option(table, name).is_some())
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
    use crate::testing::{
        configure, finding, healthy, ok, postgres, unknown, with_statistics_of_days,
    };
    use dbdyno_model::finding::Want;
    use dbdyno_model::postgres::{Table, TableUsage};
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
        insta::assert_snapshot!(finding.message, @"1 table with 500 GiB to change waits for vacuum, 3.6 hours of work at 39.1 MiB/s of changed pages");
        assert_eq!(finding.recommendations.len(), 1);
        assert_eq!(finding.recommendations[0].want, Want::Value("1000".into()));
    }

    /// As `maintenance.vacuum_threshold` has it: a large table that is due after a million rows.
    #[test]
    fn few_dead_rows_of_a_large_table_are_no_hours_of_work() {
        let mut facts = waiting(500);
        let mut table = postgres(&mut facts).tables.value().unwrap()[0].clone();
        table.dead_tuples = 1_100_000;
        table.options = vec![
            "autovacuum_vacuum_scale_factor=0.001".into(),
            "autovacuum_vacuum_threshold=1000".into(),
        ];
        postgres(&mut facts).tables = Fact::known(vec![table], "pg_stat_user_tables");
        ok(&RULE, &facts);
    }

    #[test]
    fn what_has_a_limit_of_its_own_or_is_left_alone_does_not_wait() {
        for option in [
            "autovacuum_vacuum_cost_limit=2000",
            "autovacuum_enabled=false",
        ] {
            let mut facts = waiting(500);
            let mut table = postgres(&mut facts).tables.value().unwrap()[0].clone();
            table.options = vec![option.into()];
            postgres(&mut facts).tables = Fact::known(vec![table], "pg_stat_user_tables");
            ok(&RULE, &facts);
        }
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
    fn rows_that_die_faster_than_pages_may_be_changed_are_found() {
        // A threshold of 200,050 rows filled every 20 seconds: 78 MiB/s of pages at least.
        let mut facts = waiting(10);
        with_statistics_of_days(&mut facts, 1.0);
        let mut table = postgres(&mut facts).tables.value().unwrap()[0].clone();
        table.rows_estimate = Some(1e6);
        table.dead_tuples = 0;
        table.since_vacuum_s = Some(5.0);
        table.pages = Some(500_000);
        table.usage = Some(TableUsage {
            deleted: 86_400 * 10_000,
            ..TableUsage::default()
        });
        postgres(&mut facts).tables = Fact::known(vec![table.clone()], "pg_stat_user_tables");
        insta::assert_snapshot!(finding(&RULE, &facts).message, @"at 39.1 MiB/s of changed pages vacuum needs 200 % of the time to keep up with the rows that die");
        // Nobody has counted its pages: its size tells them.
        table.pages = Some(0);
        postgres(&mut facts).tables = Fact::known(vec![table.clone()], "pg_stat_user_tables");
        assert!(finding(&RULE, &facts).message.contains("needs 200 %"));
        table.options = vec!["autovacuum_vacuum_cost_limit=2000".into()];
        postgres(&mut facts).tables = Fact::known(vec![table], "pg_stat_user_tables");
        ok(&RULE, &facts);
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
