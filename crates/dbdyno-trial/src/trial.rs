//! The trial: pairs in ABBA order on clones of one template, judged at planned looks.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use dbdyno_bench::workload::Workload;
use dbdyno_model::run::Run;
use dbdyno_model::tune::{Arm, Price};
use dbdyno_model::verdict::Verdict;
use dbdyno_stats::{
    Design, Disturbance, Order as PairOrder, RunConditions, Tolerance, disturbance, judge,
    order_of_pair, too_noisy,
};
use dbdyno_target::lab::Lab;

use crate::arm::ArmSpec;
use crate::budget::Budget;
use crate::disk::full_or;
use crate::error::TrialError;
use crate::events::{Estimate, Events, Progress};
use crate::execute::execute;
use crate::failure::Failure;
use crate::loaded::Order;
use crate::recovery::recover;
use crate::verdict;

/// A server that dies more often than this under load is not to be measured.
const MOST_DEATHS: u32 = 2;
/// Share of the slower arm's throughput at which latency is compared.
const OPEN_LOOP_SHARE: f64 = 0.7;

/// What a trial compares, on what.
#[derive(Debug)]
pub struct Spec {
    /// The base arm, the judged arm, and then arms whose price is shown without a verdict.
    pub arms: Vec<ArmSpec>,
    pub workload: Workload,
    pub workload_text: String,
    pub machine: String,
    pub connections: u32,
    pub seed: u64,
    pub budget: Budget,
    /// What a reader must know before quoting the ratio.
    pub caveats: Vec<String>,
    /// The time as documents write it.
    pub now: fn() -> String,
}

/// What a trial came to, whether it ended or was ended.
#[derive(Debug)]
pub struct Outcome {
    pub verdict: Verdict,
    pub prices: Vec<Price>,
    pub arms: Vec<Arm>,
    pub runs: Vec<Run>,
    /// Why it ended early; finished pairs are kept.
    pub error: Option<TrialError>,
}

/// Runs the trial on the lab's template.
pub fn run(lab: &Lab, spec: &Spec, stop: &Arc<AtomicBool>, events: &mut dyn Events) -> Outcome {
    let mut trial = Trial {
        lab,
        spec,
        stop,
        begun: Instant::now(),
        runs: Vec::new(),
        number: 0,
        dropped: 0,
        deaths: 0,
        run_seconds: Cell::new(None),
    };
    let mut noisy = false;
    let error = match trial.pairs(events) {
        Ok(too_noisy) => {
            noisy = too_noisy;
            trial.recoveries(events).err()
        }
        Err(error) => Some(error),
    };
    Outcome {
        verdict: verdict::verdict(spec, &trial.runs, trial.dropped, noisy),
        prices: verdict::prices(spec, &trial.runs),
        arms: spec
            .arms
            .iter()
            .map(|arm| verdict::arm(arm, &trial.runs))
            .collect(),
        runs: trial.runs,
        error,
    }
}

struct Trial<'a> {
    lab: &'a Lab,
    spec: &'a Spec,
    stop: &'a Arc<AtomicBool>,
    begun: Instant,
    runs: Vec<Run>,
    number: u32,
    dropped: u32,
    deaths: u32,
    /// Seconds that a run has taken so far, on average.
    run_seconds: Cell<Option<f64>>,
}

impl Trial<'_> {
    /// Pairs until a look decides; true when the machine was too noisy for that.
    fn pairs(&mut self, events: &mut dyn Events) -> Result<bool, TrialError> {
        let design = self.spec.budget.design.clone();
        let mut kept = 0_usize;
        let mut rate = None;
        loop {
            let pair = kept as u32 + 1;
            match self.round(pair, rate, events)? {
                None => {
                    kept += 1;
                    rate = rate.or_else(|| self.open_loop_rate(pair));
                    if self.judge(&design, pair, events) {
                        return Ok(false);
                    }
                }
                Some(why) => {
                    self.dropped += 1;
                    for run in self.runs.iter_mut().filter(|run| run.pair == Some(pair)) {
                        run.discarded.get_or_insert_with(|| why.clone());
                    }
                    events
                        .pair_discarded(pair, &why)
                        .map_err(TrialError::Sink)?;
                    if too_noisy(&design, self.dropped as usize) {
                        return Ok(true);
                    }
                }
            }
        }
    }

    /// Tells the estimate and says whether this look decided.
    fn judge(&self, design: &Design, pair: u32, events: &mut dyn Events) -> bool {
        let (base, arm) = (&self.spec.arms[0].name, &self.spec.arms[1].name);
        let log_ratios =
            verdict::log_ratios(&self.runs, base, arm, |run| Some(run.tps_with_checkpoint));
        let decided = judge(design, &log_ratios).final_;
        let ahead = design.looks.iter().find(|look| **look > log_ratios.len());
        let next_look = ahead.filter(|_| !decided).map(|look| *look as u32);
        let estimate = Estimate {
            arm,
            base,
            log_ratios: &log_ratios,
            next_look,
        };
        events.pair_ended(&estimate, &self.progress(Some(pair)));
        decided
    }

    /// One run of every arm; the reason if none of them may count.
    fn round(
        &mut self,
        pair: u32,
        rate: Option<f64>,
        events: &mut dyn Events,
    ) -> Result<Option<String>, TrialError> {
        let mut arms: Vec<&ArmSpec> = self.spec.arms.iter().collect();
        if order_of_pair(pair as usize - 1) == PairOrder::Ba {
            arms.reverse();
        }
        let first = self.runs.len();
        for arm in arms {
            self.number += 1;
            let begun = Instant::now();
            let progress = || self.progress(Some(pair));
            let order = Order {
                arm,
                number: self.number,
                pair: Some(pair),
                open_loop_tps: rate,
                progress: &progress,
            };
            let run = match execute(self.lab, self.spec, &order, self.stop, events) {
                Ok(run) => run,
                Err(failure) => return self.died(arm, failure).map(Some),
            };
            self.learn(begun.elapsed().as_secs_f64());
            events.run_ended(&run).map_err(TrialError::Sink)?;
            self.runs.push(run);
            let why = why_disturbed(&self.runs[first..], &self.spec.budget.design.tolerance);
            if why.is_some() {
                // The other runs of the pair could not save it.
                return Ok(why);
            }
        }
        Ok(None)
    }

    /// Why the pair has to be repeated, if it may be.
    fn died(&mut self, arm: &ArmSpec, failure: Failure) -> Result<String, TrialError> {
        let (reason, log) = match failure {
            Failure::Fatal(error) => return Err(full_or(self.lab, error)),
            Failure::ServerGone { reason, log } => (reason, log),
        };
        // Without room it would only die again.
        if let Some(full) = self.lab.disk_full(&reason) {
            return Err(full.into());
        }
        self.deaths += 1;
        if self.deaths > MOST_DEATHS {
            let (arm, times) = (arm.name.clone(), self.deaths);
            return Err(TrialError::ServerDies {
                arm,
                times,
                reason,
                log,
            });
        }
        Ok(format!(
            "the server went away during run {} ({}): {reason}",
            self.number, arm.name
        ))
    }

    /// The rate of the latency step: the slower arm's throughput of the first pair decides.
    fn open_loop_rate(&self, pair: u32) -> Option<f64> {
        self.spec.budget.open_loop?;
        let judged = &self.spec.arms[..2];
        let slower = self
            .runs
            .iter()
            .filter(|run| run.pair == Some(pair) && run.discarded.is_none())
            .filter(|run| judged.iter().any(|arm| arm.name == run.arm))
            .map(|run| run.tps)
            .fold(f64::INFINITY, f64::min);
        slower
            .is_finite()
            .then_some((slower * OPEN_LOOP_SHARE).max(1.0))
    }

    /// Each arm is killed under load once, so that its speed stands beside its recovery.
    fn recoveries(&mut self, events: &mut dyn Events) -> Result<(), TrialError> {
        for arm in &self.spec.arms {
            let run = loop {
                match self.recovery(arm, events) {
                    Ok(run) => break run,
                    Err(failure) => self.died(arm, failure)?,
                };
            };
            events.run_ended(&run).map_err(TrialError::Sink)?;
            self.runs.push(run);
        }
        Ok(())
    }

    fn recovery(&mut self, arm: &ArmSpec, events: &mut dyn Events) -> Result<Run, Failure> {
        self.number += 1;
        let progress = || self.progress(None);
        let order = Order {
            arm,
            number: self.number,
            pair: None,
            open_loop_tps: None,
            progress: &progress,
        };
        recover(self.lab, self.spec, &order, self.stop, events)
    }

    fn learn(&self, seconds: f64) {
        let runs = self.runs.len() as f64;
        let before = self.run_seconds.get().unwrap_or(seconds);
        self.run_seconds
            .set(Some((before * runs + seconds) / (runs + 1.0)));
    }

    fn progress(&self, pair: Option<u32>) -> Progress {
        let arms = self.spec.arms.len();
        let max_pairs = self.spec.budget.design.max_pairs();
        let runs = (max_pairs * arms) as f64;
        let planned = self.spec.budget.seconds(arms) / (runs + arms as f64);
        let kept = self
            .runs
            .iter()
            .filter(|run| run.discarded.is_none())
            .count() as f64;
        let left = (runs + arms as f64 - kept).max(0.0);
        Progress {
            elapsed_s: self.begun.elapsed().as_secs_f64(),
            remaining_s: left * self.run_seconds.get().unwrap_or(planned),
            pair,
            max_pairs: max_pairs as u32,
        }
    }
}

/// Decided blind to the result: only what others did on the machine counts.
fn why_disturbed(round: &[Run], tolerance: &Tolerance) -> Option<String> {
    let conditions: Vec<RunConditions> = round
        .iter()
        .map(|run| RunConditions {
            steal_fraction: run.conditions.steal.unwrap_or(f64::NAN),
            strangers_cpu_fraction: run.conditions.strangers_cpu.unwrap_or(f64::NAN),
        })
        .collect();
    disturbance(&conditions, tolerance).map(|disturbance| match disturbance {
        Disturbance::Steal { fraction } => format!(
            "the hypervisor took {:.1} % of the CPU time of a run",
            100.0 * fraction
        ),
        Disturbance::UnevenSteal { least, most } => format!(
            "the hypervisor took {:.1} % of the CPU time of one run and {:.1} % of another",
            100.0 * least,
            100.0 * most
        ),
        Disturbance::Strangers { fraction } => format!(
            "other processes took {:.1} % of the CPU time of a run",
            100.0 * fraction
        ),
    })
}
