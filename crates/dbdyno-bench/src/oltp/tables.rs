//! The tables as the database's catalog shows them, the same for both engines.

use std::collections::{BTreeMap, BTreeSet};

use dbdyno_model::connection::{Connection, Engine};

use super::Config;
use crate::driver::target;
use crate::tpcc::{ClientError, mysql};
use crate::wire::{Link, WireError};

/// In their order.
const COLUMNS: [&str; 4] = ["id", "k", "c", "pad"];

/// Begins the comment of each table that a load of ours makes; what was loaded follows. It goes
/// with the table, so that one that sysbench makes under the same name later has none.
const MARK: &str = "dbdyno: ";

/// A table of sysbench's name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// Whether it has the columns that sysbench makes.
    pub(super) fits: bool,
    /// What was loaded, where a load of ours has made it.
    pub(super) loaded: Option<String>,
}

impl Found {
    pub(super) fn is_ours(&self) -> bool {
        self.fits && self.loaded.is_some()
    }
}

/// Of a table, counted from 1.
pub fn name(table: u32) -> String {
    format!("sbtest{table}")
}

/// The number in such a name.
fn number(table: &str) -> Option<u32> {
    let number = table.strip_prefix("sbtest")?.parse().ok()?;
    (number > 0 && name(number) == table).then_some(number)
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

/// All tables sbtest1, sbtest2 and so on, by their numbers.
pub(super) fn found(link: &mut Link, engine: Engine) -> Result<BTreeMap<u32, Found>, WireError> {
    let mut loaded = marks(link, engine)?;
    let present = columns(link, engine)?.into_iter();
    let numbered = present.filter_map(|(table, columns)| {
        let found = Found {
            fits: columns == COLUMNS,
            loaded: loaded.remove(&table),
        };
        Some((number(&table)?, found))
    });
    Ok(numbered.collect())
}

/// What the comments of tables say that we loaded.
fn marks(link: &mut Link, engine: Engine) -> Result<BTreeMap<String, String>, WireError> {
    let sql = match engine {
        Engine::Postgres => {
            "SELECT c.relname::text, obj_description(c.oid, 'pg_class')
             FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
             WHERE n.nspname = current_schema() AND c.relname LIKE 'sbtest%'"
        }
        Engine::MySql => {
            "SELECT table_name, CAST(table_comment AS char) FROM information_schema.tables
             WHERE table_schema = database() AND table_name LIKE 'sbtest%'"
        }
    };
    let mut marks = BTreeMap::new();
    link.rows(sql, |mut row| {
        let table = row.text()?.to_owned();
        let comment = row.try_text()?.unwrap_or_default();
        if let Some(loaded) = comment.strip_prefix(MARK) {
            marks.insert(table, loaded.to_owned());
        }
        Ok(())
    })?;
    Ok(marks)
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

/// What makes one, and says in its comment what a load will have put into it. On PostgreSQL the
/// primary key comes when the rows are there.
pub(super) fn create(table: &str, engine: Engine, loaded: &str) -> String {
    match engine {
        Engine::Postgres => format!(
            "CREATE TABLE {table} (id SERIAL, k INTEGER NOT NULL DEFAULT 0,
                c CHAR(120) NOT NULL DEFAULT '', pad CHAR(60) NOT NULL DEFAULT '');
             COMMENT ON TABLE {table} IS '{MARK}{loaded}'"
        ),
        Engine::MySql => format!(
            "CREATE TABLE {table} (id INTEGER NOT NULL AUTO_INCREMENT,
                k INTEGER NOT NULL DEFAULT 0, c CHAR(120) NOT NULL DEFAULT '',
                pad CHAR(60) NOT NULL DEFAULT '', PRIMARY KEY (id))
                ENGINE = InnoDB COMMENT = '{MARK}{loaded}'"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_ours_by_its_columns_and_its_comment_together() {
        let found = |fits, loaded: Option<&str>| Found {
            fits,
            loaded: loaded.map(str::to_owned),
        };
        assert!(found(true, Some("tables=1")).is_ours());
        assert!(!found(true, None).is_ours());
        assert!(!found(false, Some("tables=1")).is_ours());
    }

    #[test]
    fn names_are_those_that_sysbench_gives() {
        assert_eq!(number(&name(17)), Some(17));
        for other in [
            "sbtest",
            "sbtest0",
            "sbtest01",
            "sbtest+1",
            "sbtest1_old",
            "mine",
        ] {
            assert_eq!(number(other), None, "{other}");
        }
    }

    #[test]
    fn a_table_is_made_with_its_mark() {
        for engine in [Engine::Postgres, Engine::MySql] {
            let sql = create("sbtest3", engine, "tables=3 table_size=9");
            assert!(sql.contains("'dbdyno: tables=3 table_size=9'"), "{sql}");
        }
    }
}
