//! The progress of a load: how far it is, how fast, and what time it has left.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use dbdyno_bench::workload::Progress;
use dbdyno_report::number;
use dbdyno_report::progress::phase_line;

use crate::printer::Printer;

/// The rate is that of the last seconds: what was there before, and how it went then, say less of
/// what is to come.
const RECENT_S: f64 = 10.0;

/// A rate over less than this is none.
const LEAST_S: f64 = 0.5;

/// A load that is told, from whichever of its threads.
#[derive(Debug)]
pub(crate) struct Loading<'a> {
    printer: &'a Printer,
    begun: Instant,
    recent: Mutex<Recent>,
}

impl<'a> Loading<'a> {
    pub(crate) fn new(printer: &'a Printer) -> Self {
        Self {
            printer,
            begun: Instant::now(),
            recent: Mutex::default(),
        }
    }

    pub(crate) fn tell(&self, progress: Progress) {
        let elapsed_s = self.begun.elapsed().as_secs_f64();
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let rate = recent.rate(elapsed_s, progress);
        drop(recent);
        self.printer.progress(&line(progress, elapsed_s, rate));
    }
}

/// How far one phase was, and when.
#[derive(Debug, Default)]
struct Recent {
    phase: &'static str,
    points: VecDeque<(f64, u64)>,
}

impl Recent {
    /// Done a second; none before it can be told.
    fn rate(&mut self, at_s: f64, progress: Progress) -> Option<f64> {
        if self.phase != progress.phase {
            self.phase = progress.phase;
            self.points.clear();
        }
        self.points.push_back((at_s, progress.rows));
        // The first one left is the last that is as old as that.
        let old = |next: &(f64, u64)| next.0 <= at_s - RECENT_S;
        while self.points.get(1).is_some_and(old) {
            self.points.pop_front();
        }
        let (since_s, before) = *self.points.front()?;
        let seconds = at_s - since_s;
        (seconds >= LEAST_S).then(|| progress.rows.saturating_sub(before) as f64 / seconds)
    }
}

fn line(progress: Progress, elapsed_s: f64, rate: Option<f64>) -> String {
    let Progress {
        phase,
        rows: done,
        rows_total: total,
    } = progress;
    let of = format!("{} of {}", number::count(done), number::count(total));
    if phase != "rows" {
        let what = match phase {
            "keys" => "indexes and foreign keys",
            "analyze" => "vacuum and analyze",
            "check" => "checking the loaded data",
            other => other,
        };
        let what = match total {
            0 | 1 => what.to_owned(),
            _ => format!("{what}, {of}"),
        };
        return phase_line(&what, elapsed_s, None);
    }
    let told = number::or_missing(rate, number::measured);
    let left = rate.filter(|rate| *rate > 0.0);
    let left_s = left.map(|rate| total.saturating_sub(done) as f64 / rate);
    let what = format!("loading, {of} rows, {told} rows/s");
    phase_line(&what, elapsed_s, left_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rows: u64) -> Progress {
        Progress {
            phase: "rows",
            rows,
            rows_total: 1_000_000,
        }
    }

    #[test]
    fn rate_and_what_is_left_are_those_of_the_last_seconds() {
        let mut recent = Recent::default();
        // What a load that is resumed finds there is not its own work.
        assert_eq!(recent.rate(0.0, rows(400_000)), None);
        assert_eq!(recent.rate(1.0, rows(450_000)), Some(50_000.0));
        for second in 2..=20 {
            recent.rate(f64::from(second), rows(450_000));
        }
        assert_eq!(recent.rate(21.0, rows(500_000)), Some(5_000.0));
        assert!(recent.points.len() <= 12, "{recent:?}");
        assert_eq!(
            line(rows(500_000), 21.0, Some(5_000.0)),
            "loading, 500,000 of 1,000,000 rows, 5,000 rows/s: 21 s, about 1 min 40 s left"
        );
        assert_eq!(
            line(rows(0), 0.2, None),
            "loading, 0 of 1,000,000 rows, – rows/s: 200 ms"
        );
        let stands = line(rows(7), 12.0, Some(0.0));
        assert!(stands.ends_with(" 0 rows/s: 12 s"), "{stands}");
    }

    #[test]
    fn a_phase_begins_anew_and_tells_its_steps() {
        let keys = |done| Progress {
            phase: "keys",
            rows: done,
            rows_total: 9,
        };
        let mut recent = Recent::default();
        recent.rate(0.0, rows(0));
        assert_eq!(recent.rate(5.0, keys(0)), None);
        assert_eq!(
            line(keys(3), 12.0, None),
            "indexes and foreign keys, 3 of 9: 12 s"
        );
    }
}
