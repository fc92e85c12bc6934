//! What a table and its indexes take, and how full their pages are, as far as the server tells.

use dbdyno_model::Fact;
use dbdyno_model::connection::{Connection, Engine};
use serde::Serialize;

use super::{Contents, mysql, open, postgres};
use crate::tpcc::ClientError;
use crate::wire::{Link, Row, WireError};

/// Of the table that holds the rows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Footprint {
    pub rows: u64,
    /// On InnoDB, which keeps rows in their primary key, that index.
    pub table_bytes: Fact<u64>,
    /// All indexes; on InnoDB those beside the primary key.
    pub index_bytes: Fact<u64>,
    /// Everything: all forks of table and indexes, or the length of InnoDB's file.
    pub total_bytes: Fact<u64>,
    /// What the file takes of its disk, less than its length where it has holes.
    pub allocated_bytes: Fact<u64>,
    pub fills: Vec<Fill>,
}

/// How full the pages of a table or an index are.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fill {
    pub name: String,
    /// Of a table all its pages, of an index its leaves.
    pub pages: Fact<u64>,
    /// Between 0 and 1; on InnoDB an estimate from the size of a row.
    pub fill: Fact<f64>,
}

impl Footprint {
    /// Table and indexes together; none where nothing is stored or the size is unknown.
    #[must_use]
    pub fn bytes_per_row(&self) -> Option<f64> {
        let total = self.total_bytes.get()?;
        (self.rows > 0).then(|| total as f64 / self.rows as f64)
    }
}

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
            Fact::unknown(error.message.clone(), origin)
        }
        (Err(error), _) => return Err(error),
    })
}

/// A size or a count as servers send it.
pub(super) fn unsigned(row: &mut Row<'_>) -> Result<u64, WireError> {
    let value = row.int()?;
    u64::try_from(value).map_err(|_| WireError::protocol(format!("a size of {value}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_per_row_need_rows_and_a_size() {
        let mut footprint = Footprint {
            rows: 4,
            table_bytes: Fact::default(),
            index_bytes: Fact::default(),
            total_bytes: Fact::known(1_000, "test"),
            allocated_bytes: Fact::default(),
            fills: Vec::new(),
        };
        assert_eq!(footprint.bytes_per_row(), Some(250.0));
        footprint.total_bytes = Fact::unknown("not allowed", "test");
        assert_eq!(footprint.bytes_per_row(), None);
        footprint.total_bytes = Fact::known(0, "test");
        footprint.rows = 0;
        assert_eq!(footprint.bytes_per_row(), None);
    }
}
