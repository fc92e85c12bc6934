//! Extensions in the connected database.

use ::postgres::{Client, Error};
use dbdyno_model::postgres::Extension;

use super::reader::Subject;

pub(super) const SUBJECT: Subject = Subject::new("postgres.extensions", "pg_extension");

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
