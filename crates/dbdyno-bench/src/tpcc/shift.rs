//! Threads that share out the jobs of one phase of a load, each with a connection of its own.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use super::load::Progress;
use super::load_error::LoadError;

/// How often progress is told and a wish to stop is looked for.
const TICK: Duration = Duration::from_millis(100);

/// Counts what the threads of one phase did and tells them when to give up.
pub(crate) struct Meter<'a> {
    done: AtomicU64,
    failed: AtomicBool,
    stop: &'a AtomicBool,
}

impl Meter<'_> {
    pub(crate) fn add(&self, rows: u64) {
        self.done.fetch_add(rows, Ordering::Relaxed);
    }

    /// What was counted and then undone by the server.
    pub(crate) fn take_back(&self, rows: u64) {
        self.done.fetch_sub(rows, Ordering::Relaxed);
    }

    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.failed.load(Ordering::Relaxed)
    }
}

/// A phase, and whom to tell and obey.
pub(crate) struct Shift<'a> {
    pub(crate) phase: &'static str,
    pub(crate) threads: usize,
    pub(crate) total: u64,
    pub(crate) progress: &'a (dyn Fn(Progress) + Sync),
    pub(crate) stop: &'a AtomicBool,
    /// Ends what the server is doing: a long statement does not look at the flag. One that has just
    /// ended is not there to cancel, which is no failure.
    pub(crate) cancel: &'a dyn Fn(),
}

impl Shift<'_> {
    /// Does the jobs in order, each on the next thread that is free; returns what was counted. A
    /// thread opens its connection itself, and is the only one that sees it.
    pub(crate) fn work<Connection, Job: Sync>(
        &self,
        open: &(dyn Fn() -> Result<Connection, LoadError> + Sync),
        jobs: &[Job],
        job: &(dyn Fn(&mut Connection, &Job, &Meter<'_>) -> Result<(), LoadError> + Sync),
    ) -> Result<u64, LoadError> {
        let meter = Meter {
            done: AtomicU64::new(0),
            failed: AtomicBool::new(false),
            stop: self.stop,
        };
        let next = AtomicUsize::new(0);
        let take_jobs = || -> Result<(), LoadError> {
            let mut connection = open()?;
            while !meter.stopped() {
                let Some(taken) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) else {
                    break;
                };
                job(&mut connection, taken, &meter)?;
            }
            Ok(())
        };
        let (sender, results) = mpsc::channel();
        let mut outcome = Ok(());
        std::thread::scope(|scope| {
            for _ in 0..self.threads.min(jobs.len()) {
                let (sender, take_jobs, meter) = (sender.clone(), &take_jobs, &meter);
                scope.spawn(move || {
                    let failed = |_: &LoadError| meter.failed.store(true, Ordering::Relaxed);
                    // The receiver outlives the threads.
                    let _ = sender.send(take_jobs().inspect_err(failed));
                });
            }
            drop(sender);
            loop {
                match results.recv_timeout(TICK) {
                    Ok(Ok(())) | Err(RecvTimeoutError::Timeout) => {}
                    Ok(Err(error)) => keep_cause(&mut outcome, error),
                    Err(RecvTimeoutError::Disconnected) => break,
                }
                if meter.stopped() {
                    (self.cancel)();
                }
                (self.progress)(Progress {
                    phase: self.phase,
                    rows: meter.done.load(Ordering::Relaxed),
                    rows_total: self.total,
                });
            }
        });
        if self.stop.load(Ordering::Relaxed) {
            return Err(LoadError::Stopped);
        }
        outcome.map(|()| meter.done.into_inner())
    }
}

/// The cause, rather than what it made the other threads stop for.
fn keep_cause(outcome: &mut Result<(), LoadError>, error: LoadError) {
    let kept = outcome.as_ref().err();
    if kept.is_none_or(LoadError::is_interruption) {
        *outcome = Err(error);
    }
}
