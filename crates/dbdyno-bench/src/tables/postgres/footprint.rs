//! Sizes from PostgreSQL's own functions, and how full pages are from the extension pgstattuple.

use dbdyno_model::Fact;
use dbdyno_model::footprint::{Fill, Footprint};

use crate::tables::footprint::{fact, unsigned};
use crate::tables::{Contents, number};
use crate::wire::{Link, WireError};

const NOT_INSTALLED: &str = "extension pgstattuple is not installed";

/// In bytes; the setting is in blocks.
const SHARED_BUFFERS: &str = "SELECT setting::bigint * current_setting('block_size')::bigint
    FROM pg_settings WHERE name = 'shared_buffers'";

pub(in crate::tables) fn footprint(
    link: &mut Link,
    contents: &dyn Contents,
) -> Result<Footprint, WireError> {
    let table = contents.table();
    let rows = number(link, &format!("SELECT count(*) FROM {table}"))?;
    Ok(Footprint {
        rows: u64::try_from(rows).unwrap_or(0),
        table_bytes: size(link, "pg_relation_size", table)?,
        index_bytes: size(link, "pg_indexes_size", table)?,
        total_bytes: size(link, "pg_total_relation_size", table)?,
        allocated_bytes: Fact::unknown("PostgreSQL does not tell", "pg_total_relation_size"),
        fills: fills(link, table)?,
        cache_bytes: u64::try_from(number(link, SHARED_BUFFERS)?).ok(),
    })
}

fn size(link: &mut Link, function: &str, table: &str) -> Result<Fact<u64>, WireError> {
    let sql = format!("SELECT {function}('{table}'::regclass)");
    fact(link, function, &sql, unsigned)
}

fn fills(link: &mut Link, table: &str) -> Result<Vec<Fill>, WireError> {
    let extension = extension(link)?;
    let mut fills = vec![of_table(link, table, extension.as_deref())?];
    for index in indexes(link, table)? {
        fills.push(of_index(link, index, extension.as_deref())?);
    }
    Ok(fills)
}

/// The schema of pgstattuple's functions, as SQL writes it.
fn extension(link: &mut Link) -> Result<Option<String>, WireError> {
    let mut schema = None;
    link.rows(
        "SELECT nspname FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace
         WHERE extname = 'pgstattuple'",
        |mut row| {
            schema = Some(format!("\"{}\"", row.text()?.replace('"', "\"\"")));
            Ok(())
        },
    )?;
    Ok(schema)
}

fn indexes(link: &mut Link, table: &str) -> Result<Vec<String>, WireError> {
    let sql = format!(
        "SELECT relname FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
         WHERE indrelid = '{table}'::regclass ORDER BY relname"
    );
    let mut names = Vec::new();
    link.rows(&sql, |mut row| {
        names.push(row.text()?.to_owned());
        Ok(())
    })?;
    Ok(names)
}

fn of_table(link: &mut Link, table: &str, extension: Option<&str>) -> Result<Fill, WireError> {
    let pages = format!(
        "SELECT pg_relation_size('{table}'::regclass) / current_setting('block_size')::bigint"
    );
    let pages = fact(link, "pg_relation_size", &pages, unsigned)?;
    let fill = match extension {
        None => Fact::unknown(NOT_INSTALLED, "pgstattuple"),
        Some(schema) => {
            let sql = format!(
                "SELECT tuple_percent / 100 FROM {schema}.pgstattuple('{table}'::regclass)"
            );
            fact(link, "pgstattuple", &sql, |row| row.float())?
        }
    };
    let name = table.to_owned();
    Ok(Fill { name, pages, fill })
}

fn of_index(link: &mut Link, name: String, extension: Option<&str>) -> Result<Fill, WireError> {
    let Some(schema) = extension else {
        return Ok(Fill {
            name,
            pages: Fact::unknown(NOT_INSTALLED, "pgstatindex"),
            fill: Fact::unknown(NOT_INSTALLED, "pgstatindex"),
        });
    };
    let from = format!("FROM {schema}.pgstatindex('{name}'::regclass)");
    let leaves = format!("SELECT leaf_pages {from}");
    let pages = fact(link, "pgstatindex", &leaves, unsigned)?;
    // It is not a number where there are no leaves.
    let density = format!("SELECT avg_leaf_density / 100 {from} WHERE avg_leaf_density <> 'NaN'");
    let fill = fact(link, "pgstatindex", &density, |row| row.float())?;
    Ok(Fill { name, pages, fill })
}
