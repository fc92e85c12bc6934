//! One measured run: clone, start, warm up, measure, charge the checkpoint, check, stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dbdyno_bench::driver::{Observed, Sampler, Until, conditions};
use dbdyno_bench::workload::When;
use dbdyno_model::run::{OpenLoop, Run, Segment};
use dbdyno_stats::{drifts, mser5, slope_per_window};
use dbdyno_target::connection;
use dbdyno_target::lab::{Lab, Stop};
use dbdyno_target::process;

use crate::error::TrialError;
use crate::events::{Events, Phase};
use crate::failure::{Failure, behind, gone, server_error};
use crate::loaded::{Loaded, Order, begin, observe};
use crate::summary;
use crate::trial::Spec;

/// A warm-up that has not ended by then will not end.
const MOST_EXTENSIONS: u32 = 3;
/// Drift over the window beyond which it is not called steady.
const STEADY_SLOPE: f64 = 0.02;
/// The first seconds of the open-loop step belong to the change of pace.
const SETTLE_S: f64 = 2.0;

/// Runs one arm once and returns what it measured, data checked.
pub(crate) fn execute(
    lab: &Lab,
    spec: &Spec,
    order: &Order<'_>,
    stop: &Arc<AtomicBool>,
    events: &mut dyn Events,
) -> Result<Run, Failure> {
    let (arm, number) = (order.arm.name.clone(), order.number);
    events.phase(
        &Phase::Preparing {
            run: number,
            arm: arm.clone(),
        },
        &(order.progress)(),
    );
    let started_at = (spec.now)();
    let mut loaded = begin(lab, spec, order, stop)?;
    events.phase(
        &Phase::Running {
            run: number,
            arm: arm.clone(),
        },
        &(order.progress)(),
    );
    let pids = [std::process::id(), loaded.server.pid()];
    let strangers_before = process::strangers_cpu_s(&pids);
    let steal_before = loaded.sampler.sample();
    let closed = measure(&mut loaded, spec, order, stop, events)?;
    events.phase(
        &Phase::Checkpoint {
            run: number,
            arm: arm.clone(),
        },
        &(order.progress)(),
    );
    let checkpoint = checkpoint_under_load(&mut loaded, order, stop, events)?;
    let strangers = process::strangers_cpu_s(&pids) - strangers_before;
    let after = loaded.sampler.sample();
    let open_loop = open_loop(&mut loaded, spec, order, stop, events)?;
    let Loaded {
        server,
        driver,
        sampler,
    } = loaded;
    let threads = driver.threads();
    driver.stop().map_err(|error| gone(error, &server, stop))?;
    drop(sampler);

    let mut run = summary::of(&closed, &checkpoint);
    run.number = number;
    run.arm.clone_from(&arm);
    run.pair = order.pair;
    run.started_at = started_at;
    run.connections = spec.connections;
    run.seed = spec.seed;
    run.driver.threads = threads;
    run.driver.peak_rss_bytes = process::own_peak_rss_bytes();
    run.conditions = conditions(
        &steal_before,
        &after,
        strangers,
        closed.seconds() + checkpoint.seconds(),
    );
    run.open_loop = open_loop;
    sound(&run, &closed)?;

    events.phase(
        &Phase::Checking {
            run: number,
            arm: arm.clone(),
        },
        &(order.progress)(),
    );
    run.consistency = spec
        .workload
        .check(&server.connection(), When::AfterRun)
        .map_err(|error| behind(server_error("check the data", &error), &server, stop))?;
    server.stop(Stop::Immediate);
    if let Some(broken) = run.consistency.iter().find(|check| !check.passed) {
        return Err(Failure::Fatal(TrialError::Inconsistent {
            arm,
            check: broken.name.clone(),
            run: number,
            detail: broken.detail.clone().unwrap_or_default(),
        }));
    }
    Ok(run)
}

/// The closed loop with its warm-up cut off.
pub(crate) struct Closed {
    pub(crate) observed: Observed,
    pub(crate) warm_up_s: f64,
    pub(crate) steady: bool,
    pub(crate) slope: Option<f64>,
}

impl Closed {
    fn seconds(&self) -> f64 {
        self.observed.seconds()
    }
}

fn measure(
    loaded: &mut Loaded,
    spec: &Spec,
    order: &Order<'_>,
    stop: &Arc<AtomicBool>,
    events: &mut dyn Events,
) -> Result<Closed, Failure> {
    let load = spec.budget.load;
    let mut observed = observe(loaded, Until::Elapsed(load), order, stop, events)?;
    let mut warm_up = mser5(&observed.counts_200ms);
    for _ in 0..MOST_EXTENSIONS {
        if warm_up.as_ref().is_some_and(|warm_up| warm_up.steady) {
            break;
        }
        let more = observe(loaded, Until::Elapsed(load / 2), order, stop, events)?;
        observed.append(more);
        warm_up = mser5(&observed.counts_200ms);
    }
    // Whole seconds: histograms and counters are kept by the second.
    let warm_up_s = warm_up
        .as_ref()
        .map_or(0.0, |w| (w.truncate as f64 * 0.2).ceil());
    let window: Vec<f64> = observed
        .series
        .iter()
        .skip(warm_up_s as usize)
        .map(|second| second.transactions as f64)
        .collect();
    let slope = slope_per_window(&window);
    let ended = warm_up.is_some_and(|warm_up| warm_up.steady);
    let steady = ended && !drifts(&window, STEADY_SLOPE);
    Ok(Closed {
        observed,
        warm_up_s,
        steady,
        slope,
    })
}

/// Ends the window with a checkpoint while the load goes on, so that an arm which put its
/// writes off pays for them.
fn checkpoint_under_load(
    loaded: &mut Loaded,
    order: &Order<'_>,
    stop: &Arc<AtomicBool>,
    events: &mut dyn Events,
) -> Result<Observed, Failure> {
    let to = loaded.server.connection();
    let mut client = connection::connect(&to).map_err(|error| {
        let error = server_error("connect for the checkpoint", &error);
        behind(error, &loaded.server, stop)
    })?;
    let done = AtomicBool::new(false);
    let (observed, checkpoint) = std::thread::scope(|scope| {
        let checkpoint = scope.spawn(|| {
            let result = client.batch_execute("CHECKPOINT");
            done.store(true, Ordering::SeqCst);
            result
        });
        let observed = observe(loaded, Until::Flag(&done), order, stop, events);
        if observed.is_err() {
            // Nobody may wait for a checkpoint of a run that is over.
            process::signal(loaded.server.pid(), process::Signal::QUIT);
        }
        (observed, checkpoint.join())
    });
    let observed = observed?;
    match checkpoint {
        Ok(Ok(())) => Ok(observed),
        Ok(Err(error)) => {
            let error = server_error("write the closing checkpoint", &error);
            Err(behind(error, &loaded.server, stop))
        }
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

fn open_loop(
    loaded: &mut Loaded,
    spec: &Spec,
    order: &Order<'_>,
    stop: &Arc<AtomicBool>,
    events: &mut dyn Events,
) -> Result<Option<OpenLoop>, Failure> {
    let (Some(rate_tps), Some(time)) = (order.open_loop_tps, spec.budget.open_loop) else {
        return Ok(None);
    };
    let phase = Phase::OpenLoop {
        run: order.number,
        arm: order.arm.name.clone(),
        rate_tps,
    };
    events.phase(&phase, &(order.progress)());
    loaded.driver.set_open_loop(rate_tps)?;
    let observed = observe(loaded, Until::Elapsed(time), order, stop, events)?;
    let totals = observed.totals(SETTLE_S);
    let latency = observed.latency(SETTLE_S);
    Ok(Some(OpenLoop {
        rate_tps,
        seconds: totals.seconds,
        transactions: totals.transactions,
        latency_ms: latency.overall,
        per_transaction: latency.per_transaction,
        backlog: observed.open_loop.map_or(0, |arrivals| arrivals.backlog),
    }))
}

/// A run that ended nothing or failed too often says nothing of its arm.
fn sound(run: &Run, closed: &Closed) -> Result<(), Failure> {
    let totals = closed.observed.totals(closed.warm_up_s);
    if totals.too_many_errors() {
        let examples = totals
            .error_messages
            .iter()
            .map(|(code, message)| format!("{message} ({code})"))
            .collect::<Vec<_>>()
            .join("; ");
        return Err(Failure::Fatal(TrialError::TooManyErrors {
            arm: run.arm.clone(),
            run: run.number,
            share: 100.0 * totals.error_share(),
            examples,
        }));
    }
    if run.window == Segment::default() || run.tps_with_checkpoint <= 0.0 {
        return Err(Failure::Fatal(TrialError::NothingDone {
            arm: run.arm.clone(),
            run: run.number,
        }));
    }
    Ok(())
}
