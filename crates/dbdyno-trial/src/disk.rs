//! A full disk is told as such, whatever the server and the driver make of it.

use dbdyno_target::lab::{Lab, LabError};

use crate::error::TrialError;

/// The lab's own error where a full disk is behind this one, else this one.
pub(crate) fn full_or(lab: &Lab, error: TrialError) -> TrialError {
    match error {
        // These name their cause themselves.
        TrialError::Interrupted
        | TrialError::Inconsistent { .. }
        | TrialError::Sink(_)
        | TrialError::Lab(LabError::Io { .. } | LabError::Full { .. }) => error,
        error => match lab.disk_full(&error.to_string()) {
            Some(full) => full.into(),
            None => error,
        },
    }
}
