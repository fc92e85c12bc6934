//! Connections of the client library that share out the work of a load.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use postgres::Client;

use crate::driver::ClientTarget;
use crate::tpcc::load::Progress;
use crate::tpcc::load_error::LoadError;
use crate::tpcc::schema::Table;

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

/// The connections of a load, and whom to tell and obey.
pub(crate) struct Crew<'a> {
    pub(crate) server: &'a ClientTarget,
    pub(crate) clients: Vec<Client>,
    pub(crate) progress: &'a (dyn Fn(Progress) + Sync),
    pub(crate) stop: &'a AtomicBool,
}

impl Crew<'_> {
    /// Runs one statement a table, as many at once as there are connections.
    pub(crate) fn statements(
        &mut self,
        phase: &'static str,
        operation: &'static str,
        statements: &[(Table, &str)],
    ) -> Result<(), LoadError> {
        let total = statements.len() as u64;
        self.work(
            phase,
            statements,
            total,
            &|client, (table, statement), meter| {
                client
                    .batch_execute(statement)
                    .map_err(sql(operation, format!("table {}", table.name())))?;
                meter.add(1);
                Ok(())
            },
        )?;
        Ok(())
    }

    /// Does the jobs in order, each by the next connection that is free; returns what was counted.
    pub(crate) fn work<Job: Sync>(
        &mut self,
        phase: &'static str,
        jobs: &[Job],
        total: u64,
        job: &(dyn Fn(&mut Client, &Job, &Meter<'_>) -> Result<(), LoadError> + Sync),
    ) -> Result<u64, LoadError> {
        let meter = Meter {
            done: AtomicU64::new(0),
            failed: AtomicBool::new(false),
            stop: self.stop,
        };
        let next = AtomicUsize::new(0);
        let tokens: Vec<_> = self.clients.iter().map(Client::cancel_token).collect();
        let (sender, results) = mpsc::channel();
        let mut outcome = Ok(());
        std::thread::scope(|scope| {
            for client in &mut self.clients {
                let (sender, next, meter) = (sender.clone(), &next, &meter);
                scope.spawn(move || {
                    let result = take_jobs(client, jobs, next, meter, job);
                    // The receiver outlives the threads.
                    let _ = sender.send(result);
                });
            }
            drop(sender);
            loop {
                match results.recv_timeout(TICK) {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => {
                        // The cause, rather than what it made the other threads stop for.
                        if outcome
                            .as_ref()
                            .err()
                            .is_none_or(LoadError::is_interruption)
                        {
                            outcome = Err(error);
                        }
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                }
                if meter.stopped() {
                    // A long statement does not look at the flag. One that has just ended is not
                    // there to cancel, which is no failure.
                    tokens
                        .iter()
                        .for_each(|token| drop(self.server.cancel(token)));
                }
                (self.progress)(Progress {
                    phase,
                    rows: meter.done.load(Ordering::Relaxed),
                    rows_total: total,
                });
            }
        });
        if self.stop.load(Ordering::Relaxed) {
            return Err(LoadError::Stopped);
        }
        outcome.map(|()| meter.done.into_inner())
    }
}

fn take_jobs<Job>(
    client: &mut Client,
    jobs: &[Job],
    next: &AtomicUsize,
    meter: &Meter<'_>,
    job: &(dyn Fn(&mut Client, &Job, &Meter<'_>) -> Result<(), LoadError> + Sync),
) -> Result<(), LoadError> {
    while !meter.stopped() {
        let Some(taken) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) else {
            break;
        };
        job(client, taken, meter).inspect_err(|_| meter.failed.store(true, Ordering::Relaxed))?;
    }
    Ok(())
}

/// A statement that was refused.
pub(crate) fn sql(
    operation: &'static str,
    object: impl Into<String>,
) -> impl FnOnce(postgres::Error) -> LoadError {
    let object = object.into();
    move |source| LoadError::Sql {
        operation,
        object,
        source: source.into(),
    }
}
