//! What a table and its indexes take, and how full their pages are, as far as the server tells.

use dbdyno_model::connection::{Connection, Engine};
use dbdyno_model::{Fact, Footprint};

use super::{Contents, mysql, open, postgres};
use crate::tpcc::ClientError;
use crate::wire::{Link, Row, WireError};

/// Reads the whole table, on PostgreSQL with the extension several times. Blocks.
pub(crate) fn footprint(
    connection: &Connection,
    contents: &dyn Contents,
) -> Result<Footprint, ClientError> {
    let mut link = open(connection)?;
    Ok(match connection.engine {
        Engine::Postgres => postgres::footprint(&mut link, contents)?,
        Engine::MySql => mysql::footprint(&mut link, contents)?,
    })
}

/// What a statement reads, or why the server does not tell.
pub(super) fn fact<T>(
    link: &mut Link,
    origin: &str,
    sql: &str,
    value: impl Fn(&mut Row<'_>) -> Result<T, WireError>,
) -> Result<Fact<T>, WireError> {
    let mut found = None;
    let read = link.rows(sql, |mut row| {
        found = Some(value(&mut row)?);
        Ok(())
    });
    Ok(match (read, found) {
        (Ok(_), Some(value)) => Fact::known(value, origin),
        (Ok(_), None) => Fact::unknown("the server does not list it", origin),
        (Err(WireError::Server(error)), _) if !error.fatal => {
            Fact::unknown(error.to_string(), origin)
        }
        (Err(error), _) => return Err(error),
    })
}

/// A size or a count as servers send it.
pub(super) fn unsigned(row: &mut Row<'_>) -> Result<u64, WireError> {
    let value = row.int()?;
    u64::try_from(value).map_err(|_| WireError::protocol(format!("a size of {value}")))
}
