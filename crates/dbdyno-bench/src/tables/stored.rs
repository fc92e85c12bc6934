//! The table that says what was loaded, so that a run on other data is refused and only our own is dropped.

use dbdyno_model::connection::{Connection, Engine};

use super::{Contents, number, open, units_table};
use crate::tpcc::crew::refused;
use crate::tpcc::{ClientError, LoadError};
use crate::wire::{Link, Row, Session, WireError};

pub(super) fn create(contents: &dyn Contents) -> String {
    format!(
        "CREATE TABLE {} (loaded varchar(200) NOT NULL PRIMARY KEY, ready boolean NOT NULL)",
        contents.stored()
    )
}

/// Writes the row of a load that begins.
pub(super) fn begin(contents: &dyn Contents) -> String {
    let (table, identity) = (contents.stored(), contents.identity());
    format!("INSERT INTO {table} VALUES ('{identity}', false)")
}

pub(super) fn finish(contents: &dyn Contents) -> String {
    format!("UPDATE {} SET ready = true", contents.stored())
}

/// What was loaded, and whether the load has ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stored {
    loaded: String,
    ready: bool,
}

fn select(contents: &dyn Contents) -> String {
    format!("SELECT loaded, ready FROM {}", contents.stored())
}

fn take(mut row: Row<'_>) -> Result<Stored, WireError> {
    Ok(Stored {
        loaded: row.text()?.to_owned(),
        ready: row.int()? != 0,
    })
}

/// Why this is not the wanted load, complete.
pub(super) fn differs(found: Option<&Stored>, identity: &str) -> Option<String> {
    match found {
        None => Some("the database does not say what was loaded".to_owned()),
        Some(Stored { ready: false, .. }) => Some("the load did not finish".to_owned()),
        Some(Stored { loaded, .. }) if loaded != identity => Some(format!(
            "the database holds \"{loaded}\", not \"{identity}\""
        )),
        Some(_) => None,
    }
}

pub(super) fn read(link: &mut Link, contents: &dyn Contents) -> Result<Option<Stored>, WireError> {
    let mut found = None;
    link.rows(&select(contents), |row| {
        found = Some(take(row)?);
        Ok(())
    })?;
    Ok(found)
}

/// Whether it is this load that has ended, of one that has left no record of what it has done.
pub(super) fn left_to_resume(link: &mut Link, contents: &dyn Contents) -> Result<(), LoadError> {
    let wanted = contents.identity();
    let found = read(link, contents).map_err(refused("read", contents.stored()))?;
    match found {
        Some(Stored {
            loaded,
            ready: true,
        }) if loaded == wanted => Ok(()),
        Some(Stored {
            loaded,
            ready: true,
        }) => Err(LoadError::Differs {
            found: loaded,
            wanted,
        }),
        Some(Stored { ready: false, .. }) | None => Err(LoadError::Unresumable(
            "there is no record of what it has done".to_owned(),
        )),
    }
}

/// Refuses to run on anything but this load.
pub(crate) async fn recognise(
    session: &mut Session,
    contents: &dyn Contents,
) -> Result<(), WireError> {
    let statement = session.prepare(&select(contents)).await?;
    let mut found = None;
    session.queue(&statement, |_| {})?;
    session
        .rows(&statement, |row| {
            found = Some(take(row)?);
            Ok(())
        })
        .await?;
    match differs(found.as_ref(), &contents.identity()) {
        None => Ok(()),
        Some(difference) => Err(WireError::protocol(format!(
            "{difference}: remove it with bench clean and load again"
        ))),
    }
}

/// The database does not say what was loaded, so that nothing can run on it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadBackError {
    #[error("cannot read table {0}: the database holds no load of {1}")]
    NotLoaded(&'static str, &'static str),
    #[error("cannot use table {0}: the load did not finish")]
    Unfinished(&'static str),
    #[error("cannot use table {table}: it holds \"{found}\", which {wants}")]
    Other {
        table: &'static str,
        found: String,
        wants: &'static str,
    },
    #[error("cannot read what was loaded: {}", .0.deepest())]
    Sql(#[from] ClientError),
}

/// What was loaded to its end, as [`Contents::identity`] wrote it.
pub(crate) fn read_back(
    connection: &Connection,
    contents: &dyn Contents,
    workload: &'static str,
) -> Result<String, ReadBackError> {
    let mut link = open(connection)?;
    let table = contents.stored();
    if !is_there(&mut link, connection.engine, table).map_err(ClientError::from)? {
        return Err(ReadBackError::NotLoaded(table, workload));
    }
    match read(&mut link, contents).map_err(ClientError::from)? {
        Some(Stored {
            loaded,
            ready: true,
        }) => Ok(loaded),
        _ => Err(ReadBackError::Unfinished(table)),
    }
}

/// The value behind `name=` in what was loaded.
pub(crate) fn field<'a>(identity: &'a str, name: &str) -> Option<&'a str> {
    let mut words = identity.split(' ').filter_map(|word| word.split_once('='));
    words.find_map(|(key, value)| (key == name).then_some(value))
}

fn is_there(link: &mut Link, engine: Engine, table: &str) -> Result<bool, WireError> {
    let look = match engine {
        Engine::Postgres => {
            format!("SELECT CASE WHEN to_regclass('{table}') IS NULL THEN 0 ELSE 1 END")
        }
        Engine::MySql => format!(
            "SELECT count(*) FROM information_schema.tables
             WHERE table_schema = database() AND table_name = '{table}'"
        ),
    };
    Ok(number(link, &look)? != 0)
}

/// Whether a load of ours has left tables, or the record of one.
pub(crate) fn is_left(
    connection: &Connection,
    contents: &dyn Contents,
) -> Result<bool, ClientError> {
    let mut link = open(connection)?;
    let ours = is_there(&mut link, connection.engine, contents.stored())?;
    Ok(ours || is_there(&mut link, connection.engine, &units_table(contents))?)
}

/// Drops all tables, if the one that vouches for them is there; whether there was anything.
pub(crate) fn clean(connection: &Connection, contents: &dyn Contents) -> Result<bool, ClientError> {
    let mut link = open(connection)?;
    let (stored, units) = (contents.stored(), units_table(contents));
    let ours = is_there(&mut link, connection.engine, stored)?;
    // Without the others it is left by a load that was cut off before it made any.
    if !ours && !is_there(&mut link, connection.engine, &units)? {
        return Ok(false);
    }
    // The one that vouches last: what fails half-way can be repeated.
    let mut names = vec![units.as_str()];
    if ours {
        let tables = contents.create(connection.engine).into_iter();
        names.extend(tables.map(|(name, _)| name));
        names.push(stored);
    }
    link.run(&format!("DROP TABLE IF EXISTS {}", names.join(", ")))?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_load_is_accepted_and_only_when_it_has_ended() {
        let stored = |loaded: &str, ready| {
            Some(Stored {
                loaded: loaded.to_owned(),
                ready,
            })
        };
        let differs = |found: Option<Stored>| differs(found.as_ref(), "rows=7 seed=1");
        assert_eq!(differs(stored("rows=7 seed=1", true)), None);
        let other = differs(stored("rows=8 seed=1", true)).unwrap();
        assert!(
            other.contains("rows=8") && other.contains("rows=7"),
            "{other}"
        );
        assert!(differs(stored("rows=7 seed=1", false)).is_some());
        assert!(differs(None).is_some());
    }
}
