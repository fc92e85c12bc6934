//! Extensions: in the connected database, and there to be created.

use ::postgres::{Client, Error};
use dbdyno_model::postgres::Extension;

use super::reader::Subject;

pub(super) const SUBJECT: Subject = Subject::new("postgres.extensions", "pg_extension");
pub(super) const AVAILABLE: Subject =
    Subject::new("postgres.available_extensions", "pg_available_extensions");

pub(super) fn read(client: &mut Client, _version: u32) -> Result<Vec<Extension>, Error> {
    const SQL: &str = "SELECT extname::text, extversion FROM pg_extension ORDER BY extname";
    client
        .query(SQL, &[])?
        .iter()
        .map(|row| {
            Ok(Extension {
                name: row.try_get(0)?,
                version: row.try_get(1)?,
            })
        })
        .collect()
}

pub(super) fn available(client: &mut Client, _version: u32) -> Result<Vec<String>, Error> {
    const SQL: &str =
        "SELECT name::text FROM pg_available_extensions WHERE name = 'pg_stat_statements'";
    let rows = client.query(SQL, &[])?;
    rows.iter().map(|row| row.try_get(0)).collect()
}
