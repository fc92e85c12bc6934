//! One module a command.

pub(crate) mod bench;
pub(crate) mod compare;
pub(crate) mod report;
pub(crate) mod runs;
pub(crate) mod tune;
