//! Why a run gave no result: the server went away, or the trial is over.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use dbdyno_bench::driver::DriverError;
use dbdyno_target::lab::{LabError, Server};
use dbdyno_target::process;

use crate::error::TrialError;
use crate::template::with_causes;

pub(crate) enum Failure {
    /// The server went away: the pair is repeated.
    ServerGone {
        reason: String,
        log: String,
    },
    Fatal(TrialError),
}

impl From<TrialError> for Failure {
    fn from(error: TrialError) -> Self {
        Self::Fatal(error)
    }
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        Self::Fatal(error.into())
    }
}

impl From<DriverError> for Failure {
    fn from(error: DriverError) -> Self {
        Self::Fatal(error.into())
    }
}

pub(crate) fn server_error(operation: &'static str, error: &dyn std::error::Error) -> TrialError {
    TrialError::Server {
        operation,
        message: with_causes(error),
    }
}

/// How long a server that refuses its clients may take to be gone.
const DYING: Duration = Duration::from_secs(1);

/// What a failure without a driver's word for it comes from: an interrupt stops the server under
/// whoever is waiting for it, and a server that died takes everybody's connection along.
pub(crate) fn behind(error: impl Into<TrialError>, server: &Server, stop: &AtomicBool) -> Failure {
    let begun = Instant::now();
    loop {
        if stop.load(Ordering::SeqCst) {
            return Failure::Fatal(TrialError::Interrupted);
        }
        if !process::is_alive(server.pid()) {
            return Failure::ServerGone {
                reason: error.into().to_string(),
                log: server.log_tail(),
            };
        }
        if begun.elapsed() > DYING {
            return Failure::Fatal(error.into());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

pub(crate) fn gone(error: DriverError, server: &Server, stop: &AtomicBool) -> Failure {
    match error {
        _ if stop.load(Ordering::SeqCst) => Failure::Fatal(TrialError::Interrupted),
        DriverError::ServerGone { reason, .. } => {
            // Its last words reach the log a moment after its connections are gone.
            std::thread::sleep(Duration::from_millis(200));
            Failure::ServerGone {
                reason,
                log: server.log_tail(),
            }
        }
        other => behind(other, server, stop),
    }
}
