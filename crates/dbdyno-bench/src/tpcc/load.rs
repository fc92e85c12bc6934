//! What a load is made of, how far it has come, and what it came to.

use super::schema::Table;

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
