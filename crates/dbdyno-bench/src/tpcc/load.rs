//! What a load is made of, how far it has come, and what it came to.

use super::Config;
use super::schema::{self, Table};

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

/// What is loaded at a time: the rows that one warehouse of a set has in a table. Items belong to no
/// warehouse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unit {
    pub(super) set: u32,
    pub(super) table: Table,
    pub(super) warehouse: u32,
}

/// All units of work. Large tables come first within a warehouse, so that the last units are short, and
/// warehouse comes after warehouse, so that tables grow at their end and threads seldom extend the same
/// file.
pub(super) fn units(config: &Config) -> Vec<Unit> {
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
    let mut units = Vec::new();
    for set in 1..=config.sets {
        let unit = |table, warehouse| Unit {
            set,
            table,
            warehouse,
        };
        units.push(unit(Table::Item, 0));
        for warehouse in 1..=config.warehouses {
            units.extend(ORDER.map(|table| unit(table, warehouse)));
        }
    }
    units
}

/// Rows of all units together.
pub(super) fn rows_total(config: &Config) -> u64 {
    let sets = 1..=config.sets;
    sets.map(|set| schema::rows_total(config.set_seed(set), config.warehouses))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_set_has_all_units_and_rows_of_its_own() {
        let config = Config {
            warehouses: 2,
            sets: 3,
            ..Config::default()
        };
        let units = units(&config);
        assert_eq!(units.len(), 3 * (1 + 2 * 8));
        assert!(units.is_sorted_by_key(|unit| (unit.set, unit.warehouse)));
        let of_a_set = |set| schema::rows_total(config.set_seed(set), 2);
        assert_eq!(of_a_set(1), schema::rows_total(config.seed, 2));
        assert_ne!(config.set_seed(1), config.set_seed(2));
        assert_eq!(rows_total(&config), (1..=3).map(of_a_set).sum::<u64>());
    }
}
