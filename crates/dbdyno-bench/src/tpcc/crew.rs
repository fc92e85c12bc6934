//! How a load on MySQL goes about its work: connections of our own, opened by their threads.

use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};

use dbdyno_model::connection::Engine;

use super::load::Progress;
use super::load_error::LoadError;
use super::shift::{Meter, Shift};
use crate::ledger::Step;
use crate::reactor::{Alarm, Reactor};
use crate::wire::{Cancel, Link, Target, WireError};

/// How a load connects, and whom it tells and obeys.
pub(crate) struct Crew<'a> {
    pub(crate) target: &'a Target,
    pub(crate) threads: usize,
    /// Opens a connection with its settings made.
    pub(crate) open: &'a (dyn Fn() -> Result<Link, LoadError> + Sync),
    pub(crate) progress: &'a (dyn Fn(Progress) + Sync),
    pub(crate) stop: &'a AtomicBool,
}

impl Crew<'_> {
    /// Runs the steps, as many at once as there are threads.
    pub(crate) fn steps(
        &self,
        phase: &'static str,
        operation: &'static str,
        steps: &[Step],
    ) -> Result<(), LoadError> {
        let total = steps.len() as u64;
        self.work(phase, steps, total, &|link, step, meter| {
            step.run(link, Engine::MySql, operation)?;
            meter.add(1);
            Ok(())
        })?;
        Ok(())
    }

    /// See [`Shift::work`].
    pub(crate) fn work<Job: Sync>(
        &self,
        phase: &'static str,
        jobs: &[Job],
        total: u64,
        job: &(dyn Fn(&mut Link, &Job, &Meter<'_>) -> Result<(), LoadError> + Sync),
    ) -> Result<u64, LoadError> {
        let cancels = Mutex::<Vec<Cancel>>::default();
        let lock = || cancels.lock().unwrap_or_else(PoisonError::into_inner);
        let shift = Shift {
            phase,
            threads: self.threads,
            total,
            progress: self.progress,
            stop: self.stop,
            cancel: &|| self.cancel(lock().clone()),
        };
        let open = || {
            let link = (self.open)()?;
            lock().extend(link.cancel().cloned());
            Ok(link)
        };
        shift.work(&open, jobs, job)
    }

    fn cancel(&self, cancels: Vec<Cancel>) {
        let Ok(reactor) = Alarm::new().and_then(Reactor::new) else {
            return;
        };
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
