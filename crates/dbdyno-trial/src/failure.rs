//! Why a run gave no result: the server went away, or the trial is over.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dbdyno_bench::driver::DriverError;
use dbdyno_target::lab::{LabError, Server};

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

impl From<Failure> for TrialError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Fatal(error) => error,
            Failure::ServerGone { reason, log } => Self::ServerDies {
                arm: String::new(),
                times: 1,
                reason,
                log,
            },
        }
    }
}

pub(crate) fn server_error(operation: &'static str, error: &dyn std::error::Error) -> TrialError {
    TrialError::Server {
        operation,
        message: with_causes(error),
    }
}

/// An interrupt stops the server under whoever is waiting for it: what they see is its doing.
pub(crate) fn interrupted(stop: &AtomicBool, error: impl Into<TrialError>) -> Failure {
    if stop.load(Ordering::SeqCst) {
        Failure::Fatal(TrialError::Interrupted)
    } else {
        Failure::Fatal(error.into())
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
        other => Failure::Fatal(other.into()),
    }
}
