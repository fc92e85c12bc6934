//! How databases store and sort text, and whether the libraries that sort are still the same.

use ::postgres::{Client, Error, Row};
use dbdyno_model::postgres::{CollationUse, DatabaseLocale};

use super::reader::{Subject, count};
use super::text::text;

pub(super) const DATABASES: Subject = Subject::new("postgres.locales", "pg_database");
pub(super) const COLLATIONS: Subject = Subject::new("postgres.collations", "pg_collation");

pub(super) fn read_databases(
    client: &mut Client,
    version: u32,
) -> Result<Vec<DatabaseLocale>, Error> {
    // Before 15 a database does not record with which library its indexes were made.
    let versions = if version < 150_000 {
        "NULL::text, NULL::text"
    } else {
        "datcollversion, pg_database_collation_actual_version(oid)"
    };
    let sql = format!(
        "SELECT datname::text, pg_encoding_to_char(encoding)::text, datcollate::text, {versions} \
         FROM pg_database ORDER BY datname"
    );
    client
        .query(&sql, &[])?
        .iter()
        .map(|row| {
            Ok(DatabaseLocale {
                name: text(row, 0)?,
                encoding: row.try_get(1)?,
                collate: row.try_get(2)?,
                version: row.try_get(3)?,
                actual: row.try_get(4)?,
            })
        })
        .collect()
}

/// Only collations that some index sorts by: a server knows hundreds. Those without a version are
/// left out first, since nearly every column of an index has one of them or none.
pub(super) fn read_collations(
    client: &mut Client,
    _version: u32,
) -> Result<Vec<CollationUse>, Error> {
    const SQL: &str = "SELECT n.nspname::text, c.collname::text, c.collversion, \
             pg_collation_actual_version(c.oid), u.indexes \
         FROM (SELECT s.collation_oid, count(DISTINCT s.indexrelid) AS indexes \
             FROM (SELECT indexrelid, unnest(indcollation::oid[]) AS collation_oid \
                 FROM pg_index) s \
             WHERE s.collation_oid IN (SELECT oid FROM pg_collation WHERE collversion IS NOT NULL) \
             GROUP BY s.collation_oid) u \
         JOIN pg_collation c ON c.oid = u.collation_oid \
         JOIN pg_namespace n ON n.oid = c.collnamespace \
         ORDER BY 1, 2";
    client.query(SQL, &[])?.iter().map(decode).collect()
}

fn decode(row: &Row) -> Result<CollationUse, Error> {
    Ok(CollationUse {
        schema: text(row, 0)?,
        name: text(row, 1)?,
        version: row.try_get(2)?,
        actual: row.try_get(3)?,
        indexes: count(row.try_get(4)?),
    })
}
