//! When a table is due for vacuum next, at the rate at which its rows have died so far.

use dbdyno_model::Outcome;
use dbdyno_model::check::DueFor;
use dbdyno_model::postgres::{Postgres, Table};

use super::tables;
use crate::formulas::vacuum::{due_in_s, insert_threshold_rows};
use crate::scope::primary_age_s;

/// A rate over less says little of the next hours.
const LEAST_S: f64 = 600.0;

/// When and why a table is vacuumed next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Schedule {
    /// Dead rows from which it is due.
    pub(super) threshold: f64,
    /// None where the counters are too young.
    pub(super) dead_per_s: Option<f64>,
    /// For dead or for inserted rows, whichever comes first; none where neither grows.
    pub(super) due: Option<Due>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Due {
    pub(super) in_s: f64,
    pub(super) rows: DueFor,
    /// So many of them.
    pub(super) threshold: f64,
}

pub(super) fn schedule(postgres: &Postgres, table: &Table) -> Result<Schedule, Outcome> {
    let threshold = tables::vacuum_threshold(postgres, table)?;
    let dead_per_s = dead_per_s(postgres, table);
    let dead_in_s =
        dead_per_s.and_then(|per_s| due_in_s(threshold, table.dead_tuples as f64, per_s));
    let for_dead = dead_in_s.map(|in_s| Due {
        in_s,
        rows: DueFor::DeadRows,
        threshold,
    });
    let due = [for_dead, for_inserts(postgres, table)?]
        .into_iter()
        .flatten()
        .min_by(|a, b| a.in_s.total_cmp(&b.in_s));
    Ok(Schedule {
        threshold,
        dead_per_s,
        due,
    })
}

/// Dead rows that a second leaves behind: what lies there now over the time since the last vacuum;
/// right after one, what was updated and deleted over the time since the counters began, which
/// counts rows too that pages rid themselves of.
pub(super) fn dead_per_s(postgres: &Postgres, table: &Table) -> Option<f64> {
    let since = since_vacuum_s(postgres, table)?;
    if since >= LEAST_S {
        return Some(table.dead_tuples as f64 / since);
    }
    let usage = table.usage.as_ref()?;
    let age = primary_age_s(postgres).filter(|age| *age >= LEAST_S)?;
    Some(usage.updated.saturating_add(usage.deleted) as f64 / age)
}

/// Counters never reach further back than the statistics do.
fn since_vacuum_s(postgres: &Postgres, table: &Table) -> Option<f64> {
    match (table.since_vacuum_s, primary_age_s(postgres)) {
        (Some(since), Some(age)) => Some(since.min(age)),
        (None, Some(age)) if table.never_vacuumed => Some(age),
        (since, _) => since,
    }
}

/// A vacuum that is due for inserted rows alone.
fn for_inserts(postgres: &Postgres, table: &Table) -> Result<Option<Due>, Outcome> {
    let base = tables::own_or_server(postgres, table, "autovacuum_vacuum_insert_threshold")?;
    let scale = tables::own_or_server(postgres, table, "autovacuum_vacuum_insert_scale_factor")?;
    let (Some(inserted), Some(since)) = (
        table.inserted_since_vacuum,
        since_vacuum_s(postgres, table).filter(|since| *since >= LEAST_S),
    ) else {
        return Ok(None);
    };
    // −1 switches it off.
    if base < 0.0 {
        return Ok(None);
    }
    let unfrozen = match (table.frozen_pages, table.pages) {
        (Some(frozen), Some(pages)) if pages > 0 => 1.0 - frozen as f64 / pages as f64,
        _ => 1.0,
    };
    let threshold = insert_threshold_rows(base, scale, tables::rows_for_threshold(table), unfrozen);
    let inserted = inserted as f64;
    let in_s = due_in_s(threshold, inserted, inserted / since);
    Ok(in_s.map(|in_s| Due {
        in_s,
        rows: DueFor::InsertedRows,
        threshold,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{healthy, with_statistics_of_days};
    use dbdyno_model::Facts;
    use dbdyno_model::postgres::TableUsage;

    fn table(dead: u64, since_vacuum_s: Option<f64>) -> Table {
        Table {
            schema: "public".into(),
            name: "t".into(),
            rows_estimate: Some(1_000_000.0),
            dead_tuples: dead,
            never_vacuumed: since_vacuum_s.is_none(),
            since_vacuum_s,
            ..Table::default()
        }
    }

    fn server(days: f64) -> Facts {
        let mut facts = healthy();
        with_statistics_of_days(&mut facts, days);
        facts
    }

    fn due(facts: &Facts, table: &Table) -> Option<f64> {
        schedule(facts.postgres.as_ref().unwrap(), table)
            .unwrap()
            .due
            .map(|due| due.in_s)
    }

    #[test]
    fn what_died_since_the_last_vacuum_says_when_the_next_one_is() {
        // 100,025 dead rows in 1000 s are half of the threshold.
        let half = table(100_025, Some(1000.0));
        assert!((due(&server(2.0), &half).unwrap() - 1000.0).abs() < 1e-6);
        assert_eq!(due(&server(2.0), &table(300_000, Some(1000.0))), Some(0.0));
        assert_eq!(due(&server(2.0), &table(0, Some(1000.0))), None);
    }

    #[test]
    fn statistics_that_were_reset_after_the_vacuum_shorten_the_time() {
        let old = table(86_400, Some(10.0 * 86_400.0));
        let facts = server(1.0);
        assert_eq!(
            dead_per_s(facts.postgres.as_ref().unwrap(), &old),
            Some(1.0)
        );
        let never = table(86_400, None);
        assert_eq!(
            dead_per_s(facts.postgres.as_ref().unwrap(), &never),
            Some(1.0)
        );
    }

    #[test]
    fn right_after_a_vacuum_the_long_run_counts() {
        let mut fresh = table(5, Some(3.0));
        let facts = server(1.0);
        let postgres = facts.postgres.as_ref().unwrap();
        assert_eq!(dead_per_s(postgres, &fresh), None);
        fresh.usage = Some(TableUsage {
            updated: 86_400,
            deleted: 86_400,
            ..TableUsage::default()
        });
        assert_eq!(dead_per_s(postgres, &fresh), Some(2.0));
    }

    #[test]
    fn inserts_make_a_table_due_too_and_frozen_pages_do_not_count() {
        let mut log = table(0, Some(1000.0));
        log.inserted_since_vacuum = Some(100_500);
        assert!((due(&server(2.0), &log).unwrap() - 1000.0).abs() < 1e-6);
        log.pages = Some(1000);
        log.frozen_pages = Some(1000);
        assert_eq!(due(&server(2.0), &log), Some(0.0));
        log.options = vec!["autovacuum_vacuum_insert_threshold=-1".into()];
        assert_eq!(due(&server(2.0), &log), None);
    }
}
