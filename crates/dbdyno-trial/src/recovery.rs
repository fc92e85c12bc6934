//! Kills an arm's server under load, once, and times how long the next start takes to recover.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use dbdyno_bench::driver::{Sampler, Until};
use dbdyno_bench::workload::When;
use dbdyno_model::run::{Recovery, Run, Segment};
use dbdyno_target::lab::{Lab, Stop};

use crate::error::TrialError;
use crate::events::{Events, Phase};
use crate::failure::{Failure, behind, server_error};
use crate::loaded::{Loaded, Order, begin, observe, start};
use crate::trial::Spec;

/// Loads the arm as long as a run does, kills every process of the server, starts it again and
/// checks the data.
pub(crate) fn recover(
    lab: &Lab,
    spec: &Spec,
    order: &Order<'_>,
    stop: &Arc<AtomicBool>,
    events: &mut dyn Events,
) -> Result<Run, Failure> {
    let (number, arm) = (order.number, order.arm.name.clone());
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
    let before = loaded.sampler.sample();
    let load = Until::Elapsed(spec.budget.load);
    let observed = observe(&mut loaded, load, order, stop, events)?;
    let after = loaded.sampler.sample();
    let Loaded {
        server,
        driver,
        sampler,
    } = loaded;
    let data = server.data().to_path_buf();
    server.stop(Stop::Kill);
    // Its connections are gone with the server.
    drop(driver);
    drop(sampler);

    events.phase(&Phase::Recovering { arm: arm.clone() }, &(order.progress)());
    let server = start(lab, &data, order, stop)?;
    let seconds = server.started_in().as_secs_f64();
    let checked = spec.workload.check(&server.connection(), When::AfterRun);
    let consistency = checked.map_err(|error| {
        behind(
            server_error("check the recovered data", &error),
            &server,
            stop,
        )
    })?;
    server.stop(Stop::Immediate);
    if let Some(broken) = consistency.iter().find(|check| !check.passed) {
        return Err(Failure::Fatal(TrialError::Inconsistent {
            arm,
            check: broken.name.clone(),
            run: number,
            detail: broken.detail.clone().unwrap_or_default(),
        }));
    }
    let totals = observed.totals(0.0);
    let written = after
        .wal_bytes
        .zip(before.wal_bytes)
        .and_then(|(a, b)| a.checked_sub(b));
    Ok(Run {
        number,
        arm,
        started_at,
        connections: spec.connections,
        seed: spec.seed,
        window: Segment {
            seconds: totals.seconds,
            transactions: totals.transactions,
        },
        tps: totals.tps(),
        errors: totals.errors,
        retries: totals.retries,
        intended_rollbacks: totals.intended_rollbacks,
        series: observed.series,
        recovery: Some(Recovery {
            seconds,
            written_bytes: written,
            load_s: totals.seconds,
        }),
        consistency,
        ..Run::default()
    })
}
