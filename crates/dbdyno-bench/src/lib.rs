//! Drives load at database servers and measures what they do with it.
//!
//! - [`workload`] names the loads there are: TPC-C ([`tpcc`]), sysbench's ([`oltp`]), inserts and selects
//!   by kinds of keys ([`keys`]), a many-to-many table by its key ([`friends`]) and a user's own
//!   statements ([`script`]).
//! - [`driver`] runs one of them over many connections, closed loop or at a fixed arrival rate, and
//!   hands out one observation after the other while the load goes on.
//!
//! The server's and the host's own counters come from a [`driver::Sampler`] that the caller brings, so
//! that nothing here needs to know how a host is read.

pub mod driver;
pub mod friends;
pub mod generate;
pub mod keys;
mod ledger;
pub mod oltp;
pub mod reactor;
mod recorder;
pub mod script;
mod share;
mod tables;
pub mod tpcc;
pub mod wire;
pub mod workload;

pub use workload::Workload;
