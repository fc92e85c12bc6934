//! When autovacuum starts on a table and how fast it may then read and write.

use super::{MIB, PAGE_BYTES};

/// Dead (or changed, or inserted) rows from which a table is due: `base + scale · rows`, and from
/// PostgreSQL 18 at most `autovacuum_vacuum_max_threshold`.
///
/// Source: <https://www.postgresql.org/docs/current/routine-vacuuming.html>
pub fn threshold_rows(base: f64, scale: f64, rows: f64, max: Option<f64>) -> f64 {
    let threshold = base + scale * rows.max(0.0);
    // A negative maximum switches the limit off.
    max.filter(|max| *max >= 0.0)
        .map_or(threshold, |max| threshold.min(max))
}

/// Scale factor that makes a table due at about `target_rows` dead rows, never above the default.
///
/// Source: <https://www.postgresql.org/docs/current/routine-vacuuming.html>
pub fn scale_factor_for(target_rows: f64, base: f64, rows: f64) -> f64 {
    if rows <= 0.0 {
        return 0.2;
    }
    let exact = ((target_rows - base) / rows).clamp(0.0, 0.2);
    // Four digits: what a person would write.
    (exact * 10_000.0).round() / 10_000.0
}

/// Inserted rows from which a table is due for a vacuum that freezes: like `threshold_rows`, and
/// from PostgreSQL 18 by the share of its pages that is not frozen yet.
///
/// Source: <https://www.postgresql.org/docs/current/routine-vacuuming.html>
pub fn insert_threshold_rows(base: f64, scale: f64, rows: f64, unfrozen_share: f64) -> f64 {
    base + scale * rows.max(0.0) * unfrozen_share.clamp(0.0, 1.0)
}

/// Seconds until a count that grows this fast reaches its threshold; none where it does not grow.
pub fn due_in_s(threshold: f64, present: f64, per_s: f64) -> Option<f64> {
    if present >= threshold {
        return Some(0.0);
    }
    (per_s > 0.0).then(|| (threshold - present) / per_s)
}

/// Seconds between two launches of a worker: each database gets one every naptime.
///
/// Source: Tuning Autovacuum in PostgreSQL and Autovacuum Internals, Percona blog, 2018-08-10
pub fn launch_gap_s(naptime_s: f64, databases: f64) -> f64 {
    naptime_s / databases.max(1.0)
}

/// Share of the time that vacuum has to run so that every table is vacuumed as often as it falls
/// due: each table's pages at the rate that all workers share, over the time in which it collects
/// a threshold of dead rows. Above 1 it never catches up.
///
/// Source: derived from the rate above
pub fn utilisation(tables: &[(f64, f64)]) -> f64 {
    tables
        .iter()
        .filter(|(_, interval_s)| *interval_s > 0.0)
        .map(|(vacuum_s, interval_s)| vacuum_s / interval_s)
        .sum()
}

/// Highest rate in MiB/s at which vacuum may touch pages of one kind, by what such a page costs;
/// none where the delay is 0 and nothing holds it back. All workers share it.
///
/// Source: <https://www.postgresql.org/docs/current/runtime-config-vacuum.html>
pub fn io_rate_mib_s(cost_delay_ms: f64, cost_limit: f64, page_cost: f64) -> Option<f64> {
    if cost_delay_ms <= 0.0 || page_cost <= 0.0 {
        return None;
    }
    let pages_per_s = 1000.0 / cost_delay_ms * (cost_limit / page_cost);
    Some(pages_per_s * PAGE_BYTES as f64 / MIB as f64)
}

#[cfg(test)]
mod tests {
    use super::{
        due_in_s, insert_threshold_rows, io_rate_mib_s, launch_gap_s, scale_factor_for,
        threshold_rows, utilisation,
    };

    #[test]
    fn a_thousand_rows_are_due_at_250_dead_and_150_changed() {
        assert_eq!(threshold_rows(50.0, 0.2, 1000.0, None), 250.0);
        assert_eq!(threshold_rows(50.0, 0.1, 1000.0, None), 150.0);
        assert_eq!(threshold_rows(1000.0, 0.2, 1000.0, None), 1200.0);
    }

    #[test]
    fn eighteen_caps_the_threshold_and_minus_one_lifts_the_cap() {
        assert_eq!(threshold_rows(50.0, 0.2, 1e9, Some(1e8)), 1e8);
        assert_eq!(threshold_rows(50.0, 0.2, 1e9, Some(-1.0)), 200_000_050.0);
    }

    #[test]
    fn inserts_count_for_what_is_not_frozen() {
        assert_eq!(insert_threshold_rows(1000.0, 0.2, 1000.0, 1.0), 1200.0);
        assert_eq!(insert_threshold_rows(1000.0, 0.2, 1e6, 0.1), 21_000.0);
    }

    #[test]
    fn three_databases_share_the_naptime_of_a_minute() {
        assert_eq!(launch_gap_s(60.0, 3.0), 20.0);
        assert_eq!(launch_gap_s(60.0, 0.0), 60.0);
    }

    #[test]
    fn a_table_is_due_when_its_rate_has_filled_the_threshold() {
        assert_eq!(due_in_s(250.0, 50.0, 2.0), Some(100.0));
        assert_eq!(due_in_s(250.0, 300.0, 0.0), Some(0.0));
        assert_eq!(due_in_s(250.0, 50.0, 0.0), None);
    }

    #[test]
    fn vacuum_that_takes_longer_than_its_interval_never_ends() {
        // An hour's work each two hours, and half an hour's each hour.
        assert_eq!(utilisation(&[(3600.0, 7200.0), (1800.0, 3600.0)]), 1.0);
        assert_eq!(utilisation(&[(10.0, 0.0)]), 0.0);
    }

    #[test]
    fn the_scale_factor_meets_its_target_and_never_rises_above_the_default() {
        let scale = scale_factor_for(1e6, 1000.0, 50e6);
        assert_eq!(scale, 0.02);
        assert!((threshold_rows(1000.0, scale, 50e6, None) - 1e6).abs() < 5000.0);
        assert_eq!(scale_factor_for(1e6, 1000.0, 10.0), 0.2);
        assert_eq!(scale_factor_for(1e6, 1000.0, 0.0), 0.2);
    }

    #[test]
    fn the_documented_rates() {
        let rate = |delay, cost| io_rate_mib_s(delay, 200.0, cost).unwrap();
        // 14 and later: a miss costs 2.
        assert_eq!(rate(2.0, 1.0).round(), 781.0);
        assert_eq!(rate(2.0, 2.0).round(), 391.0);
        assert_eq!(rate(2.0, 20.0).round(), 39.0);
        // 12 and 13: a miss costs 10.
        assert_eq!(rate(2.0, 10.0).round(), 78.0);
        // Before 12, and configurations carried over from then: 20 ms.
        assert_eq!((rate(20.0, 1.0) * 10.0).round(), 781.0);
        assert_eq!((rate(20.0, 10.0) * 10.0).round(), 78.0);
        assert_eq!((rate(20.0, 20.0) * 10.0).round(), 39.0);
        assert_eq!(io_rate_mib_s(0.0, 200.0, 20.0), None);
    }
}
