//! What a trial tells while it runs: to the screen, and to whoever saves the runs.

use std::io;

use dbdyno_model::run::{Run, Second};

/// What is being done now.
#[derive(Debug, Clone, PartialEq)]
pub enum Phase {
    Preparing {
        run: u32,
        arm: String,
    },
    Running {
        run: u32,
        arm: String,
    },
    Checkpoint {
        run: u32,
        arm: String,
    },
    OpenLoop {
        run: u32,
        arm: String,
        rate_tps: f64,
    },
    Checking {
        run: u32,
        arm: String,
    },
    Recovering {
        arm: String,
    },
}

/// Where the trial stands, for the progress line.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Progress {
    pub elapsed_s: f64,
    /// If it needs every pair that its budget has; fewer when it can decide early.
    pub remaining_s: f64,
    /// None outside of pairs, when recovery is timed.
    pub pair: Option<u32>,
    pub max_pairs: u32,
}

/// What the pairs so far say; an interval belongs to the planned looks alone.
#[derive(Debug, Clone, Copy)]
pub struct Estimate<'a> {
    pub arm: &'a str,
    pub base: &'a str,
    /// ln(arm / base) of each kept pair.
    pub log_ratios: &'a [f64],
    /// Number of pairs at which the trial may next decide; none once it has.
    pub next_look: Option<u32>,
}

/// Receives what a trial tells. Every call is made from the trial's own thread.
pub trait Events {
    fn phase(&mut self, phase: &Phase, progress: &Progress);
    fn second(&mut self, arm: &str, second: &Second, progress: &Progress);
    /// A run has ended: save it now, so that a later failure costs nothing.
    fn run_ended(&mut self, run: &Run) -> io::Result<()>;
    fn pair_ended(&mut self, estimate: &Estimate<'_>, progress: &Progress);
    /// The runs of a pair do not count: mark them where they were saved.
    fn pair_discarded(&mut self, pair: u32, why: &str) -> io::Result<()>;
}
