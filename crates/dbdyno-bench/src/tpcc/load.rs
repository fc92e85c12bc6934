//! What a load is made of, how far it has come, and what it came to.

use dbdyno_model::connection::Engine;

use super::schema::Table;
use super::{Config, mysql, postgres};
use crate::ledger::{Ledger, Step};

/// Holds the record of a load that is under way.
pub(super) const LEDGER: &str = "dbdyno_tpcc_units";

/// How far a load has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// `rows`, then `analyze` and `keys` in the order that suits the engine.
    pub phase: &'static str,
    /// Rows, or in the later phases statements, done.
    pub rows: u64,
    pub rows_total: u64,
}

/// What a load came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Loaded {
    pub rows: u64,
    pub seconds: f64,
    pub seconds_rows: f64,
    pub seconds_analyze: f64,
    pub seconds_keys: f64,
}

impl Loaded {
    /// The load had ended before.
    pub const NOTHING: Self = Self {
        rows: 0,
        seconds: 0.0,
        seconds_rows: 0.0,
        seconds_analyze: 0.0,
        seconds_keys: 0.0,
    };
}

/// All that decides which rows there are, and what their tables look like.
pub(super) fn identity(engine: Engine, config: &Config) -> String {
    let version = match engine {
        Engine::Postgres => postgres::VERSION,
        Engine::MySql => mysql::VERSION,
    };
    let Config { warehouses, seed } = config;
    format!("version={version} warehouses={warehouses} seed={seed}")
}

pub(super) fn ledger(engine: Engine, config: &Config) -> Ledger {
    Ledger::new(engine, LEDGER, identity(engine, config))
}

/// A table and a warehouse for each unit of work; items belong to none. Large tables come first within
/// a warehouse, so that the last units are short, and warehouse comes after warehouse, so that tables
/// grow at their end and threads seldom extend the same file.
pub(super) fn units(warehouses: u32) -> Vec<(Table, u32)> {
    const ORDER: [Table; 8] = [
        Table::Stock,
        Table::OrderLine,
        Table::Customer,
        Table::History,
        Table::Orders,
        Table::NewOrder,
        Table::District,
        Table::Warehouse,
    ];
    let mut units = vec![(Table::Item, 0)];
    for warehouse in 1..=warehouses {
        units.extend(ORDER.map(|table| (table, warehouse)));
    }
    units
}

/// As the record of a load names it.
pub(super) fn unit_name(&(table, warehouse): &(Table, u32)) -> String {
    format!("{} {warehouse}", table.name())
}

/// Rows of all of them.
pub(super) fn rows_of(units: &[(Table, u32)], seed: u64) -> u64 {
    let each = units.iter();
    each.map(|&(table, warehouse)| table.rows(seed, warehouse))
        .sum()
}

pub(super) fn steps(statements: &[(Table, &str)]) -> Vec<Step> {
    let each = statements.iter();
    each.map(|&(table, sql)| Step::new(table.name(), sql))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_has_a_name_of_its_own() {
        let names: std::collections::HashSet<String> = units(3).iter().map(unit_name).collect();
        assert_eq!(names.len(), 1 + 3 * 8);
        assert!(names.contains("order_line 3") && names.contains("item 0"));
    }

    #[test]
    fn loads_of_other_rows_are_told_apart() {
        let config = Config {
            warehouses: 3,
            seed: 7,
        };
        let others = [
            Config { seed: 8, ..config },
            Config {
                warehouses: 4,
                ..config
            },
        ];
        for engine in [Engine::Postgres, Engine::MySql] {
            assert!(identity(engine, &config).ends_with("warehouses=3 seed=7"));
            for other in others {
                assert_ne!(identity(engine, &config), identity(engine, &other));
            }
        }
    }
}
