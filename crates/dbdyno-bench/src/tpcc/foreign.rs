//! Data that sysbench-tpcc has made: no table of ours says what there is, so that the catalogue is asked.

use std::collections::BTreeSet;

use dbdyno_model::connection::{Connection, Engine};

use super::load_error::ClientError;
use super::names::{Layout, Names};
use super::schema::Table;
use super::stored::{ReadBackError, StoredConfig};
use super::{Config, MAX_SETS, constants, mysql};
use crate::driver::target;
use crate::wire::{Link, WireError};

/// What there is, with a seed for runs to draw from.
///
/// Clause 2.1.6.1 binds the constants of a run to those of its load by how far the two for last names
/// lie apart. sysbench-tpcc draws one anew for each name that it loads, so that any will do.
pub(super) fn read(connect: &Connection, seed: u64) -> Result<StoredConfig, ReadBackError> {
    let mut link = open(connect)?;
    let tables = tables(&mut link, connect.engine).map_err(ClientError::from)?;
    let sets = sets(&tables)?;
    let layout = Layout::Sysbench;
    let mut warehouses = 0;
    for set in 1..=sets {
        let names = Names::new(layout, set, sets);
        let found = warehouses_of(&mut link, &names)?;
        if set == 1 {
            warehouses = found;
        } else if found != warehouses {
            let what = format!("it has {found} warehouses, and warehouse1 has {warehouses}");
            return Err(foreign(names.table(Table::Warehouse), what));
        }
    }
    let config = Config {
        warehouses,
        seed,
        sets,
        layout,
        foreign_keys: has_foreign_keys(&mut link, connect.engine).map_err(ClientError::from)?,
    };
    Ok(StoredConfig {
        config,
        constants: constants(seed),
    })
}

fn open(connect: &Connection) -> Result<Link, ClientError> {
    match connect.engine {
        Engine::MySql => mysql::connect::open(connect),
        Engine::Postgres => Ok(Link::open(&target(connect)?)?),
    }
}

fn foreign(table: &str, what: impl Into<String>) -> ReadBackError {
    ReadBackError::Foreign {
        table: table.to_owned(),
        what: what.into(),
    }
}

/// Those that are found without a schema before their names, in lower case.
fn tables(link: &mut Link, engine: Engine) -> Result<BTreeSet<String>, WireError> {
    let sql = match engine {
        Engine::Postgres => {
            "SELECT relname::text FROM pg_class
             WHERE relkind IN ('r', 'p') AND pg_table_is_visible(oid)"
        }
        Engine::MySql => {
            "SELECT lower(table_name) FROM information_schema.tables
             WHERE table_schema = database()"
        }
    };
    let mut found = BTreeSet::new();
    link.rows(sql, |mut row| {
        found.insert(row.text()?.to_owned());
        Ok(())
    })?;
    Ok(found)
}

/// As many as there are warehouse tables, each of which has its other eight beside it.
fn sets(tables: &BTreeSet<String>) -> Result<u32, ReadBackError> {
    let names = |set| Names::new(Layout::Sysbench, set, MAX_SETS);
    let has = |set: &u32| tables.contains(names(*set).table(Table::Warehouse));
    let sets = (1..=MAX_SETS).take_while(has).count();
    let sets = u32::try_from(sets).unwrap_or(MAX_SETS);
    if sets == 0 {
        return Err(foreign("warehouse1", "it is missing"));
    }
    for set in 1..=sets {
        let names = names(set);
        let mut all = Table::ALL.into_iter().map(|table| names.table(table));
        if let Some(missing) = all.find(|name| !tables.contains(*name)) {
            return Err(foreign(missing, "it is missing"));
        }
    }
    Ok(sets)
}

/// Counted from 1 without a gap, or the load did not finish.
fn warehouses_of(link: &mut Link, names: &Names) -> Result<u32, ReadBackError> {
    let (mut count, mut last) = (0, 0);
    let sql = names.sql("SELECT count(*), coalesce(max(w_id), 0) FROM {warehouse}");
    link.rows(&sql, |mut row| {
        (count, last) = (row.int()?, row.int()?);
        Ok(())
    })
    .map_err(ClientError::from)?;
    match u32::try_from(count) {
        Ok(warehouses) if warehouses > 0 && count == last => Ok(warehouses),
        _ => Err(foreign(
            names.table(Table::Warehouse),
            format!("it has {count} warehouses up to number {last}"),
        )),
    }
}

fn has_foreign_keys(link: &mut Link, engine: Engine) -> Result<bool, WireError> {
    let sql = match engine {
        Engine::Postgres => {
            "SELECT count(*) FROM pg_constraint
             WHERE contype = 'f' AND conrelid = to_regclass('new_orders1')"
        }
        Engine::MySql => {
            "SELECT count(*) FROM information_schema.table_constraints
             WHERE constraint_type = 'FOREIGN KEY' AND table_schema = database()
               AND table_name = 'new_orders1'"
        }
    };
    let mut count = 0;
    link.rows(sql, |mut row| {
        count = row.int()?;
        Ok(())
    })?;
    Ok(count > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_sets(sets: u32) -> BTreeSet<String> {
        let names = (1..=sets).map(|set| Names::new(Layout::Sysbench, set, sets));
        names
            .flat_map(|names| Table::ALL.map(|table| names.table(table).to_owned()))
            .collect()
    }

    #[test]
    fn sets_are_counted_by_their_warehouse_tables() {
        assert_eq!(sets(&of_sets(1)).unwrap(), 1);
        let mut tables = of_sets(12);
        tables.insert("warehouse14".to_owned());
        tables.insert("warehouse".to_owned());
        assert_eq!(sets(&tables).unwrap(), 12);
    }

    #[test]
    fn what_is_missing_is_named() {
        let error = sets(&BTreeSet::new()).unwrap_err().to_string();
        assert_eq!(error, "cannot use table warehouse1: it is missing");
        let mut tables = of_sets(2);
        tables.remove("new_orders2");
        let error = sets(&tables).unwrap_err().to_string();
        assert_eq!(error, "cannot use table new_orders2: it is missing");
    }
}
