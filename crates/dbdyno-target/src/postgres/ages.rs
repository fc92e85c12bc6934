//! How far every database is on its way to wraparound.

use ::postgres::{Client, Error};
use dbdyno_model::postgres::DatabaseAge;

use super::reader::{Subject, count};
use super::text::text;

pub(super) const SUBJECT: Subject = Subject::new("postgres.ages", "pg_database");

pub(super) fn read(client: &mut Client, _version: u32) -> Result<Vec<DatabaseAge>, Error> {
    const SQL: &str = "SELECT datname::text, age(datfrozenxid)::int8, \
         mxid_age(datminmxid)::int8, \
         datallowconn AND NOT datistemplate FROM pg_database ORDER BY datname";
    client
        .query(SQL, &[])?
        .iter()
        .map(|row| {
            Ok(DatabaseAge {
                name: text(row, 0)?,
                xid_age: count(row.try_get(1)?),
                multixact_age: count(row.try_get(2)?),
                is_connectable: row.try_get(3)?,
            })
        })
        .collect()
}
