//! TPC-C, revision 5.11: an order-entry workload of nine tables and five transactions.
//!
//! What it draws is pure and seeded, and lives here, one file a transaction; the SQL lives in a
//! folder of the engine under the same file names. Two things differ from the specification, so
//! that numbers must not be compared with audited results: there is no think or keying time
//! (clause 5.2.5), and the home warehouse is drawn for each transaction, not fixed for a terminal.

pub(crate) mod conditions;
pub(crate) mod control;
pub(crate) mod crew;
mod customer;
mod database;
mod deck;
mod delivery;
mod load;
mod load_error;
pub(crate) mod mysql;
mod new_order;
mod order_status;
mod payment;
mod plain;
pub(crate) mod postgres;
mod priced;
pub(crate) mod random;
mod rows;
mod schema;
pub(crate) mod shift;
pub(crate) mod sql;
mod stock_level;
mod stored;
mod terminal;

pub use conditions::When;
pub(crate) use database::generate;
pub use database::{check, clean, load, read_back, resume};
pub use load::{Loaded, Progress};
pub use load_error::{ClientError, LoadError};
pub use stored::{ReadBackError, StoredConfig};
pub use terminal::Terminal;

use crate::wire::WireError;

/// Names of the transactions, in the order of their indexes.
pub const TRANSACTIONS: [&str; 5] = [
    "new_order",
    "payment",
    "order_status",
    "delivery",
    "stock_level",
];

/// Warehouse ids are two bytes, so that the keys that begin with them fit eight.
pub const MAX_WAREHOUSES: u32 = i16::MAX as u32;

/// Cardinalities of clause 1.2.1, per warehouse, district or database.
pub(crate) const DISTRICTS: u32 = 10;
pub(crate) const CUSTOMERS: u32 = 3000;
pub(crate) const ORDERS: u32 = 3000;
pub(crate) const ITEMS: u32 = 100_000;
/// The first order of a district that the load leaves undelivered (clause 4.3.3.1).
pub(crate) const FIRST_NEW_ORDER: u32 = 2101;

/// First steps of the paths of random streams: one for each use, never reused.
pub(crate) mod stream {
    pub(crate) const CONSTANTS: u64 = 1;
    pub(crate) const WAREHOUSE: u64 = 2;
    pub(crate) const DISTRICT: u64 = 3;
    pub(crate) const CUSTOMER: u64 = 4;
    pub(crate) const HISTORY: u64 = 5;
    pub(crate) const ORDERS: u64 = 6;
    pub(crate) const ORDER_LINE: u64 = 7;
    pub(crate) const ITEM: u64 = 8;
    pub(crate) const STOCK: u64 = 9;
    pub(crate) const TERMINAL: u64 = 10;
}

/// The size of the database and the seed of its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    pub warehouses: u32,
    pub seed: u64,
}

/// How transactions are sent. They measure different things.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    /// A round trip for each statement of the specification.
    Unbatched,
    /// IN lists and rows of VALUES where a statement can do for all lines or districts.
    Batched,
    /// As few round trips as the protocol and the data dependences allow.
    #[default]
    Pipelined,
}

impl Mode {
    pub const ALL: [Self; 3] = [Self::Unbatched, Self::Batched, Self::Pipelined];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Unbatched => "unbatched",
            Self::Batched => "batched",
            Self::Pipelined => "pipelined",
        }
    }
}

/// How an attempt at a transaction ended without an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Committed,
    /// As the specification asks of 1 % of new orders (clause 2.4.1.4).
    RolledBack,
}

/// NURand's C for last names (A = 255), customers (1023) and items (8191), clause 2.1.6.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Constants {
    pub c_load: [u32; 3],
    pub c_run: [u32; 3],
}

/// The constants that go with a seed: all runs on a database use those of its load's seed.
#[must_use]
pub fn constants(seed: u64) -> Constants {
    let (c_load, c_run) = random::draw_constants(seed);
    Constants { c_load, c_run }
}

/// Rows that a sound load always has.
fn missing(what: &str) -> WireError {
    WireError::protocol(format!("no {what} where a load has one"))
}

/// An id as the server sends it.
fn number(value: i64) -> Result<u32, WireError> {
    u32::try_from(value).map_err(|_| WireError::protocol(format!("an id of {value}")))
}
