//! From what was observed to the document of a run.

use dbdyno_bench::driver::{
    Observed, Sampler, ServerCounters, Totals, conditions, notpm, per, server_use,
};
use dbdyno_bench::tpcc::Think;
use dbdyno_bench::wire::Isolation;
use dbdyno_bench::workload::Workload;
use dbdyno_model::Connection;
use dbdyno_model::bench::{Bench, Target};
use dbdyno_model::run::{DriverUse, OpenLoop, Second};
use dbdyno_model::tune::Machine;
use dbdyno_stats::{
    BATCH, LEAST_IN_BATCH, TAIL_BATCHES, Warmup, drifts, mser5_joined, slope_per_window,
};
use dbdyno_target::process;

use super::sampler::ServerSampler;
use super::think;

/// Windows that the rate's spread is shown over.
const WINDOWS: usize = 10;
/// Drift over the window beyond which it is not called steady.
const STEADY_SLOPE: f64 = 0.02;

/// What all runs of a command share.
#[derive(Debug)]
pub(super) struct Subject {
    pub(super) command: Vec<String>,
    pub(super) workload: Workload,
    pub(super) connection: Connection,
    /// `unix socket`, `TCP` or `TLS`.
    pub(super) transport: &'static str,
    /// As it was asked for, else the server's own, where it says.
    pub(super) isolation: Option<Isolation>,
    /// A transaction that takes another one, and which.
    pub(super) own_isolation: Option<(&'static str, Isolation)>,
    pub(super) machine: Machine,
    pub(super) think: Option<Think>,
    pub(super) seed: u64,
}

/// What stood beside the window.
pub(super) struct Beside {
    pub(super) started_at: String,
    pub(super) connections: u32,
    /// Whether the warm-up was driven apart; else it is found in what was observed.
    pub(super) warm_up_s: Option<f64>,
    pub(super) before: ServerCounters,
    /// False where the peak of memory may be that of an earlier run.
    pub(super) has_own_peak: bool,
    /// Processor seconds that others took.
    pub(super) strangers_cpu_s: f64,
    pub(super) complete: bool,
}

pub(super) fn document(
    subject: &Subject,
    beside: Beside,
    observed: &Observed,
    cut: &Cut,
    sampler: &mut ServerSampler,
) -> Bench {
    let totals = observed.totals(cut.from_s);
    let (before, after) = (beside.before, sampler.sample());
    let mut run = Bench {
        schema: Bench::SCHEMA.to_owned(),
        dbdyno_version: env!("CARGO_PKG_VERSION").to_owned(),
        command: subject.command.clone(),
        started_at: beside.started_at,
        complete: beside.complete,
        workload: subject.workload.name().to_owned(),
        description: subject.workload.description_with(subject.think),
        think: subject.think.map(Think::factor),
        mode: subject.workload.mode().map(str::to_owned),
        transport: subject.transport.to_owned(),
        isolation: subject.isolation.map(|level| level.name().to_owned()),
        own_isolation: subject
            .own_isolation
            .into_iter()
            .map(|(transaction, level)| (transaction.to_owned(), level.name().to_owned()))
            .collect(),
        target: Target {
            address: subject.connection.display(),
            engine: sampler.engine.to_owned(),
            version: sampler.version.clone(),
            database: subject.connection.database.clone(),
        },
        machine: subject.machine.clone(),
        connections: beside.connections,
        seed: subject.seed,
        seconds: totals.seconds,
        warm_up_s: beside.warm_up_s.unwrap_or(cut.from_s),
        transactions: totals.transactions - totals.intended_rollbacks,
        retries: totals.retries,
        intended_rollbacks: totals.intended_rollbacks,
        series: observed.series.clone(),
        ..Bench::default()
    };
    rate(&mut run, subject, observed, cut, &totals);
    latency(&mut run, subject, observed, cut, &totals);
    used(&mut run, observed, cut, &totals);
    if beside.has_own_peak {
        run.driver.peak_rss_bytes = process::own_peak_rss_bytes();
    }
    let strangers_cpu_s = beside.strangers_cpu_s;
    run.conditions = conditions(&before, &after, strangers_cpu_s, observed.seconds());
    if before.restarts != after.restarts {
        // What the old server had used has gone over to whoever waited for its end.
        run.conditions.strangers_cpu = None;
    }
    run.errors = totals.errors;
    run.error_messages = totals.error_messages;
    run.reconnects_failed = totals.reconnects_failed;
    run
}

/// How many of what a second, and whether steadily.
fn rate(run: &mut Bench, subject: &Subject, observed: &Observed, cut: &Cut, totals: &Totals) {
    let behind = observed.series.iter().skip(cut.from_s as usize);
    // A part of a second at the end has another length.
    let whole: Vec<&Second> = behind.filter(|second| second.is_whole()).collect();
    let window: Vec<f64> = whole.iter().map(|second| second.tps()).collect();
    run.steady = cut.ended && !drifts(&window, STEADY_SLOPE);
    run.slope = slope_per_window(&window);
    let committed = run.transactions as f64;
    run.tps = per(committed, totals.seconds);
    let share = per(committed, totals.transactions as f64);
    let (tps_of_windows, window_s) = windows(&whole, share);
    run.window_s = (!tps_of_windows.is_empty()).then_some(window_s);
    run.tps_of_windows = tps_of_windows;
    let rows = subject.workload.rows_per_transaction();
    run.rows_per_s = rows.map(|rows| per(committed * rows as f64, totals.seconds));
}

/// How long transactions took, and what was asked of them.
fn latency(run: &mut Bench, subject: &Subject, observed: &Observed, cut: &Cut, totals: &Totals) {
    let latency = observed.latency(cut.from_s);
    run.notpm = notpm(&latency.per_transaction, totals);
    if subject.think.is_some() {
        run.notpm_most = think::most_notpm(&subject.workload);
        run.limits = think::limits(&latency.per_transaction);
    }
    run.latency_from = match observed.open_loop {
        Some(_) => "intended start",
        None => "actual start",
    }
    .to_owned();
    if let Some(arrivals) = observed.open_loop {
        run.arrivals = Some(arrivals.spacing.name().to_owned());
        run.open_loop = Some(OpenLoop {
            rate_tps: arrivals.rate_tps,
            seconds: totals.seconds,
            transactions: totals.transactions,
            latency_ms: latency.overall,
            per_transaction: latency.per_transaction.clone(),
            backlog: arrivals.backlog,
        });
    }
    run.latency_ms = latency.overall;
    run.per_transaction = latency.per_transaction;
}

/// What driver and server spent on it.
fn used(run: &mut Bench, observed: &Observed, cut: &Cut, totals: &Totals) {
    let committed = run.transactions;
    let each = |amount: f64| (committed > 0).then(|| per(amount, committed as f64));
    run.statements_per_transaction = each(totals.sent.statements as f64);
    run.round_trips_per_transaction = each(totals.sent.round_trips as f64);
    run.driver = DriverUse {
        cpu_us_per_transaction: totals.driver_cpu_s.and_then(|s| each(s * 1e6)),
        threads: observed.threads,
        peak_rss_bytes: None,
    };
    let thread_s = totals.seconds * f64::from(observed.threads);
    run.driver_busy = totals.driver_cpu_s.map(|s| per(s, thread_s));
    let (before, after) = (observed.counters_at(cut.from_s), observed.counters_end());
    run.server = server_use(&before, &after, committed);
}

/// Where the measurement begins within what was observed.
pub(super) struct Cut {
    /// Whole seconds: histograms and counters are kept by the second.
    pub(super) from_s: f64,
    /// Whether the warm-up ended within the first half, and the load went on from there.
    ended: bool,
}

impl Cut {
    pub(super) fn of(observed: &Observed, warmed_up_s: Option<f64>) -> Self {
        let cut = Self::within(&observed.series, mser5_joined(&observed.counts_200ms));
        match warmed_up_s {
            Some(_) => Self { from_s: 0.0, ..cut },
            None => cut,
        }
    }

    /// Behind the warm-up that was found, unless it was none. What never became steady has no
    /// beginning to cut off, a server that failed at first is not warming up, and neither is one
    /// that stopped.
    fn within(seconds: &[Second], found: Option<Warmup>) -> Self {
        let steady = found.is_some_and(|warm_up| warm_up.steady);
        let from = found.map_or(0, |warm_up| warm_up.truncate.div_ceil(BATCH));
        let (left_out, behind) = seconds.split_at(from.min(seconds.len()));
        let longest = longest_silence(seconds);
        let cut =
            steady && goes_on(behind, longest) && left_out.iter().all(|second| second.errors == 0);
        let (kept, from_s) = match cut {
            true => (behind, from as f64),
            false => (seconds, 0.0),
        };
        Self {
            from_s,
            ended: steady && goes_on(kept, longest),
        }
    }
}

/// Seconds without a transaction that a load of this rate cannot have unless it stopped: so many of
/// them are steady to MSER-5, at a rate of nothing.
fn longest_silence(seconds: &[Second]) -> u64 {
    let (mut whole, mut transactions) = (0_u64, 0_u64);
    for second in seconds.iter().filter(|second| second.is_whole()) {
        whole += 1;
        transactions += second.transactions;
    }
    let batch_s = (whole * LEAST_IN_BATCH).div_ceil(transactions.max(1));
    TAIL_BATCHES as u64 * batch_s.max(1)
}

fn goes_on(seconds: &[Second], longest: u64) -> bool {
    let mut silent = 0;
    let mut whole = seconds.iter().filter(|second| second.is_whole());
    whole.all(|second| {
        silent = if second.transactions == 0 {
            silent + 1
        } else {
            0
        };
        silent < longest
    })
}

/// The committed rate of each of up to ten equal parts, and how many seconds each is long; what is left
/// over at the end is left out.
fn windows(seconds: &[&Second], committed: f64) -> (Vec<f64>, f64) {
    let length = seconds.len().div_ceil(WINDOWS).max(1);
    let rate = |some: &[&Second]| {
        let sum: u64 = some.iter().map(|second| second.transactions).sum();
        sum as f64 * committed / length as f64
    };
    let rates = seconds.chunks_exact(length).map(rate).collect();
    (rates, length as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_equal_and_leave_out_the_rest() {
        let second = Second {
            transactions: 100,
            ..Second::default()
        };
        let of = |seconds: usize| windows(&vec![&second; seconds], 0.99);
        assert_eq!(of(25), (vec![99.0; 8], 3.0));
        assert_eq!(of(26), (vec![99.0; 8], 3.0));
        assert_eq!(of(59), (vec![99.0; 9], 6.0));
        assert_eq!(of(4), (vec![99.0; 4], 1.0));
        assert_eq!(of(0).0, Vec::<f64>::new());
    }

    /// Where seconds of so many transactions are cut, and whether their rate is steady from there.
    fn cut(transactions: &[u64]) -> (f64, bool) {
        let second = |&transactions: &u64| Second {
            transactions,
            ..Second::default()
        };
        let seconds: Vec<Second> = transactions.iter().map(second).collect();
        let slots = transactions.iter().flat_map(|&all| [all, 0, 0, 0, 0]);
        let cut = Cut::within(&seconds, mser5_joined(&slots.collect::<Vec<u64>>()));
        (cut.from_s, cut.ended)
    }

    #[test]
    fn a_warm_up_is_cut_off() {
        for first in [0_u64, 40] {
            let warms_up = [[first; 5].as_slice(), &[100; 55]].concat();
            assert_eq!(cut(&warms_up), (5.0, true));
        }
        assert_eq!(cut(&[100; 60]), (0.0, true));
        assert_eq!(cut(&[100; 5]), (0.0, false));
    }

    #[test]
    fn what_stopped_was_not_warming_up() {
        let hangs = [[100_u64; 20].as_slice(), &[0; 40]].concat();
        assert_eq!(cut(&hangs), (0.0, false));
        let wakes_late = [[100_u64; 20].as_slice(), &[0; 39], &[100]].concat();
        assert_eq!(cut(&wakes_late), (0.0, false));
        assert_eq!(cut(&[0; 60]), (0.0, false));
    }

    #[test]
    fn a_slow_load_may_have_empty_seconds() {
        let slow = [5_u64, 0, 3, 0, 0].repeat(108);
        let (from_s, ended) = cut(&[[0_u64; 60].as_slice(), slow.as_slice()].concat());
        assert!(ended && (56.0..=98.0).contains(&from_s), "{from_s} {ended}");
    }

    #[test]
    fn a_server_that_failed_at_first_was_not_warming_up() {
        let second = |at: u64| Second {
            transactions: if at < 5 { 10 } else { 100 },
            errors: u64::from(at == 2),
            ..Second::default()
        };
        let seconds: Vec<Second> = (0..60).map(second).collect();
        let found = Warmup {
            truncate: 5 * BATCH,
            steady: true,
        };
        assert_eq!(Cut::within(&seconds, Some(found)).from_s, 0.0);
    }
}
