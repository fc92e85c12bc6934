//! How a load on MySQL goes about its work: connections of our own, opened by their threads.

use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};

use dbdyno_model::connection::{Connection, Engine};

use super::load::Progress;
use super::load_error::{ClientError, LoadError};
use super::mysql::loader::open_for_load;
use super::shift::{Meter, Shift};
use crate::driver::target;
use crate::ledger::Step;
use crate::reactor::{Alarm, Reactor};
use crate::wire::{Cancel, Link, Target, WireError};

/// How a load connects, and whom it tells and obeys.
pub(crate) struct Crew<'a> {
    connection: &'a Connection,
    target: Target,
    threads: usize,
    progress: &'a (dyn Fn(Progress) + Sync),
    pub(crate) stop: &'a AtomicBool,
}

impl<'a> Crew<'a> {
    /// With a connection for what is done by one. Opens as many as the load will have at once, so
    /// that a server that admits fewer says so before anything is made.
    pub(crate) fn open(
        connection: &'a Connection,
        threads: usize,
        progress: &'a (dyn Fn(Progress) + Sync),
        stop: &'a AtomicBool,
    ) -> Result<(Self, Link), LoadError> {
        let target = target(connection).map_err(|error| unreachable(connection, error.into()))?;
        let crew = Self {
            connection,
            target,
            threads: threads.max(1),
            progress,
            stop,
        };
        let own = crew.connect()?;
        let others: Vec<Link> = (0..crew.threads)
            .map(|_| crew.connect())
            .collect::<Result<_, _>>()?;
        drop(others);
        Ok((crew, own))
    }

    /// Opens a connection with its settings made.
    fn connect(&self) -> Result<Link, LoadError> {
        let opened = open_for_load(&self.target);
        opened.map_err(|error| unreachable(self.connection, error.into()))
    }

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
            let link = self.connect()?;
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
            let _ = reactor.block_on(cancel.send(&reactor, &self.target));
        }
    }
}

fn unreachable(connection: &Connection, source: ClientError) -> LoadError {
    LoadError::Connect {
        server: connection.display(),
        source,
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
