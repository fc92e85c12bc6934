//! The tables as the database's catalog shows them, the same for both engines.

use std::collections::{BTreeMap, BTreeSet};

use dbdyno_model::connection::{Connection, Engine};

use super::Config;
use crate::driver::target;
use crate::tpcc::{ClientError, mysql};
use crate::wire::{Link, WireError};

/// In their order.
const COLUMNS: [&str; 4] = ["id", "k", "c", "pad"];

/// Of a table, counted from 1.
pub(super) fn name(table: u32) -> String {
    format!("sbtest{table}")
}

pub(super) fn names(config: &Config) -> impl Iterator<Item = String> + use<> {
    (1..=config.tables).map(name)
}

/// Opens a connection whose statements may take as long as they need.
pub(super) fn open(connect: &Connection) -> Result<Link, ClientError> {
    if connect.engine == Engine::MySql {
        return mysql::connect::open(connect);
    }
    let mut link = Link::open(&target(connect)?)?;
    link.run(
        "SET statement_timeout = 0; SET lock_timeout = 0;
         SET idle_in_transaction_session_timeout = 0; SET client_min_messages = warning;
         SET jit = off",
    )?;
    Ok(link)
}

/// Tables whose names begin like ours, with their columns.
pub(super) fn columns(
    link: &mut Link,
    engine: Engine,
) -> Result<BTreeMap<String, Vec<String>>, WireError> {
    let sql = match engine {
        Engine::Postgres => {
            "SELECT table_name::text, column_name::text FROM information_schema.columns
             WHERE table_schema = current_schema() AND table_name LIKE 'sbtest%'
             ORDER BY table_name, ordinal_position"
        }
        Engine::MySql => {
            "SELECT table_name, column_name FROM information_schema.columns
             WHERE table_schema = database() AND table_name LIKE 'sbtest%'
             ORDER BY table_name, ordinal_position"
        }
    };
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    link.rows(sql, |mut row| {
        let table = row.text()?.to_owned();
        found.entry(table).or_default().push(row.text()?.to_owned());
        Ok(())
    })?;
    Ok(found)
}

/// Whether these are the columns that sysbench makes.
pub(super) fn are_ours(columns: &[String]) -> bool {
    columns == COLUMNS
}

/// Tables whose names begin like ours and that have an index which begins with k.
pub(super) fn indexed(link: &mut Link, engine: Engine) -> Result<BTreeSet<String>, WireError> {
    let sql = match engine {
        Engine::Postgres => {
            "SELECT t.relname::text FROM pg_index i
             JOIN pg_class t ON t.oid = i.indrelid
             JOIN pg_namespace n ON n.oid = t.relnamespace
             JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = i.indkey[0]
             WHERE a.attname = 'k' AND i.indisvalid
               AND n.nspname = current_schema() AND t.relname LIKE 'sbtest%'"
        }
        Engine::MySql => {
            "SELECT table_name FROM information_schema.statistics
             WHERE table_schema = database() AND table_name LIKE 'sbtest%'
               AND column_name = 'k' AND seq_in_index = 1"
        }
    };
    let mut found = BTreeSet::new();
    link.rows(sql, |mut row| {
        found.insert(row.text()?.to_owned());
        Ok(())
    })?;
    Ok(found)
}

/// What makes one. On PostgreSQL the primary key comes when the rows are there.
pub(super) fn create(table: &str, engine: Engine) -> String {
    match engine {
        Engine::Postgres => format!(
            "CREATE TABLE {table} (id SERIAL, k INTEGER NOT NULL DEFAULT 0,
                c CHAR(120) NOT NULL DEFAULT '', pad CHAR(60) NOT NULL DEFAULT '')"
        ),
        Engine::MySql => format!(
            "CREATE TABLE {table} (id INTEGER NOT NULL AUTO_INCREMENT,
                k INTEGER NOT NULL DEFAULT 0, c CHAR(120) NOT NULL DEFAULT '',
                pad CHAR(60) NOT NULL DEFAULT '', PRIMARY KEY (id)) ENGINE = InnoDB"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_columns_are_not_ours() {
        let columns = |names: &[&str]| {
            let owned = names.iter().map(|name| (*name).to_owned());
            owned.collect::<Vec<String>>()
        };
        assert!(are_ours(&columns(&["id", "k", "c", "pad"])));
        assert!(!are_ours(&columns(&["id", "k", "c"])));
        assert!(!are_ours(&columns(&["id", "k", "c", "pad", "more"])));
        assert!(!are_ours(&columns(&["k", "id", "c", "pad"])));
    }
}
