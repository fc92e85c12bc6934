//! What a load under way has done, kept in the database, so that one that was cut off can be resumed.
//!
//! A table beside the loaded ones holds what is loaded and an entry for each unit of rows, written in
//! the transaction of these rows: they are there together, or neither is. Indexes and constraints are
//! looked up in the catalogue ([`Step`]); what no catalogue tells of has an entry too. The
//! table goes when the load has ended.

mod begin;
mod step;
mod text;

use std::collections::HashSet;

use dbdyno_model::connection::Engine;

pub(crate) use begin::{BeginError, Begun, Plan, present};
pub(crate) use step::{Step, ahead};
pub(crate) use text::TextSql;

use crate::tpcc::{ClientError, LoadError};

/// Behind each CREATE TABLE on MySQL and MariaDB whose rows are not sysbench's.
pub(crate) const INNODB: &str = "ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin";

/// Kinds of entries: the first word of each.
const LOAD: &str = "load ";
const UNIT: &str = "unit ";
const STEP: &str = "step ";

/// The step that ends when all tables are there.
const TABLES: &str = "tables";

/// What to do about an earlier load that did not end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// There must be none.
    Fresh,
    /// Go on with it, or begin where there is none.
    Resume,
}

/// The table of the entries.
#[derive(Debug, Clone)]
pub(crate) struct Ledger {
    engine: Engine,
    table: String,
    /// All that decides which rows there are, in letters, digits, `_`, `=` and blanks.
    identity: String,
}

impl Ledger {
    pub(crate) fn new(
        engine: Engine,
        table: impl Into<String>,
        identity: impl Into<String>,
    ) -> Self {
        Self {
            engine,
            table: table.into(),
            identity: identity.into(),
        }
    }

    fn create(&self) -> String {
        let create = format!(
            "CREATE TABLE {} (entry varchar(200) NOT NULL PRIMARY KEY)",
            self.table
        );
        match self.engine {
            Engine::Postgres => create,
            Engine::MySql => format!("{create} {INNODB}"),
        }
    }

    fn record(&self, kind: &str, what: &str) -> String {
        format!("INSERT INTO {} VALUES ('{kind}{what}')", self.table)
    }

    /// SQL for the transaction that holds the rows of this unit. A second load of the same unit
    /// fails by it.
    pub(crate) fn record_unit(&self, unit: &str) -> String {
        self.record(UNIT, unit)
    }

    /// These steps, which the catalogue does not show, without those that have an entry.
    pub(crate) fn recorded(&self, done: &Done, what: &str, steps: Vec<Step>) -> Vec<Step> {
        let named = steps.into_iter().map(|step| {
            let name = format!("{what} {}", step.table);
            (name, step)
        });
        let ahead = named.filter(|(name, _)| !done.steps.contains(name));
        ahead
            .map(|(name, step)| Step {
                record: Some(self.record(STEP, &name)),
                ..step
            })
            .collect()
    }

    fn read(&self, connection: &mut dyn TextSql) -> Result<Done, ClientError> {
        let select = format!("SELECT entry FROM {}", self.table);
        Ok(Done::of(connection.texts(&select)?))
    }

    /// Ends the load; `ready` says so in the table that vouches for the others.
    pub(crate) fn close(
        &self,
        connection: &mut dyn TextSql,
        ready: Option<&str>,
    ) -> Result<(), LoadError> {
        let drop = format!("DROP TABLE {}", self.table);
        // One text of statements is one transaction on PostgreSQL. Elsewhere this order can be
        // cut off as well: a load that is resumed then has nothing left but to close.
        let close = match ready {
            Some(ready) => format!("{ready}; {drop}"),
            None => drop,
        };
        let closed = connection.run_text(&close);
        closed.map_err(|source| LoadError::Sql {
            operation: "close",
            object: format!("the load in table {}", self.table),
            source,
        })
    }
}

/// What has an entry.
#[derive(Debug, Default)]
pub(crate) struct Done {
    /// None where not even that was written.
    identity: Option<String>,
    units: HashSet<String>,
    steps: HashSet<String>,
}

impl Done {
    fn of(entries: Vec<String>) -> Self {
        let mut done = Self::default();
        for entry in entries {
            if let Some(identity) = entry.strip_prefix(LOAD) {
                done.identity = Some(identity.to_owned());
            } else if let Some(unit) = entry.strip_prefix(UNIT) {
                done.units.insert(unit.to_owned());
            } else if let Some(step) = entry.strip_prefix(STEP) {
                done.steps.insert(step.to_owned());
            }
        }
        done
    }

    /// Those of all units that are not there yet.
    ///
    /// # Errors
    /// There are rows of units that are none of these.
    pub(crate) fn ahead<Unit>(
        &self,
        units: Vec<Unit>,
        name: impl Fn(&Unit) -> String,
    ) -> Result<Vec<Unit>, LoadError> {
        let all = units.len();
        let ahead = units
            .into_iter()
            .filter(|unit| !self.units.contains(&name(unit)));
        let ahead: Vec<Unit> = ahead.collect();
        if all - ahead.len() == self.units.len() {
            return Ok(ahead);
        }
        Err(LoadError::Unresumable(
            "another version of dbdyno began it, in other units".to_owned(),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger() -> Ledger {
        Ledger::new(Engine::Postgres, "dbdyno_tpcc_units", "warehouses=2 seed=1")
    }

    fn done(entries: &[&str]) -> Done {
        Done::of(entries.iter().map(|&entry| entry.to_owned()).collect())
    }

    #[test]
    fn units_that_are_there_are_not_loaded_again() {
        let units = || vec![1, 2, 3];
        let name = |unit: &i32| format!("stock {unit}");
        assert_eq!(Done::default().ahead(units(), name).unwrap(), [1, 2, 3]);
        let some = done(&["load x", "step tables", "unit stock 1", "unit stock 3"]);
        assert_eq!(some.identity.as_deref(), Some("x"));
        assert_eq!(some.ahead(units(), name).unwrap(), [2]);
        // The rows of another division into units would be there twice.
        let other = done(&["unit stock 1", "unit stock 7"]);
        let refused = other.ahead(units(), name).unwrap_err();
        assert!(matches!(refused, LoadError::Unresumable(_)), "{refused}");
    }

    #[test]
    fn steps_with_an_entry_are_not_run_again() {
        let steps = || ["stock", "item"].map(|table| Step::new(table, "ANALYZE"));
        let done = done(&["step analyze stock"]);
        let ahead = ledger().recorded(&done, "analyze", steps().into());
        assert_eq!(ahead.len(), 1);
        assert_eq!(ahead[0].table, "item");
        assert_eq!(
            ahead[0].record.as_deref(),
            Some("INSERT INTO dbdyno_tpcc_units VALUES ('step analyze item')")
        );
    }
}
