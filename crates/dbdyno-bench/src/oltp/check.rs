//! Whether the tables hold what a load left and a run may have made of it.

use dbdyno_model::connection::{Connection, Engine};
use dbdyno_model::run::Check;

use super::{Config, Kind, tables};
use crate::tpcc::conditions::Violations;
use crate::tpcc::{ClientError, When};
use crate::wire::{Link, WireError};

/// Names and what they demand.
const ROWS: &str = "as many rows in each table as the transactions leave there";
const IDS: &str = "ids from 1 to the number of rows";
const SHAPE: &str = "c of ten groups of eleven digits, pad of five";
const INDEX: &str = "an index of k on each table";

/// Reads all tables. Blocks, and must not be called from within an async runtime.
///
/// A run that inserts leaves at least the rows that were loaded, with ids of any size; one that
/// deletes, at most those.
pub fn check(connect: &Connection, config: &Config, when: When) -> Result<Vec<Check>, ClientError> {
    let mut link = tables::open(connect)?;
    let present = tables::columns(&mut link, connect.engine)?;
    let indexed = tables::indexed(&mut link, connect.engine)?;
    let [mut rows, mut ids, mut shape, mut index] = [(); 4].map(|()| Violations::default());
    for table in tables::names(config) {
        if !present.contains_key(&table) {
            rows.add(|| format!("{table} is not there"));
            continue;
        }
        if !indexed.contains(&table) {
            index.add(|| format!("{table} has none"));
        }
        let found = Found::read(&mut link, connect.engine, &table)?;
        if !found.rows_fit(config, when) {
            let expected = config.table_size;
            rows.add(|| format!("{table} has {} of {expected} rows", found.rows));
        }
        if !found.ids_fit(config, when) {
            let (lowest, highest) = (found.lowest, found.highest);
            ids.add(|| format!("{table} has ids from {lowest} to {highest}"));
        }
        if found.misshapen > 0 {
            shape.add(|| format!("{table} has {} rows of another shape", found.misshapen));
        }
    }
    Ok(vec![
        rows.into_check("rows", ROWS),
        ids.into_check("ids", IDS),
        shape.into_check("shape", SHAPE),
        index.into_check("index", INDEX),
    ])
}

/// What is to be known of one table.
#[derive(Debug, Clone, Copy)]
struct Found {
    rows: i64,
    /// Of an empty table, ids that fit.
    lowest: i64,
    highest: i64,
    misshapen: i64,
}

impl Found {
    fn read(link: &mut Link, engine: Engine, table: &str) -> Result<Self, WireError> {
        // PostgreSQL fills a char up with spaces, MySQL takes them off.
        let (c, pad) = ("([0-9]{11}-){9}[0-9]{11}", "([0-9]{11}-){4}[0-9]{11}");
        let sound = match engine {
            Engine::Postgres => format!("c ~ '^{c} *$' AND pad ~ '^{pad} *$'"),
            Engine::MySql => format!("c REGEXP '^{c}$' AND pad REGEXP '^{pad}$'"),
        };
        let sql = format!(
            "SELECT count(*), coalesce(min(id), 1), coalesce(max(id), 1),
                count(*) - count(CASE WHEN {sound} THEN 1 END) FROM {table}"
        );
        let mut found = None;
        link.rows(&sql, |mut row| {
            found = Some(Self {
                rows: row.int()?,
                lowest: row.int()?,
                highest: row.int()?,
                misshapen: row.int()?,
            });
            Ok(())
        })?;
        found.ok_or_else(|| WireError::protocol("a count of rows had no row"))
    }

    fn rows_fit(&self, config: &Config, when: When) -> bool {
        let rows = self.rows.unsigned_abs();
        match (when, config.kind) {
            (When::AfterRun, Kind::Insert) => rows >= config.table_size,
            (When::AfterRun, Kind::Delete) => rows <= config.table_size,
            _ => rows == config.table_size,
        }
    }

    fn ids_fit(&self, config: &Config, when: When) -> bool {
        let grows = when == When::AfterRun && config.kind == Kind::Insert;
        let last = if grows {
            i64::MAX
        } else {
            config.table_size as i64
        };
        self.lowest >= 1 && self.highest <= last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_inserts_and_deletes_change_the_number_of_rows() {
        let found = |rows| Found {
            rows,
            lowest: 1,
            highest: 10_001,
            misshapen: 0,
        };
        for kind in Kind::ALL {
            let config = Config::new(kind);
            let fit = [9_999, 10_000, 10_001].map(|rows| {
                let found = found(rows);
                assert_eq!(found.rows_fit(&config, When::AfterLoad), rows == 10_000);
                found.rows_fit(&config, When::AfterRun)
            });
            let expected = match kind {
                Kind::Insert => [false, true, true],
                Kind::Delete => [true, true, false],
                _ => [false, true, false],
            };
            assert_eq!(fit, expected, "{kind:?}");
            let grows = found(10_001).ids_fit(&config, When::AfterRun);
            assert_eq!(grows, kind == Kind::Insert);
            assert!(!found(10_001).ids_fit(&config, When::AfterLoad));
        }
    }
}
