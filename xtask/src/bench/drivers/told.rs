//! From what a driver tells, and what was measured of it, to the figures of its run.

use super::figures::{Figure, Run};
use crate::bench::measure::Measured;

/// What a driver's own summary tells.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Told {
    /// Over all of the time that the process used CPU for.
    pub(super) transactions: f64,
    pub(super) statements: Option<f64>,
    pub(super) tps: f64,
    pub(super) p99_ms: Option<f64>,
    pub(super) new_order_p99_ms: Option<f64>,
}

impl Told {
    /// `cpu_s` is what those transactions took.
    pub(super) fn run(&self, measured: &Measured, cpu_s: f64) -> Run {
        let mut run = memory(measured);
        let mut set = |figure, value: Option<f64>| {
            if let Some(value) = value.filter(|value| value.is_finite()) {
                run.figures.insert(figure, value);
            }
        };
        let cpu_us = |count: f64| cpu_s * 1e6 / count;
        set(Figure::Tps, Some(self.tps));
        set(Figure::P99, self.p99_ms);
        set(Figure::NewOrderP99, self.new_order_p99_ms);
        set(Figure::Cpu, Some(cpu_us(self.transactions)));
        set(Figure::CpuPerStatement, self.statements.map(cpu_us));
        run
    }
}

fn memory(measured: &Measured) -> Run {
    let peak = measured.peak_rss_bytes.map(|bytes| bytes as f64 / 1e6);
    Run {
        figures: peak
            .map(|peak| (Figure::PeakMemory, peak))
            .into_iter()
            .collect(),
        steal: measured.steal,
    }
}

/// Of a program whose time is what counts.
pub(super) fn timed(measured: &Measured, seconds: f64) -> Run {
    let mut run = memory(measured);
    run.figures.insert(Figure::Seconds, seconds);
    run
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn measured() -> Measured {
        Measured {
            stdout: String::new(),
            seconds: 20.0,
            cpu_s: 3.0,
            window_cpu_s: None,
            peak_rss_bytes: Some(20_000_000),
            steal: 0.02,
        }
    }

    #[test]
    fn cpu_is_shared_out_over_transactions_and_statements() {
        let told = Told {
            transactions: 10_000.0,
            statements: Some(300_000.0),
            tps: 500.0,
            ..Told::default()
        };
        let run = told.run(&measured(), 3.0);
        let figures = [
            (Figure::Tps, 500.0),
            (Figure::Cpu, 300.0),
            (Figure::CpuPerStatement, 10.0),
            (Figure::PeakMemory, 20.0),
        ];
        assert_eq!(run.figures, BTreeMap::from(figures));
        assert_eq!(run.steal, 0.02);
        // Nothing done is no figure, and never an infinite one.
        let idle = Told::default().run(&measured(), 3.0);
        assert!(!idle.figures.contains_key(&Figure::Cpu));
    }

    #[test]
    fn a_timed_run_has_its_seconds() {
        let run = timed(&measured(), 12.5);
        assert_eq!(run.figures.get(&Figure::Seconds), Some(&12.5));
    }
}
