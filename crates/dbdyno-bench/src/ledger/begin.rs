//! Makes the tables of a load, all of them or none and none that is there already, or finds those of
//! an earlier one to go on with.

use dbdyno_model::connection::Engine;

use super::{Done, LOAD, Ledger, STEP, Start, TABLES, TextSql};
use crate::tpcc::{ClientError, LoadError};

/// What a load makes before its rows.
pub(crate) struct Plan<'l> {
    pub(crate) ledger: &'l Ledger,
    /// Each with the statement that creates it; one that vouches for the others comes first.
    pub(crate) tables: Vec<(String, String)>,
    /// What says in that one what is loaded.
    pub(crate) insert: Option<String>,
}

/// How it has begun.
#[derive(Debug)]
pub(crate) enum Begun {
    /// The tables are there; so is what is done.
    Ready(Done),
    /// To be resumed, and there is no record, but there is this table, the first of them.
    Unrecorded(String),
}

#[derive(Debug)]
pub(crate) enum BeginError {
    Exists {
        table: String,
        /// None where it was seen before anything was tried.
        source: Option<ClientError>,
    },
    Load(LoadError),
}

impl From<LoadError> for BeginError {
    fn from(error: LoadError) -> Self {
        Self::Load(error)
    }
}

impl From<BeginError> for LoadError {
    fn from(error: BeginError) -> Self {
        match error {
            BeginError::Exists { table, source } => Self::Exists { table, source },
            BeginError::Load(error) => error,
        }
    }
}

impl Plan<'_> {
    pub(crate) fn begin(
        &self,
        connection: &mut dyn TextSql,
        start: Start,
    ) -> Result<Begun, BeginError> {
        let ledger = self.ledger;
        let names = self.tables.iter().map(|(name, _)| name.as_str());
        let mut wanted: Vec<&str> = names.clone().collect();
        wanted.push(&ledger.table);
        let present = present(connection, ledger.engine, &wanted);
        let present = present.map_err(failed("look for", &ledger.table))?;
        let is_there = |name: &str| present.iter().any(|present| present == name);
        if !is_there(&ledger.table) {
            return match (names.clone().find(|name| is_there(name)), start) {
                (None, _) => {
                    self.create(connection, &[], None)?;
                    Ok(Begun::Ready(Done::default()))
                }
                (Some(table), Start::Fresh) => Err(BeginError::Exists {
                    table: table.to_owned(),
                    source: None,
                }),
                (Some(table), Start::Resume) => Ok(Begun::Unrecorded(table.to_owned())),
            };
        }
        let done = ledger.read(connection);
        let done = done.map_err(failed("read", &ledger.table))?;
        if start == Start::Fresh {
            let loaded = done.identity.unwrap_or_else(|| "nothing yet".to_owned());
            return Err(LoadError::Unfinished { loaded }.into());
        }
        if let Some(found) = &done.identity
            && *found != ledger.identity
        {
            let (found, wanted) = (found.clone(), ledger.identity.clone());
            return Err(LoadError::Differs { found, wanted }.into());
        }
        if !done.steps.contains(TABLES) {
            self.create(connection, &present, done.identity.as_deref())?;
        } else if let Some(gone) = names.clone().find(|name| !is_there(name)) {
            let why = format!("its table {gone} is gone");
            return Err(LoadError::Unresumable(why).into());
        }
        Ok(Begun::Ready(done))
    }

    /// Makes what is not there; what a refusal leaves half-made is removed. The record comes first,
    /// so that whatever follows can be told from the user's own.
    fn create(
        &self,
        connection: &mut dyn TextSql,
        present: &[String],
        identity: Option<&str>,
    ) -> Result<(), BeginError> {
        let mut made = Vec::new();
        let all = self.create_each(connection, present, identity, &mut made);
        if all.is_err() {
            // Nobody needs to know that these failed too.
            let _ = connection.run_text("ROLLBACK");
            // CREATE TABLE commits there.
            if self.ledger.engine == Engine::MySql && !made.is_empty() {
                let undo = format!("DROP TABLE IF EXISTS {}", made.join(", "));
                let _ = connection.run_text(&undo);
            }
        }
        all
    }

    fn create_each(
        &self,
        connection: &mut dyn TextSql,
        present: &[String],
        identity: Option<&str>,
        made: &mut Vec<String>,
    ) -> Result<(), BeginError> {
        let ledger = self.ledger;
        let is_there = |name: &str| present.iter().any(|present| present == name);
        if ledger.engine == Engine::Postgres {
            let begun = connection.run_text("BEGIN");
            begun.map_err(failed("begin the load in", &ledger.table))?;
        }
        if !is_there(&ledger.table) {
            let created = connection.run_text(&ledger.create());
            created.map_err(failed("create", &ledger.table))?;
            made.push(ledger.table.clone());
        }
        if identity.is_none() {
            let recorded = connection.run_text(&ledger.record(LOAD, &ledger.identity));
            recorded.map_err(failed("insert into", &ledger.table))?;
        }
        let mut insert = self.insert.as_deref();
        for (name, create) in &self.tables {
            if !is_there(name) {
                let created = connection.run_text(create);
                created.map_err(|error| not_created(name, error))?;
                made.push(name.clone());
            }
            // Before the others: it says what they are called to who removes them.
            if let Some(insert) = insert.take() {
                insert_once(connection, name, insert)?;
            }
        }
        for sql in [ledger.record(STEP, TABLES).as_str(), "COMMIT"] {
            let run = connection.run_text(sql);
            run.map_err(failed("begin the load in", &ledger.table))?;
        }
        Ok(())
    }
}

/// CREATE TABLE commits on MySQL: an earlier load may have been cut off before this row, or behind it.
fn insert_once(connection: &mut dyn TextSql, table: &str, insert: &str) -> Result<(), LoadError> {
    let rows = connection.texts(&format!("SELECT 'row' FROM {table}"));
    if rows.map_err(failed("read", table))?.is_empty() {
        let inserted = connection.run_text(insert);
        inserted.map_err(failed("insert into", table))?;
    }
    Ok(())
}

/// Somebody else may have been quicker.
fn not_created(table: &str, source: ClientError) -> BeginError {
    if source.is_duplicate_table() {
        let (table, source) = (table.to_owned(), Some(source));
        return BeginError::Exists { table, source };
    }
    failed("create", table)(source).into()
}

fn failed(operation: &'static str, table: &str) -> impl FnOnce(ClientError) -> LoadError {
    let object = format!("table {table}");
    move |source| LoadError::Sql {
        operation,
        object,
        source,
    }
}

/// Those of these names that the schema or database knows.
pub(crate) fn present(
    connection: &mut dyn TextSql,
    engine: Engine,
    names: &[&str],
) -> Result<Vec<String>, ClientError> {
    let quoted: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    let list = quoted.join(", ");
    connection.texts(&match engine {
        Engine::Postgres => format!(
            "SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
             WHERE n.nspname = current_schema() AND c.relname IN ({list})"
        ),
        Engine::MySql => format!(
            "SELECT table_name FROM information_schema.tables
             WHERE table_schema = database() AND table_name IN ({list})"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{ServerError, WireError};

    #[test]
    fn a_table_that_somebody_else_made_is_told_apart() {
        let refused = |sqlstate: &str| {
            let error = ServerError {
                sqlstate: sqlstate.to_owned(),
                number: None,
                message: String::new(),
                hint: None,
                fatal: false,
            };
            not_created("stock", WireError::from(error).into())
        };
        for taken in ["42P07", "42S01"] {
            assert!(matches!(
                refused(taken),
                BeginError::Exists { table, .. } if table == "stock"
            ));
        }
        assert!(matches!(
            refused("42000"),
            BeginError::Load(LoadError::Sql { .. })
        ));
    }
}
