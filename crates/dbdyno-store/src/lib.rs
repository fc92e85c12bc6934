//! Runs and verdicts, kept in an SQLite file beside the user or in PostgreSQL for a team.
//!
//! A trial is stored as its header and its runs, each with the columns that a question is likely to
//! be about, and whole as a compressed document. docs/reference/store.md explains every table.

mod document;
mod engine;
mod error;
mod postgres;
mod resolve;
mod row;
mod sqlite;
mod store;
mod summary;

pub use document::read_document;
pub use error::{Location, StoreError};
pub use store::{Moved, Store};
pub use summary::Summary;

/// Version of the tables: one for each migration, the same in both engines.
const KNOWN: u32 = 1;

/// What this dbdyno writes its name as.
const DBDYNO_VERSION: &str = env!("CARGO_PKG_VERSION");
