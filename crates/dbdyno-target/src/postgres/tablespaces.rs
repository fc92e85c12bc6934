//! Tablespaces beside the data directory's own: where they lie, and the planner's costs of their own.

use ::postgres::{Client, Error};
use dbdyno_model::postgres::Tablespace;

use super::reader::Subject;
use super::text::{text, texts};

pub(super) const SUBJECT: Subject = Subject::new("postgres.tablespaces", "pg_tablespace");

/// 1663 and 1664 are pg_default and pg_global, which lie in the data directory.
const SQL: &str = "SELECT spcname::text, pg_tablespace_location(oid), spcoptions \
     FROM pg_tablespace WHERE oid NOT IN (1663, 1664) ORDER BY spcname";

pub(super) fn read(client: &mut Client, _version: u32) -> Result<Vec<Tablespace>, Error> {
    client
        .query(SQL, &[])?
        .iter()
        .map(|row| {
            Ok(Tablespace {
                name: text(row, 0)?,
                location: text(row, 1)?,
                options: texts(row, 2)?,
            })
        })
        .collect()
}
