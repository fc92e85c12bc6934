//! Drives a workload over many connections from few threads, and measures what comes back.
//!
//! Terminals (one connection each) are shared out over dedicated threads, each with an event loop
//! of its own. In the closed loop a terminal starts its next transaction when the last has ended, and
//! latency counts from that start. In the open loop transactions arrive at a fixed rate whatever
//! the server does, and latency counts from the moment a transaction was due, so that a stall is
//! charged to everything that had to wait for it. With users at the terminals the loop is closed
//! too, and each transaction waits until its user has thought and keyed in.

mod connect;
mod error;
mod files;
mod hdr_log;
mod observe;
mod observed;
mod pace;
mod sampler;
mod schedule;
mod segments;
mod thread;
mod tls;
mod usage;

use std::fs;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use dbdyno_model::connection::Connection;

pub use connect::{ClientTarget, TargetError, target};
pub use error::DriverError;
pub(crate) use error::{connect_hint, deepest};
pub use observe::AT_ONCE;
pub use observe::Until;
pub use observed::{Arrivals, Latencies, MAX_ERROR_SHARE, Observed, Totals, summarise};
pub use sampler::{NoSampler, Sampler, ServerCounters};
pub use schedule::ArrivalProcess;
pub use segments::{Reset, Segments};
pub(crate) use tls::{client_hint as client_tls_hint, hint as tls_hint};
pub use usage::{conditions, notpm, per, server_use};

use crate::reactor::Alarm;
use crate::recorder::Recorder;
use crate::tpcc::Think;
use crate::wire::Isolation;
use crate::workload::{PrepareError, Workload};
use pace::{Pace, Paces};
use schedule::Schedule;
use thread::{Event, Fatal, OpenError, Share};

/// Processors that one driver thread serves: a terminal costs the driver a fraction of what it
/// costs the server, and a second thread costs switches that the first does not.
const CPUS_PER_THREAD: usize = 4;

/// How long an interrupt may go unseen.
const TICK: Duration = Duration::from_millis(100);

#[derive(Debug, Clone)]
pub struct Options {
    pub connections: u32,
    /// Driver threads; one for each four processors when not given.
    pub threads: Option<usize>,
    /// Every random choice of the run follows from it.
    pub seed: u64,
    /// A lost connection is counted as an error and made again, with growing pauses, for as long as
    /// the load goes on. Else the first one lost ends the load.
    pub reconnect: bool,
    /// Users at the terminals, who key in and think; without them a terminal goes on at once. Their
    /// number is the workload's: as many connections as [`Workload::terminals`] says.
    pub think: Option<Think>,
    /// Transactions a second that arrive from the first moment on, whatever the server does;
    /// without it, and without users, the loop is closed.
    pub rate: Option<f64>,
    /// Asked of the server by each connection; its own where not given, and nothing is asked then.
    pub isolation: Option<Isolation>,
    /// How transactions follow each other in the open loop.
    pub spacing: ArrivalProcess,
    /// Set from anywhere, it ends what the driver is doing within 0.2 s, and the time that a
    /// [`Sampler`] is asking its server then.
    pub stop: Arc<AtomicBool>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            connections: 8,
            threads: None,
            seed: 1,
            reconnect: false,
            think: None,
            rate: None,
            isolation: None,
            spacing: ArrivalProcess::default(),
            stop: Arc::default(),
        }
    }
}

/// The whole load, from its first transaction to its last, observed or not.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stopped {
    pub seconds: f64,
    pub committed: u64,
    pub intended_rollbacks: u64,
    pub errors: u64,
    pub retries: u64,
}

/// A load that is running. Dropping it ends the load at once.
#[derive(Debug)]
pub struct Driver {
    threads: Vec<JoinHandle<()>>,
    tids: Vec<i32>,
    recorders: Vec<Arc<Mutex<Recorder>>>,
    paces: Arc<Paces>,
    events: mpsc::Receiver<Event>,
    stop: Arc<AtomicBool>,
    server: String,
    transactions: Vec<String>,
    spacing: ArrivalProcess,
    seed: u64,
    load_started: Instant,
    /// Where the last observation ended, for one that follows at once.
    cut: Option<Instant>,
    gone: Option<String>,
}

impl Driver {
    /// Connects and prepares all terminals, then begins the load: at the given rate, or closed
    /// loop, without a pause where there are no users.
    pub fn start(
        connection: &Connection,
        workload: &Workload,
        options: &Options,
    ) -> Result<Self, DriverError> {
        check_pace(workload, options)?;
        let target = target(connection)?;
        files::check(options.connections)?;
        let paces = Arc::new(Paces::new());
        let (sender, events) = mpsc::channel();
        let now = Instant::now();
        let mut driver = Self {
            threads: Vec::new(),
            tids: Vec::new(),
            recorders: Vec::new(),
            paces,
            events,
            stop: Arc::clone(&options.stop),
            server: connection.display(),
            transactions: workload.transactions(),
            spacing: options.spacing,
            seed: options.seed,
            load_started: now,
            cut: None,
            gone: None,
        };
        for (index, terminals) in shares(options).into_iter().enumerate() {
            let recorder = Recorder::new(driver.transactions.len(), now);
            let recorder = Arc::new(Mutex::new(recorder));
            driver.recorders.push(Arc::clone(&recorder));
            let alarm = Alarm::new()?;
            driver.paces.tell(alarm.clone());
            let share = Share {
                target: target.clone(),
                workload: workload.clone(),
                terminals,
                seed: options.seed,
                reconnect: options.reconnect,
                think: options.think,
                isolation: options.isolation,
                recorder,
                paces: Arc::clone(&driver.paces),
                alarm,
                events: sender.clone(),
            };
            let named = std::thread::Builder::new().name(format!("driver-{index}"));
            driver
                .threads
                .push(named.spawn(move || thread::run(share))?);
        }
        drop(sender);
        driver.await_ready()?;
        driver.load_started = Instant::now();
        for recorder in &driver.recorders {
            // An observation that begins at once shall have the very first transaction.
            let mut recorder = lock(recorder);
            recorder.attach(driver.load_started);
            recorder.detach();
        }
        driver.cut = Some(driver.load_started);
        driver.paces.set(first_pace(options, driver.load_started));
        Ok(driver)
    }

    fn await_ready(&mut self) -> Result<(), DriverError> {
        while self.tids.len() < self.threads.len() {
            if self.stop.load(Ordering::Relaxed) {
                return Err(DriverError::Interrupted { observed: None });
            }
            match self.events.recv_timeout(TICK) {
                Ok(Event::Ready(tid)) => self.tids.push(tid),
                Ok(Event::Fatal(fatal)) => return Err(self.error(fatal, None)),
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => return Err(DriverError::Panicked),
            }
        }
        Ok(())
    }

    /// From now on transactions arrive at this rate; a backlog counts as latency.
    /// Until the next call the schedule never slows down, whatever the server does.
    pub fn set_open_loop(&mut self, rate_tps: f64) -> Result<(), DriverError> {
        check_rate(rate_tps)?;
        let schedule = Schedule::new(Instant::now(), rate_tps, self.spacing, self.seed);
        self.change_pace(Pace::Open(Arc::new(schedule)));
        Ok(())
    }

    /// Back to one transaction after the other; a backlog is dropped.
    pub fn set_closed_loop(&mut self) {
        self.change_pace(Pace::Closed);
    }

    fn change_pace(&mut self, pace: Pace) {
        self.cut = None;
        self.paces.set(pace);
    }

    /// Ends the load after the transactions under way.
    pub fn stop(mut self) -> Result<Stopped, DriverError> {
        self.wind_down(None)?;
        self.sum_up()
    }

    /// The same, but what is still under way after that time is cancelled; none then.
    pub fn stop_within(mut self, limit: Duration) -> Result<Option<Stopped>, DriverError> {
        match self.wind_down(Some(Instant::now() + limit))? {
            true => self.sum_up().map(Some),
            false => Ok(None),
        }
    }

    /// Begins nothing more, and waits for what is under way; whether it ended before the deadline.
    fn wind_down(&mut self, deadline: Option<Instant>) -> Result<bool, DriverError> {
        self.change_pace(Pace::Stop);
        while !self.threads.iter().all(JoinHandle::is_finished) {
            if self.stop.load(Ordering::Relaxed) {
                return Err(DriverError::Interrupted { observed: None });
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Ok(false);
            }
            match self.events.recv_timeout(Duration::from_millis(20)) {
                Ok(Event::Fatal(fatal)) if self.gone.is_none() => {
                    return Err(self.error(fatal, None));
                }
                // Without a sender left the threads are about to end.
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                _ => {}
            }
        }
        Ok(true)
    }

    /// After its threads have ended.
    fn sum_up(mut self) -> Result<Stopped, DriverError> {
        let mut stopped = Stopped {
            seconds: self.load_started.elapsed().as_secs_f64(),
            ..Stopped::default()
        };
        for recorder in &self.recorders {
            let sum = lock(recorder).sum();
            stopped.committed += sum.committed;
            stopped.intended_rollbacks += sum.rolled_back;
            stopped.errors += sum.errors;
            stopped.retries += sum.retries;
        }
        for thread in self.threads.drain(..) {
            thread.join().map_err(|_| DriverError::Panicked)?;
        }
        Ok(stopped)
    }

    /// Threads that drive the load.
    pub fn threads(&self) -> u32 {
        u32::try_from(self.tids.len()).unwrap_or(u32::MAX)
    }

    /// Processor seconds of the driver threads since they began.
    pub fn cpu_s(&self) -> Option<f64> {
        let mut nanos = 0;
        for tid in &self.tids {
            let text = fs::read_to_string(format!("/proc/self/task/{tid}/schedstat")).ok()?;
            nanos += text.split_ascii_whitespace().next()?.parse::<u64>().ok()?;
        }
        Some(nanos as f64 / 1e9)
    }

    fn error(&mut self, fatal: Fatal, observed: Option<Box<Observed>>) -> DriverError {
        match fatal {
            Fatal::Thread(error) => DriverError::Thread(error),
            Fatal::Open(OpenError::Connect(source)) => DriverError::Connect {
                server: self.server.clone(),
                source,
            },
            Fatal::Open(OpenError::Prepare(PrepareError::Wire(error))) => {
                DriverError::Prepare(error)
            }
            Fatal::Open(OpenError::Prepare(PrepareError::Script(error))) | Fatal::Script(error) => {
                DriverError::Script(error)
            }
            Fatal::Unsent(reason) => DriverError::Unsent(reason),
            Fatal::Gone(reason) => {
                self.gone = Some(reason.clone());
                DriverError::ServerGone { reason, observed }
            }
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.paces.set(Pace::Kill);
        for thread in self.threads.drain(..) {
            // A panic has been printed by its own thread.
            let _ = thread.join();
        }
    }
}

fn lock(recorder: &Mutex<Recorder>) -> MutexGuard<'_, Recorder> {
    recorder.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the load can begin as it is asked to. Users need a terminal each, at a home of its own.
fn check_pace(workload: &Workload, options: &Options) -> Result<(), DriverError> {
    if let Some(rate_tps) = options.rate {
        check_rate(rate_tps)?;
    }
    if options.think.is_none() {
        return Ok(());
    }
    let connections = options.connections;
    match workload.terminals() {
        None => Err(DriverError::NoUsers(workload.name().to_owned())),
        Some(needed) if needed != connections => Err(DriverError::Terminals {
            needed,
            connections,
        }),
        Some(_) => Ok(()),
    }
}

fn check_rate(rate_tps: f64) -> Result<(), DriverError> {
    match rate_tps.is_finite() && rate_tps > 0.0 {
        true => Ok(()),
        false => Err(DriverError::Rate(rate_tps)),
    }
}

/// How the load begins.
fn first_pace(options: &Options, load_started: Instant) -> Pace {
    match (options.think, options.rate) {
        (Some(_), _) => Pace::Think,
        (None, Some(rate_tps)) => {
            let (spacing, seed) = (options.spacing, options.seed);
            let schedule = Schedule::new(load_started, rate_tps, spacing, seed);
            Pace::Open(Arc::new(schedule))
        }
        (None, None) => Pace::Closed,
    }
}

/// The terminals of each thread, as even as they go.
fn shares(options: &Options) -> Vec<Range<u32>> {
    let connections = options.connections.max(1);
    // Knows affinity and cgroup quota.
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = options.threads.unwrap_or(cpus / CPUS_PER_THREAD).max(1);
    let threads = u32::try_from(threads).unwrap_or(u32::MAX).min(connections);
    let first =
        |thread: u32| (u64::from(thread) * u64::from(connections) / u64::from(threads)) as u32;
    (0..threads)
        .map(|thread| first(thread)..first(thread + 1))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_terminal_has_one_thread() {
        for (connections, threads) in [(1, 1), (8, 3), (3, 8), (200, 7), (0, 0)] {
            let options = Options {
                connections,
                threads: Some(threads),
                ..Options::default()
            };
            let shares = shares(&options);
            assert!(shares.iter().all(|share| !share.is_empty()), "{shares:?}");
            let all: Vec<u32> = shares.into_iter().flatten().collect();
            assert_eq!(all, (0..connections.max(1)).collect::<Vec<_>>());
        }
    }
}
