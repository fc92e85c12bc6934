//! What a load is made of, how far it has come, and what it came to.

use dbdyno_model::connection::Engine;

use super::names::statements;
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
    let Config {
        warehouses,
        seed,
        sets,
        layout,
        foreign_keys,
    } = config;
    let layout = layout.name();
    format!(
        "version={version} warehouses={warehouses} seed={seed} sets={sets} layout={layout} \
         foreign_keys={foreign_keys}"
    )
}

pub(super) fn ledger(engine: Engine, config: &Config) -> Ledger {
    Ledger::new(engine, LEDGER, identity(engine, config))
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

/// As the record of a load names it.
pub(super) fn unit_name(unit: &Unit) -> String {
    let Unit {
        set,
        table,
        warehouse,
    } = unit;
    format!("set {set} {} {warehouse}", table.name())
}

/// Rows of all of them.
pub(super) fn rows_of(config: &Config, units: &[Unit]) -> u64 {
    let each = units.iter();
    each.map(|unit| unit.table.rows(config.set_seed(unit.set), unit.warehouse))
        .sum()
}

/// The statements of all sets.
pub(super) fn steps(config: &Config, templates: &[(Table, &str)]) -> Vec<Step> {
    let each = statements(config, templates).into_iter();
    each.map(|(table, sql)| Step::new(table, sql)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::tpcc::Layout;

    #[test]
    fn every_set_has_all_units_and_rows_of_its_own() {
        let config = Config {
            warehouses: 2,
            sets: 3,
            ..Config::default()
        };
        let all = units(&config);
        assert_eq!(all.len(), 3 * (1 + 2 * 8));
        assert!(all.is_sorted_by_key(|unit| (unit.set, unit.warehouse)));
        let of_a_set = |set: u32| {
            let units = all.iter().copied().filter(|unit| unit.set == set);
            rows_of(&config, &units.collect::<Vec<Unit>>())
        };
        let alone = Config { sets: 1, ..config };
        assert_eq!(of_a_set(1), rows_of(&alone, &units(&alone)));
        assert_ne!(config.set_seed(1), config.set_seed(2));
        assert_eq!(rows_of(&config, &all), (1..=3).map(of_a_set).sum::<u64>());
    }

    #[test]
    fn every_unit_has_a_name_of_its_own() {
        let config = Config {
            warehouses: 3,
            sets: 12,
            ..Config::default()
        };
        let names: HashSet<String> = units(&config).iter().map(unit_name).collect();
        assert_eq!(names.len(), 12 * (1 + 3 * 8));
        assert!(names.contains("set 1 order_line 3") && names.contains("set 12 item 0"));
    }

    #[test]
    fn steps_are_about_the_tables_of_every_set() {
        let config = Config {
            sets: 2,
            ..Config::default()
        };
        let steps = steps(&config, &[(Table::Stock, "ANALYZE TABLE {stock}")]);
        let told = steps.iter().map(|step| (&*step.table, &*step.sql));
        let expected = [
            ("stock1", "ANALYZE TABLE stock1"),
            ("stock2", "ANALYZE TABLE stock2"),
        ];
        assert!(told.eq(expected));
    }

    #[test]
    fn loads_of_other_rows_or_tables_are_told_apart() {
        let config = Config {
            warehouses: 3,
            seed: 7,
            ..Config::default()
        };
        let others = [
            Config { seed: 8, ..config },
            Config {
                warehouses: 4,
                ..config
            },
            Config { sets: 2, ..config },
            Config {
                layout: Layout::Sysbench,
                ..config
            },
            Config {
                foreign_keys: false,
                ..config
            },
        ];
        for engine in [Engine::Postgres, Engine::MySql] {
            let told = identity(engine, &config);
            let expected = "warehouses=3 seed=7 sets=1 layout=own foreign_keys=true";
            assert!(told.ends_with(expected), "{told}");
            for other in others {
                assert_ne!(told, identity(engine, &other));
            }
        }
    }
}
