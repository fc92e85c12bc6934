//! Lines of progress: what is going on, how long it took and will take, and what it says so far.
//!
//! One line each and no line feed: a terminal overwrites it, a log appends it.

use dbdyno_stats::{interval_of_log_ratios, smallest_detectable_effect};

use crate::number;
use crate::text::plural;

/// `loading 10 warehouses: 12 s, about 40 s left`; without an end in sight, only the time taken.
#[must_use]
pub fn phase_line(phase: &str, elapsed_s: f64, remaining_s: Option<f64>) -> String {
    let elapsed = number::duration(elapsed_s);
    match remaining_s.filter(|left| left.is_finite() && *left >= 0.0) {
        Some(left) => format!("{phase}: {elapsed}, about {} left", number::duration(left)),
        None => format!("{phase}: {elapsed}"),
    }
}

/// One second of a run, as it goes by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Live<'a> {
    pub arm: &'a str,
    /// From 1; none for a run outside of pairs.
    pub pair: Option<u32>,
    /// Pairs that the budget allows.
    pub max_pairs: Option<u32>,
    pub tps: f64,
    pub p95_ms: Option<f64>,
    pub p99_ms: Option<f64>,
    /// Since the run began.
    pub errors: u64,
}

/// `pair 3 of at most 10, recommended: 3,160 TPS, p95 8.41 ms, p99 12.6 ms, 0 errors`.
#[must_use]
pub fn live_line(live: &Live<'_>) -> String {
    let place = match (live.pair, live.max_pairs) {
        (Some(pair), Some(max)) => format!("pair {pair} of at most {max}, "),
        (Some(pair), None) => format!("pair {pair}, "),
        (None, _) => String::new(),
    };
    format!(
        "{place}{}: {}, p95 {}, p99 {}, {}",
        live.arm,
        number::tps(live.tps),
        number::or_missing(live.p95_ms, number::duration_ms),
        number::or_missing(live.p99_ms, number::duration_ms),
        plural(live.errors, "error")
    )
}

/// What the kept pairs say so far, from the logarithms of their ratios arm / base.
///
/// It shows where the trial is going and what it could see by now, but no interval: those belong
/// to the planned looks, and one printed after every pair would be read as a verdict.
#[must_use]
pub fn estimate_line(arm: &str, base: &str, log_ratios: &[f64], next_look: Option<u32>) -> String {
    let pairs = plural(log_ratios.len() as u64, "pair");
    let look = next_look.map_or_else(String::new, |look| format!(", next look at {look} pairs"));
    // The level has no part in what is shown.
    let Some(interval) = interval_of_log_ratios(log_ratios, 0.95) else {
        return format!("after {pairs}: no estimate of {arm} against {base} yet{look}");
    };
    let spread = dbdyno_stats::s_d(log_ratios);
    let floor = spread.and_then(|s_d| smallest_detectable_effect(s_d, log_ratios.len()));
    let [ratio, _, _] = number::ratio_parts(interval.ratio, [interval.low, interval.high]);
    format!(
        "after {pairs}: {arm} at about {ratio} × {base} so far (no verdict yet), \
         differences under {} cannot be seen yet{look}",
        number::or_missing(floor, number::percent)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases() {
        assert_eq!(
            phase_line("loading 10 warehouses", 12.2, Some(40.4)),
            "loading 10 warehouses: 12 s, about 40 s left"
        );
        assert_eq!(phase_line("recovery", 0.85, None), "recovery: 850 ms");
        assert_eq!(
            phase_line("recovery", 3.0, Some(f64::NAN)),
            "recovery: 3.0 s"
        );
    }

    #[test]
    fn live() {
        let mut live = Live {
            arm: "recommended",
            pair: Some(3),
            max_pairs: Some(10),
            tps: 3_164.0,
            p95_ms: Some(8.412),
            p99_ms: Some(12.61),
            errors: 0,
        };
        assert_eq!(
            live_line(&live),
            "pair 3 of at most 10, recommended: 3,160 TPS, p95 8.41 ms, p99 12.6 ms, 0 errors"
        );
        live.pair = None;
        live.p95_ms = None;
        live.p99_ms = None;
        live.errors = 1;
        assert_eq!(
            live_line(&live),
            "recommended: 3,160 TPS, p95 –, p99 –, 1 error"
        );
    }

    #[test]
    fn estimates() {
        let d = [1.30_f64.ln(), 1.34_f64.ln(), 1.28_f64.ln()];
        assert_eq!(
            estimate_line("recommended", "shipped", &d, Some(4)),
            "after 3 pairs: recommended at about 1.31 × shipped so far (no verdict yet), \
             differences under 7.5 % cannot be seen yet, next look at 4 pairs"
        );
        assert_eq!(
            estimate_line("recommended", "shipped", &d[..1], None),
            "after 1 pair: no estimate of recommended against shipped yet"
        );
    }
}
