//! One module a command.

pub(crate) mod bench;
pub(crate) mod check;
pub(crate) mod collect;
pub(crate) mod compare;
pub(crate) mod diff;
pub(crate) mod grants;
pub(crate) mod report;
pub(crate) mod rule;
pub(crate) mod runs;
pub(crate) mod tune;
