//! How a load on PostgreSQL goes about its work: connections of the client library, which has COPY.

use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};

use dbdyno_model::connection::{Connection, Engine};
use postgres::Client;

use super::connect::open_at;
use crate::driver::ClientTarget;
use crate::ledger::Step;
use crate::tpcc::load::Progress;
use crate::tpcc::load_error::{ClientError, LoadError};
use crate::tpcc::shift::{Meter, Shift};

/// The connections of a load, and whom to tell and obey.
pub(crate) struct Crew<'a> {
    server: ClientTarget,
    /// One at least.
    pub(crate) clients: Vec<Client>,
    progress: &'a (dyn Fn(Progress) + Sync),
    stop: &'a AtomicBool,
}

impl<'a> Crew<'a> {
    /// Opens all connections at once, so that a server that admits fewer says so before anything is
    /// made.
    pub(crate) fn open(
        connection: &Connection,
        threads: usize,
        progress: &'a (dyn Fn(Progress) + Sync),
        stop: &'a AtomicBool,
    ) -> Result<Self, LoadError> {
        let unreachable = |source: ClientError| LoadError::Connect {
            server: connection.display(),
            source,
        };
        let server = ClientTarget::of(connection).map_err(|error| unreachable(error.into()))?;
        let clients = (0..threads.max(1))
            .map(|_| open_at(&server))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| unreachable(error.into()))?;
        Ok(Self {
            server,
            clients,
            progress,
            stop,
        })
    }

    /// Runs the steps, as many at once as there are connections.
    pub(crate) fn steps(
        &mut self,
        phase: &'static str,
        operation: &'static str,
        steps: &[Step],
    ) -> Result<(), LoadError> {
        let total = steps.len() as u64;
        self.work(phase, steps, total, &|client, step, meter| {
            step.run(client, Engine::Postgres, operation)?;
            meter.add(1);
            Ok(())
        })?;
        Ok(())
    }

    /// See [`Shift::work`].
    pub(crate) fn work<Job: Sync>(
        &mut self,
        phase: &'static str,
        jobs: &[Job],
        total: u64,
        job: &(dyn Fn(&mut Client, &Job, &Meter<'_>) -> Result<(), LoadError> + Sync),
    ) -> Result<u64, LoadError> {
        let tokens: Vec<_> = self.clients.iter().map(Client::cancel_token).collect();
        let shift = Shift {
            phase,
            threads: self.clients.len(),
            total,
            progress: self.progress,
            stop: self.stop,
            cancel: &|| {
                for token in &tokens {
                    // One that has just ended is not there to cancel.
                    let _ = self.server.cancel(token);
                }
            },
        };
        let idle = Mutex::new(self.clients.iter_mut().collect::<Vec<_>>());
        // As many threads as connections.
        let open = || {
            let mut idle = idle.lock().unwrap_or_else(PoisonError::into_inner);
            idle.pop().ok_or(LoadError::Stopped)
        };
        shift.work(&open, jobs, &|client: &mut &mut Client, taken, meter| {
            job(client, taken, meter)
        })
    }
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
