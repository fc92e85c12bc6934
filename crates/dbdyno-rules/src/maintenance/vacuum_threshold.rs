//! Large tables that wait for millions of dead rows.
//!
//! ## What it finds
//! A table that becomes due for autovacuum only after more than a million dead rows and already has
//! a tenth of them. It is a hint, and a warning where these rows will be 10 GiB or a hundred million: in a
//! table at the defaults they are a fifth of it, which is what autovacuum is meant to leave.
//!
//! ## Why it matters
//! The default threshold is a fifth of the table: 100 million dead rows in a table of 500 million.
//! Until then every scan reads them, and the vacuum that follows runs for hours. Of a smaller table it
//! is minutes. How long the next vacuum is away does not make it worse by itself: rows that die slowly
//! take no more room.
//!
//! ## What to do
//! Per table, set `autovacuum_vacuum_scale_factor` so that an hour's dead rows make it due, a
//! million at most and a hundred thousand at least, with a base of 1,000. Small tables keep the
//! default.
//!
//! ## Risk
//! None to data. The table is vacuumed more often, for a shorter time.
//!
//! ## When it does not apply
//! Tables that hardly change; standbys, where the primary vacuums. From PostgreSQL 18
//! `autovacuum_vacuum_max_threshold` bounds the threshold at 100 million.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/routine-vacuuming.html>
//! - <https://www.postgresql.org/docs/current/runtime-config-vacuum.html>

use dbdyno_model::check::DueFor;
use dbdyno_model::finding::{Confidence, Statement};
use dbdyno_model::postgres::Table;
use dbdyno_model::{Facts, Outcome, Severity};

use super::schedule::{Schedule, schedule};
use super::tables;
use crate::formulas::GIB;
use crate::formulas::vacuum::scale_factor_for;
use crate::rule::{FindingExt, Rule, humane_bytes, humane_number, need_ref, server, settle};
use crate::scope::{HOUR_S, LISTED, ScopeExt, humane_time, on_primary};
use crate::sql::{StatementExt, statement};

pub(super) const RULE: Rule = Rule {
    id: "maintenance.vacuum_threshold",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &[
        "https://www.postgresql.org/docs/current/routine-vacuuming.html",
        "https://www.postgresql.org/docs/current/runtime-config-vacuum.html",
    ],
    check,
    source_text: include_str!("vacuum_threshold.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

/// Dead rows that a table should not collect more of.
const TARGET_ROWS: f64 = 1e6;
const TARGET_BASE: f64 = 1000.0;

/// Dead rows that take hours to remove, by their room or by their number: where 18 bounds the threshold.
const MUCH_BYTES: f64 = 10.0 * GIB as f64;
const MANY_ROWS: f64 = 1e8;

/// Fewer are no reason to read every index of a large table.
const LEAST_TARGET_ROWS: f64 = 1e5;

/// Share of the threshold that shows that the table does change.
const CHANGING_SHARE: f64 = 0.1;

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    on_primary(postgres, "vacuuming")?;
    let tables = need_ref(&postgres.tables, "tables")?;
    let mut late: Vec<(&Table, Schedule)> = Vec::new();
    for table in tables {
        let schedule = schedule(postgres, table)?;
        if schedule.threshold > TARGET_ROWS
            && table.dead_tuples as f64 > schedule.threshold * CHANGING_SHARE
        {
            late.push((table, schedule));
        }
    }
    late.sort_by(|a, b| {
        let is_much = |one: &(&Table, Schedule)| is_much(one.0, &one.1);
        is_much(b)
            .cmp(&is_much(a))
            .then_with(|| b.1.threshold.total_cmp(&a.1.threshold))
            .then_with(|| tables::name(a.0).cmp(&tables::name(b.0)))
    });
    let Some((worst, schedule)) = late.first() else {
        return Ok(Outcome::Ok);
    };
    let origin = &postgres.tables.origin;
    let severity = if is_much(worst, schedule) {
        RULE.severity
    } else {
        Severity::Info
    };
    let mut finding = RULE
        .finding(format!(
            "{} is vacuumed only after {:.1} million dead rows; it has {:.1} million",
            tables::name(worst),
            schedule.threshold / 1e6,
            worst.dead_tuples as f64 / 1e6
        ))
        .severity(severity)
        .of_database(postgres);
    for (table, schedule) in late.iter().take(LISTED) {
        finding = finding
            .evidence(
                format!("threshold of {}", tables::name(table)),
                described(table, schedule),
                origin,
            )
            .statement(sooner(table, schedule));
    }
    Ok(finding
        .and_more(late.len().saturating_sub(LISTED), "such table", origin)
        .into_outcome())
}

/// What the dead rows will take when the table is due, by what its rows take now.
fn waste_bytes(table: &Table, schedule: &Schedule) -> f64 {
    let rows = tables::rows(table) + table.dead_tuples as f64;
    tables::own_bytes(table) as f64 / rows.max(1.0) * schedule.threshold
}

fn is_much(table: &Table, schedule: &Schedule) -> bool {
    schedule.threshold >= MANY_ROWS || waste_bytes(table, schedule) >= MUCH_BYTES
}

/// `100000050 rows (9.3 GiB), 40000000 dead, due in 3 days at 230 dead rows a second`.
fn described(table: &Table, schedule: &Schedule) -> String {
    let bytes = waste_bytes(table, schedule) as u64;
    let room = match bytes {
        0 => String::new(),
        _ => format!(" ({})", humane_bytes(bytes)),
    };
    let mut text = format!(
        "{:.0} rows{room}, {} dead",
        schedule.threshold, table.dead_tuples
    );
    let is_for_inserts = schedule
        .due
        .is_some_and(|due| due.rows == DueFor::InsertedRows);
    if let Some(due) = schedule.due {
        text += &format!(", due in {}", humane_time(due.in_s));
    }
    if is_for_inserts {
        text += " for inserted rows";
    }
    if let Some(per_s) = schedule.dead_per_s {
        let joint = if is_for_inserts { "," } else { " at" };
        text += &format!("{joint} {} dead rows a second", humane_number(per_s));
    }
    text
}

fn sooner(table: &Table, schedule: &Schedule) -> Statement {
    let target = schedule.dead_per_s.map_or(TARGET_ROWS, |per_s| {
        (per_s * HOUR_S).clamp(LEAST_TARGET_ROWS, TARGET_ROWS)
    });
    let scale = scale_factor_for(target, TARGET_BASE, tables::rows(table));
    // A share that small is written better as a number of rows.
    let base = if scale > 0.0 { TARGET_BASE } else { target };
    statement(
        format!(
            "ALTER TABLE {} SET (autovacuum_vacuum_scale_factor = {scale}, autovacuum_vacuum_threshold = {base:.0})",
            tables::name(table)
        ),
        format!("vacuum it after {target:.0} dead rows, in less time each"),
    )
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, ok, postgres, set, unknown, with_statistics_of_days};
    use dbdyno_model::postgres::Table;
    use dbdyno_model::{Fact, Facts, Severity};

    fn with_table(rows: f64, dead: u64, options: &[&str]) -> Facts {
        let mut facts = healthy();
        let table = Table {
            schema: "public".into(),
            name: "history".into(),
            rows_estimate: Some(rows),
            dead_tuples: dead,
            options: options.iter().map(|option| (*option).into()).collect(),
            ..Table::default()
        };
        postgres(&mut facts).tables = Fact::known(vec![table], "pg_stat_user_tables");
        facts
    }

    #[test]
    fn a_large_table_is_found_with_the_line_that_mends_it() {
        let finding = finding(&RULE, &with_table(500e6, 40_000_000, &[]));
        insta::assert_snapshot!(finding.message, @"public.history is vacuumed only after 100.0 million dead rows; it has 40.0 million");
        assert_eq!(finding.severity, Severity::Warn);
        insta::assert_snapshot!(finding.statements[0].sql, @"ALTER TABLE public.history SET (autovacuum_vacuum_scale_factor = 0.002, autovacuum_vacuum_threshold = 1000)");
    }

    #[test]
    fn a_slow_table_gets_an_hour_s_rows_and_a_huge_one_a_number() {
        let mut facts = with_table(500e6, 20_000_000, &[]);
        with_statistics_of_days(&mut facts, 30.0);
        let mut table = postgres(&mut facts).tables.value().unwrap()[0].clone();
        table.since_vacuum_s = Some(2e5);
        table.dead_tuples = 20_000_000;
        postgres(&mut facts).tables = Fact::known(vec![table.clone()], "pg_stat_user_tables");
        let found = finding(&RULE, &facts);
        insta::assert_snapshot!(found.evidence[1].value, @"100000050 rows, 20000000 dead, due in 9.3 days at 100 dead rows a second");
        insta::assert_snapshot!(found.statements[0].sql, @"ALTER TABLE public.history SET (autovacuum_vacuum_scale_factor = 0.0007, autovacuum_vacuum_threshold = 1000)");
        table.rows_estimate = Some(2e10);
        table.dead_tuples = 2_000_000_000;
        table.since_vacuum_s = Some(2e9);
        postgres(&mut facts).tables = Fact::known(vec![table], "pg_stat_user_tables");
        with_statistics_of_days(&mut facts, 30_000.0);
        let found = finding(&RULE, &facts);
        let sql = &found.statements[0].sql;
        assert!(
            sql.contains("scale_factor = 0, autovacuum_vacuum_threshold = 100000)"),
            "{sql}"
        );
    }

    /// Two million rows of 100 bytes are 200 MB: what the default leaves in any table of that size.
    #[test]
    fn dead_rows_that_take_little_room_are_a_hint() {
        let facts_of = |pages: u64| {
            let mut facts = with_table(10e6, 1_000_000, &[]);
            let mut table = postgres(&mut facts).tables.value().unwrap()[0].clone();
            table.pages = Some(pages);
            postgres(&mut facts).tables = Fact::known(vec![table], "pg_class");
            facts
        };
        let found = finding(&RULE, &facts_of(134_277));
        assert_eq!(found.severity, Severity::Info);
        insta::assert_snapshot!(found.evidence[1].value, @"2000050 rows (190.7 MiB), 1000000 dead");
        // As many rows of six kilobytes.
        let found = finding(&RULE, &facts_of(8_000_000));
        assert_eq!(found.severity, Severity::Warn);
    }

    /// The one that costs more comes first, though the other one waits for more rows.
    #[test]
    fn the_table_that_wastes_most_is_named() {
        let mut facts = with_table(50e6, 5_000_000, &[]);
        let narrow = postgres(&mut facts).tables.value().unwrap()[0].clone();
        let wide = Table {
            name: "documents".into(),
            rows_estimate: Some(10e6),
            dead_tuples: 1_000_000,
            pages: Some(8_000_000),
            ..narrow.clone()
        };
        postgres(&mut facts).tables = Fact::known(vec![narrow, wide], "pg_class");
        let found = finding(&RULE, &facts);
        assert!(found.message.starts_with("public.documents"), "{found:?}");
        assert_eq!(found.severity, Severity::Warn);
        assert_eq!(found.statements.len(), 2);
    }

    #[test]
    fn small_quiet_and_tuned_tables_are_fine() {
        ok(&RULE, &with_table(1e6, 190_000, &[]));
        ok(&RULE, &with_table(500e6, 1000, &[]));
        let tuned = ["autovacuum_vacuum_scale_factor=0.001"];
        ok(&RULE, &with_table(500e6, 40_000_000, &tuned));
    }

    #[test]
    fn the_bound_of_18_is_respected() {
        let mut facts = with_table(5e9, 50_000_000, &[]);
        set(&mut facts, "autovacuum_vacuum_max_threshold", "100000000");
        assert!(
            finding(&RULE, &facts)
                .message
                .contains("after 100.0 million")
        );
        set(&mut facts, "autovacuum_vacuum_max_threshold", "1000000");
        ok(&RULE, &facts);
    }

    #[test]
    fn unread_tables_are_unknown() {
        let mut facts = healthy();
        postgres(&mut facts).tables = Fact::default();
        unknown(&RULE, &facts);
    }
}
