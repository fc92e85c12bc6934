//! Makes the tables: all of them or none, and none that is there already.

use dbdyno_model::connection::Engine;

use super::{Contents, refused, stored};
use crate::tpcc::LoadError;
use crate::wire::{Link, WireError};

/// Behind each CREATE TABLE on MySQL and MariaDB.
const OPTIONS: &str = "ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin";

/// With what creates it.
type Table = (&'static str, String);

pub(super) fn create(
    link: &mut Link,
    contents: &dyn Contents,
    engine: Engine,
) -> Result<(), LoadError> {
    // The one that vouches first: what follows is ours as soon as it is there.
    let mut tables: Vec<Table> = vec![(contents.stored(), stored::create(contents))];
    tables.extend(contents.create(engine));
    let taken = taken(link, engine, &tables).map_err(refused("look for", contents.table()))?;
    if let Some(table) = taken {
        let (table, source) = (table.to_owned(), None);
        return Err(LoadError::Exists { table, source });
    }
    let created = match engine {
        Engine::Postgres => create_at_once(link, &tables),
        Engine::MySql => create_each(link, &tables),
    };
    created.map_err(refused("create", contents.table()))?;
    let begun = link.run(&stored::begin(contents));
    begun.map_err(refused("insert into", contents.stored()))?;
    Ok(())
}

/// The first that is there.
fn taken(
    link: &mut Link,
    engine: Engine,
    tables: &[Table],
) -> Result<Option<&'static str>, WireError> {
    let each = |quote: fn(&str) -> String| {
        let quoted: Vec<String> = tables.iter().map(|(name, _)| quote(name)).collect();
        quoted.join(", ")
    };
    let look = match engine {
        Engine::Postgres => format!(
            "SELECT relname FROM pg_class WHERE oid IN ({})",
            each(|name| format!("to_regclass('{name}')::oid"))
        ),
        Engine::MySql => format!(
            "SELECT table_name FROM information_schema.tables
             WHERE table_schema = database() AND table_name IN ({})",
            each(|name| format!("'{name}'"))
        ),
    };
    let mut found: Vec<String> = Vec::new();
    link.rows(&look, |mut row| {
        found.push(row.text()?.to_owned());
        Ok(())
    })?;
    let mut names = tables.iter().map(|(name, _)| *name);
    Ok(names.find(|name| found.iter().any(|found| found == name)))
}

/// One text of statements is one transaction.
fn create_at_once(link: &mut Link, tables: &[Table]) -> Result<(), WireError> {
    let all: Vec<&str> = tables.iter().map(|(_, create)| create.as_str()).collect();
    link.run(&all.join(";\n")).map(drop)
}

/// CREATE TABLE commits: what a refusal leaves half-made is removed.
fn create_each(link: &mut Link, tables: &[Table]) -> Result<(), WireError> {
    let mut made: Vec<&str> = Vec::new();
    for (name, create) in tables {
        if let Err(error) = link.run(&format!("{create} {OPTIONS}")) {
            if !made.is_empty() {
                // Nobody needs to know that this failed too.
                let _ = link.run(&format!("DROP TABLE IF EXISTS {}", made.join(", ")));
            }
            return Err(error);
        }
        made.push(name);
    }
    Ok(())
}
