//! Why a workload could not be loaded, checked, prepared or run.

use crate::driver::{TargetError, connect_hint};
use crate::oltp;
use crate::script::ScriptError;
use crate::tpcc;
use crate::wire::WireError;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    #[error(transparent)]
    Tpcc(#[from] tpcc::LoadError),
    #[error(transparent)]
    Oltp(#[from] oltp::LoadError),
    #[error(transparent)]
    Script(#[from] ScriptError),
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error("cannot connect to {server}: {source}")]
    Connect { server: String, source: WireError },
    #[error("the load was stopped")]
    Stopped,
    /// With what cannot be done.
    #[error("cannot {0} what a file of statements sets up")]
    OwnSetup(&'static str),
}

impl LoadError {
    /// The next step, for those errors that have one.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Tpcc(error) => error.hint(),
            Self::Oltp(error) => error.hint(),
            Self::Script(error) => error.hint(),
            Self::Target(error) => error.hint(),
            Self::Connect { server, source } => Some(connect_hint(server, source)),
            Self::Stopped => Some("what the setup made until then is left behind"),
            Self::OwnSetup(_) => Some("only its author knows what the file makes"),
        }
    }
}

/// A check could not be made, which is not the same as one that failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckError {
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error(transparent)]
    Script(#[from] ScriptError),
    #[error("cannot check the data: {}", .0.deepest())]
    Sql(#[from] tpcc::ClientError),
}

impl CheckError {
    /// The next step, for those errors that have one.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Target(error) => error.hint(),
            Self::Script(error) => error.hint(),
            Self::Sql(error) => error.hint(),
        }
    }
}

#[derive(Debug)]
pub(crate) enum PrepareError {
    Wire(WireError),
    Script(ScriptError),
}

/// Why an attempt at a transaction did not end.
#[derive(Debug)]
pub(crate) enum Failure {
    Wire(WireError),
    /// It could not be drawn or sent; the next one would fail too.
    Script(ScriptError),
}
