//! Why a trial could not go on.

use dbdyno_bench::driver::DriverError;
use dbdyno_target::lab::LabError;

#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    #[error("interrupted")]
    Interrupted,
    #[error(transparent)]
    Lab(#[from] LabError),
    #[error(transparent)]
    Driver(Box<DriverError>),
    #[error("cannot load the workload: {message}")]
    Load {
        message: String,
        hint: Option<String>,
    },
    #[error("cannot {operation}: {message}")]
    Server {
        operation: &'static str,
        message: String,
    },
    #[error("{arm}: the data fails check {check} after run {run}: {detail}")]
    Inconsistent {
        arm: String,
        check: String,
        run: u32,
        detail: String,
    },
    #[error("{arm}: {share:.1} % of the transactions of run {run} failed: {examples}")]
    TooManyErrors {
        arm: String,
        run: u32,
        share: f64,
        examples: String,
    },
    #[error("{arm}: run {run} ended no transaction")]
    NothingDone { arm: String, run: u32 },
    #[error("the lab server died {times} times, last under {arm}: {reason}\n{log}")]
    ServerDies {
        arm: String,
        times: u32,
        reason: String,
        log: String,
    },
    #[error("cannot save the results: {0}")]
    Sink(#[source] std::io::Error),
}

impl TrialError {
    /// What the user can do next.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Lab(error) => error.hint(),
            Self::Driver(error) => error.hint().map(str::to_owned),
            Self::Load { hint, .. } => hint.clone(),
            Self::Inconsistent { .. } => {
                Some("the server lost or mixed up data: do not trust this build or disk".into())
            }
            Self::TooManyErrors { .. } => Some(
                "mend the statements that fail; a run with over 1 % errors is worthless".into(),
            ),
            Self::ServerDies { .. } => {
                Some("the lines above are the server's own log; less --memory often helps".into())
            }
            Self::Sink(_) => Some("free some space or pass another --output directory".into()),
            Self::Interrupted | Self::Server { .. } | Self::NothingDone { .. } => None,
        }
    }
}

impl From<DriverError> for TrialError {
    fn from(error: DriverError) -> Self {
        match error {
            DriverError::Interrupted { .. } => Self::Interrupted,
            other => Self::Driver(Box::new(other)),
        }
    }
}
