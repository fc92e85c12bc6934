//! Threads that share out the work of a load, each with a connection of its own.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::load::Progress;
use super::load_error::LoadError;
use super::schema::Table;
use crate::reactor::{Alarm, Reactor};
use crate::wire::Link;
use crate::wire::{Cancel, Target, WireError};

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

    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.failed.load(Ordering::Relaxed)
    }
}

/// How a load connects, and whom it tells and obeys.
pub(crate) struct Crew<'a> {
    pub(crate) target: &'a Target,
    pub(crate) threads: usize,
    /// Opens a connection with its settings made.
    pub(crate) open: &'a (dyn Fn() -> Result<Link, LoadError> + Sync),
    pub(crate) progress: &'a (dyn Fn(Progress) + Sync),
    pub(crate) stop: &'a AtomicBool,
}

/// What the threads of one phase have in common.
struct Shift<'a, Job> {
    jobs: &'a [Job],
    next: AtomicUsize,
    meter: Meter<'a>,
    cancels: Mutex<Vec<Cancel>>,
}

impl Crew<'_> {
    /// Runs one statement a table, as many at once as there are threads.
    pub(crate) fn statements(
        &self,
        phase: &'static str,
        operation: &'static str,
        statements: &[(Table, &str)],
    ) -> Result<(), LoadError> {
        let total = statements.len() as u64;
        self.work(phase, statements, total, &|link, &(table, sql), meter| {
            link.run(sql).map_err(refused(operation, table.name()))?;
            meter.add(1);
            Ok(())
        })?;
        Ok(())
    }

    /// Does the jobs in order, each on the next thread that is free; returns what was counted.
    pub(crate) fn work<Job: Sync>(
        &self,
        phase: &'static str,
        jobs: &[Job],
        total: u64,
        job: &(dyn Fn(&mut Link, &Job, &Meter<'_>) -> Result<(), LoadError> + Sync),
    ) -> Result<u64, LoadError> {
        let shift = Shift {
            jobs,
            next: AtomicUsize::new(0),
            meter: Meter {
                done: AtomicU64::new(0),
                failed: AtomicBool::new(false),
                stop: self.stop,
            },
            cancels: Mutex::default(),
        };
        let (sender, results) = mpsc::channel();
        let mut outcome = Ok(());
        std::thread::scope(|scope| {
            for _ in 0..self.threads.min(jobs.len()) {
                let (sender, shift) = (sender.clone(), &shift);
                scope.spawn(move || {
                    let result = self.take_jobs(shift, job);
                    // The receiver outlives the threads.
                    let _ = sender.send(result);
                });
            }
            drop(sender);
            loop {
                match results.recv_timeout(TICK) {
                    Ok(Ok(())) | Err(RecvTimeoutError::Timeout) => {}
                    Ok(Err(error)) => keep_cause(&mut outcome, error),
                    Err(RecvTimeoutError::Disconnected) => break,
                }
                if shift.meter.stopped() {
                    self.cancel(&shift.cancels);
                }
                (self.progress)(Progress {
                    phase,
                    rows: shift.meter.done.load(Ordering::Relaxed),
                    rows_total: total,
                });
            }
        });
        if self.stop.load(Ordering::Relaxed) {
            return Err(LoadError::Stopped);
        }
        outcome.map(|()| shift.meter.done.into_inner())
    }

    fn take_jobs<Job>(
        &self,
        shift: &Shift<'_, Job>,
        job: &(dyn Fn(&mut Link, &Job, &Meter<'_>) -> Result<(), LoadError> + Sync),
    ) -> Result<(), LoadError> {
        let meter = &shift.meter;
        let work = || -> Result<(), LoadError> {
            let mut link = (self.open)()?;
            lock(&shift.cancels).extend(link.cancel().cloned());
            while !meter.stopped() {
                let turn = shift.next.fetch_add(1, Ordering::Relaxed);
                let Some(taken) = shift.jobs.get(turn) else {
                    break;
                };
                job(&mut link, taken, meter)?;
            }
            Ok(())
        };
        work().inspect_err(|_| meter.failed.store(true, Ordering::Relaxed))
    }

    /// Ends what the servers are doing: a long statement does not look at the flag. One that has
    /// just ended is not there to cancel, which is no failure.
    fn cancel(&self, cancels: &Mutex<Vec<Cancel>>) {
        let Ok(reactor) = Alarm::new().and_then(Reactor::new) else {
            return;
        };
        let cancels = lock(cancels).clone();
        for cancel in cancels {
            let _ = reactor.block_on(cancel.send(&reactor, self.target));
        }
    }
}

/// A statement about a table that was refused.
pub(crate) fn refused(
    operation: &'static str,
    table: &str,
) -> impl Fn(WireError) -> LoadError + Copy {
    move |source| LoadError::Sql {
        operation,
        object: format!("table {table}"),
        source: source.into(),
    }
}

/// The cause, rather than what it made the other threads stop for.
fn keep_cause(outcome: &mut Result<(), LoadError>, error: LoadError) {
    let kept = outcome.as_ref().err();
    if kept.is_none_or(LoadError::is_interruption) {
        *outcome = Err(error);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
