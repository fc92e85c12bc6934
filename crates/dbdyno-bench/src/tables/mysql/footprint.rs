//! Sizes from InnoDB's statistics and its list of files, and an estimate of how full the pages are.

use std::collections::BTreeMap;

use dbdyno_model::Fact;
use dbdyno_model::footprint::{Fill, Footprint};

use crate::tables::footprint::{fact, unsigned};
use crate::tables::{Contents, number};
use crate::wire::{Link, WireError};

const STATISTICS: &str = "mysql.innodb_index_stats";
const PRIMARY: &str = "PRIMARY";

/// Pages of each index.
type Indexes = BTreeMap<String, Pages>;

#[derive(Debug, Clone, Copy, Default)]
struct Pages {
    all: u64,
    leaves: u64,
}

pub(in crate::tables) fn footprint(
    link: &mut Link,
    contents: &dyn Contents,
) -> Result<Footprint, WireError> {
    let table = contents.table();
    let rows = number(link, &format!("SELECT count(*) FROM {table}"))?;
    let rows = u64::try_from(rows).unwrap_or(0);
    let page_bytes = number(link, "SELECT @@innodb_page_size")?;
    let page_bytes = u64::try_from(page_bytes).unwrap_or(0);
    let indexes = indexes(link, table)?;
    let bytes = |wanted: fn(&str) -> bool| {
        let sum = |indexes: &Indexes| {
            let wanted = indexes.iter().filter(|(name, _)| wanted(name));
            wanted.map(|(_, pages)| pages.all * page_bytes).sum::<u64>()
        };
        match &indexes {
            Ok(indexes) => Fact::known(sum(indexes), STATISTICS),
            Err(why) => Fact::unknown(why.as_str(), STATISTICS),
        }
    };
    let table_bytes = bytes(|name| name == PRIMARY);
    let index_bytes = bytes(|name| name != PRIMARY);
    let (total_bytes, allocated_bytes) = files(link, table)?;
    let pool = number(link, "SELECT @@innodb_buffer_pool_size")?;
    Ok(Footprint {
        rows,
        table_bytes,
        index_bytes,
        total_bytes,
        allocated_bytes,
        fills: fills(contents, &indexes, rows, page_bytes),
        cache_bytes: u64::try_from(pool).ok(),
    })
}

/// From fresh statistics; or why there are none.
fn indexes(link: &mut Link, table: &str) -> Result<Result<Indexes, String>, WireError> {
    let sql = format!(
        "SELECT index_name, stat_name, stat_value FROM {STATISTICS}
         WHERE database_name = database() AND table_name = '{table}'
         AND stat_name IN ('size', 'n_leaf_pages')"
    );
    let mut indexes = Indexes::new();
    let analyzed = link.run(&format!("ANALYZE NO_WRITE_TO_BINLOG TABLE {table}"));
    let read = analyzed.and_then(|_| {
        link.rows(&sql, |mut row| {
            let pages = indexes.entry(row.text()?.to_owned()).or_default();
            match row.text()? {
                "n_leaf_pages" => pages.leaves = unsigned(&mut row)?,
                _ => pages.all = unsigned(&mut row)?,
            }
            Ok(())
        })
    });
    match read {
        Ok(_) if indexes.is_empty() => Ok(Err(format!("{STATISTICS} does not list the table"))),
        Ok(_) => Ok(Ok(indexes)),
        Err(WireError::Server(error)) if !error.fatal => Ok(Err(error.message.clone())),
        Err(error) => Err(error),
    }
}

fn fills(
    contents: &dyn Contents,
    indexes: &Result<Indexes, String>,
    rows: u64,
    page_bytes: u64,
) -> Vec<Fill> {
    const ORIGIN: &str = "mysql.innodb_index_stats, the size of a row";
    let indexes = match indexes {
        Ok(indexes) => indexes,
        Err(why) => {
            return vec![Fill {
                name: PRIMARY.to_owned(),
                pages: Fact::unknown(why.as_str(), STATISTICS),
                fill: Fact::unknown(why.as_str(), ORIGIN),
            }];
        }
    };
    let fill = |(name, pages): (&String, &Pages)| {
        let record = contents.record_bytes(name);
        let fill = record.and_then(|record| estimate(rows * record, pages.leaves * page_bytes));
        Fill {
            name: name.clone(),
            pages: Fact::known(pages.leaves, STATISTICS),
            fill: match fill {
                Some(fill) => Fact::known(fill, ORIGIN),
                None => Fact::unknown("the size of its records is not known", ORIGIN),
            },
        }
    };
    indexes.iter().map(fill).collect()
}

/// Records and their pages grow between one look and the other: never more than full.
fn estimate(records: u64, leaves: u64) -> Option<f64> {
    (leaves > 0).then(|| (records as f64 / leaves as f64).min(1.0))
}

/// The file's length and what it takes of the disk; the view has two names.
fn files(link: &mut Link, table: &str) -> Result<(Fact<u64>, Fact<u64>), WireError> {
    let mut view = None;
    link.rows(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = 'information_schema'
         AND table_name IN ('INNODB_TABLESPACES', 'INNODB_SYS_TABLESPACES')",
        |mut row| {
            view = Some(row.text()?.to_lowercase());
            Ok(())
        },
    )?;
    let Some(view) = view else {
        let unknown = || Fact::unknown("the server has no list of files", "information_schema");
        return Ok((unknown(), unknown()));
    };
    let view = format!("information_schema.{view}");
    let mut size = |column: &str| {
        let sql =
            format!("SELECT {column} FROM {view} WHERE name = concat(database(), '/{table}')");
        fact(link, &view, &sql, unsigned)
    };
    Ok((size("file_size")?, size("allocated_size")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_needs_pages_and_never_overflows_them() {
        assert_eq!(estimate(100, 0), None);
        assert_eq!(estimate(8_192, 16_384), Some(0.5));
        assert_eq!(estimate(20_000, 16_384), Some(1.0));
    }
}
