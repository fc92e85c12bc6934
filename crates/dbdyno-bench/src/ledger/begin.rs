//! Makes the tables of a load, all of them or none and none that is there already, or finds those of
//! an earlier one to go on with.

use dbdyno_model::connection::Engine;

use super::{Done, LOAD, Ledger, STEP, Start, TABLES, TextSql};
use crate::tpcc::{ClientError, LoadError};

/// What a load makes before its rows.
pub(crate) struct Plan<'l, 'a> {
    pub(crate) ledger: &'l Ledger,
    /// Each with the statement that creates it; one that vouches for the others comes first.
    pub(crate) tables: Vec<(&'a str, String)>,
    /// What says in them what is loaded.
    pub(crate) insert: Option<String>,
}

/// How it has begun.
#[derive(Debug)]
pub(crate) enum Begun<'a> {
    /// The tables are there; so is what is done.
    Ready(Done),
    /// To be resumed, and there is no record, but there is this table, the first of them.
    Unrecorded(&'a str),
}

#[derive(Debug)]
pub(crate) enum BeginError<'a> {
    Exists {
        table: &'a str,
        /// None where it was seen before anything was tried.
        source: Option<ClientError>,
    },
    Load(LoadError),
}

impl From<LoadError> for BeginError<'_> {
    fn from(error: LoadError) -> Self {
        Self::Load(error)
    }
}

impl From<BeginError<'static>> for LoadError {
    fn from(error: BeginError<'static>) -> Self {
        match error {
            BeginError::Exists { table, source } => Self::Exists { table, source },
            BeginError::Load(error) => error,
        }
    }
}

impl<'a> Plan<'_, 'a> {
    pub(crate) fn begin(
        &self,
        connection: &mut dyn TextSql,
        start: Start,
    ) -> Result<Begun<'a>, BeginError<'a>> {
        let ledger = self.ledger;
        let names = self.tables.iter().map(|(name, _)| *name);
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
                    table,
                    source: None,
                }),
                (Some(table), Start::Resume) => Ok(Begun::Unrecorded(table)),
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
    ) -> Result<(), BeginError<'a>> {
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
    ) -> Result<(), BeginError<'a>> {
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
        for &(name, ref create) in &self.tables {
            if !is_there(name) {
                let created = connection.run_text(create);
                created.map_err(|error| not_created(name, error))?;
                made.push(name.to_owned());
            }
        }
        // Together, so that what is loaded is not written twice.
        let begin = match ledger.engine {
            Engine::Postgres => None,
            Engine::MySql => Some("BEGIN"),
        };
        let record = ledger.record(STEP, TABLES);
        let all = begin.into_iter().chain(self.insert.as_deref());
        for sql in all.chain([record.as_str(), "COMMIT"]) {
            let run = connection.run_text(sql);
            run.map_err(failed("begin the load in", &ledger.table))?;
        }
        Ok(())
    }
}

/// Somebody else may have been quicker.
fn not_created<'a>(table: &'a str, source: ClientError) -> BeginError<'a> {
    if source.is_duplicate_table() {
        let source = Some(source);
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
