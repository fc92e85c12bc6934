//! TPC-C, revision 5.11: an order-entry workload of nine tables and five transactions.
//!
//! What it draws is pure and seeded, and lives here, one file a transaction; the SQL lives in a
//! folder of the engine, or of a mode that both engines share, under the same file names; that of
//! routines on the server in `procedures`. Without [`Think`] two things differ from the
//! specification: there is no think or keying time (clause 5.2.5), and the home warehouse is drawn
//! for each transaction, not fixed for a terminal (clause 2.4.1.1). With it both are as asked; what
//! still differs is that a delivery is not queued but waited for (clause 2.7.2). Either way numbers
//! must not be compared with audited results.

pub(crate) mod conditions;
pub(crate) mod control;
pub(crate) mod crew;
mod customer;
mod database;
mod deck;
mod delivery;
mod foreign;
mod load;
mod load_error;
pub(crate) mod mysql;
mod names;
mod new_order;
mod order_status;
mod payment;
mod plain;
pub(crate) mod postgres;
mod priced;
mod procedures;
pub(crate) mod random;
mod rows;
mod schema;
pub(crate) mod shift;
pub(crate) mod sql;
mod stock_level;
mod stored;
mod terminal;
mod think;
mod user;

pub use conditions::When;
pub(crate) use database::generate;
pub use database::{check, clean, find, install, is_left, load, read_back, resume};
pub use load::{Loaded, Progress};
pub use load_error::{ClientError, LoadError};
pub use names::Layout;
pub use stored::{Expected, ReadBackError, StoredConfig};
pub use terminal::Terminal;
pub use think::{TERMINALS, Think, response_limits_s};

use crate::wire::WireError;
use names::Names;

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

/// Each terminal prepares its statements for every set, and servers do not keep any number of them.
pub const MAX_SETS: u32 = 100;

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
    pub(crate) const USER: u64 = 11;
}

/// The size of the database, what its tables look like, and the seed of their rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Of each set.
    pub warehouses: u32,
    pub seed: u64,
    /// All nine tables as many times. A transaction works within one of them.
    pub sets: u32,
    pub layout: Layout,
    pub foreign_keys: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            warehouses: 1,
            seed: 1,
            sets: 1,
            layout: Layout::default(),
            foreign_keys: true,
        }
    }
}

impl Config {
    /// `2 sets of 10 warehouses, sysbench's layout, no foreign keys`.
    #[must_use]
    pub fn summary(&self) -> String {
        let plural = if self.warehouses == 1 { "" } else { "s" };
        let mut text = format!("{} warehouse{plural}", self.warehouses);
        if self.sets > 1 {
            text = format!("{} sets of {text}", self.sets);
        }
        if self.layout == Layout::Sysbench {
            text.push_str(", sysbench's layout");
        }
        if !self.foreign_keys {
            text.push_str(", no foreign keys");
        }
        text
    }

    /// The seed of a set's rows. The first has the load's own.
    pub(crate) fn set_seed(&self, set: u32) -> u64 {
        /// The golden ratio of 2^64: seeds that are far apart.
        const NEXT: u64 = 0x9E37_79B9_7F4A_7C15;
        let before = u64::from(set.saturating_sub(1));
        self.seed.wrapping_add(before.wrapping_mul(NEXT))
    }

    /// The names of each set.
    pub(crate) fn names(&self) -> impl Iterator<Item = Names> + use<> {
        let (layout, sets) = (self.layout, self.sets.max(1));
        (1..=sets).map(move |set| Names::new(layout, set, sets))
    }
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
    /// A call of a routine on the server, which does the whole transaction.
    Procedures,
}

impl Mode {
    pub const ALL: [Self; 4] = [
        Self::Unbatched,
        Self::Batched,
        Self::Pipelined,
        Self::Procedures,
    ];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Unbatched => "unbatched",
            Self::Batched => "batched",
            Self::Pipelined => "pipelined",
            Self::Procedures => "procedures",
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_as_usual_is_not_told() {
        let config = Config::default();
        assert_eq!(config.summary(), "1 warehouse");
        let config = Config {
            warehouses: 10,
            sets: 2,
            layout: Layout::Sysbench,
            foreign_keys: false,
            ..config
        };
        let expected = "2 sets of 10 warehouses, sysbench's layout, no foreign keys";
        assert_eq!(config.summary(), expected);
        assert_eq!(config.names().count(), 2);
    }

    #[test]
    fn the_first_set_has_the_seed_of_the_load() {
        let config = Config {
            seed: u64::MAX,
            ..Config::default()
        };
        assert_eq!(config.set_seed(1), u64::MAX);
        assert_ne!(config.set_seed(2), config.set_seed(3));
    }
}
