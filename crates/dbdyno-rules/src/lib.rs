//! The catalogue and the solver: Facts to Findings to Plan, without any I/O.

mod arrays;
pub mod catalogue;
pub mod cloud;
pub mod container;
pub mod filesystem;
pub mod formulas;
pub mod hardware;
pub mod kernel;
pub mod maintenance;
mod neighbours;
mod paste;
pub mod postgres;
pub mod query;
pub mod replication;
pub mod rule;
pub mod schema;
mod scope;
mod seen;
pub mod solver;
mod sql;
#[cfg(test)]
mod testing;
mod tuned;
mod udev;

pub use catalogue::{Checked, catalogue, check};
pub use maintenance::next_vacuums;
pub use neighbours::side_by_side;
pub use rule::Rule;
pub use solver::plan;
