//! What the tables in a database are: ours say in their comments what was loaded, and of sysbench's the
//! ids tell.

use dbdyno_model::connection::Connection;

use super::Config;
use super::load::LEDGER;
use super::tables::{self, Found, name};
use crate::ledger::present;
use crate::tables::field;
use crate::tpcc::ClientError;
use crate::wire::{Link, WireError};

/// What is said of tables that are there; what is not, they tell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Expected {
    pub tables: Option<u32>,
    pub table_size: Option<u64>,
}

/// Numbers of the tables sbtest1, sbtest2 and so on that are there, in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Survey {
    /// Made by a load of ours, and as it made them.
    pub ours: Vec<u32>,
    /// Made by sysbench or anybody else.
    pub others: Vec<u32>,
}

/// Looks whose tables there are. Blocks, and must not be called from within an async runtime.
pub fn survey(connect: &Connection) -> Result<Survey, ClientError> {
    let mut link = tables::open(connect)?;
    let mut survey = Survey::default();
    for (table, found) in tables::found(&mut link, connect.engine)? {
        if found.is_ours() {
            survey.ours.push(table);
        } else {
            survey.others.push(table);
        }
    }
    Ok(survey)
}

/// Whether a load of ours has left tables, or the record of one. Blocks, as [`survey`] does.
pub fn is_left(connect: &Connection) -> Result<bool, ClientError> {
    let mut link = tables::open(connect)?;
    let record = present(&mut link, connect.engine, &[LEDGER])?;
    let found = tables::found(&mut link, connect.engine)?;
    Ok(!record.is_empty() || found.values().any(Found::is_ours))
}

/// The tables are not such that anything could run on them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadBackError {
    #[error("the database holds no tables of sysbench's")]
    NotLoaded,
    #[error("cannot use the tables sbtest: the load did not finish")]
    Unfinished,
    #[error("table {0} is missing")]
    Missing(String),
    #[error("table {0} has other columns than sysbench's")]
    Columns(String),
    #[error("table {0} is empty")]
    Empty(String),
    /// Two of the tables, and the highest id of each.
    #[error("the tables differ: {0} has {1} rows, {2} has {3}")]
    Uneven(String, u64, String, u64),
    #[error("--table-size says {said}, and {table} has {rows} rows")]
    Size { said: u64, table: String, rows: u64 },
    #[error("cannot read what was loaded: {}", .0.deepest())]
    Sql(#[from] ClientError),
}

impl From<WireError> for ReadBackError {
    fn from(error: WireError) -> Self {
        Self::Sql(error.into())
    }
}

/// The workload on the tables as they are, where they are what was said of them. Blocks, and must not
/// be called from within an async runtime.
///
/// Rows are those that were loaded. Tables of sysbench's tell their highest id, which is the same unless
/// rows were inserted since.
pub fn read_back(
    connect: &Connection,
    config: &Config,
    said: &Expected,
) -> Result<Config, ReadBackError> {
    let mut link = tables::open(connect)?;
    if !present(&mut link, connect.engine, &[LEDGER])?.is_empty() {
        return Err(ReadBackError::Unfinished);
    }
    let found = tables::found(&mut link, connect.engine)?;
    let loaded = found.values().filter_map(|found| told(found, "tables"));
    let highest = found.keys().copied().map(u64::from);
    let all = highest.chain(loaded).max().unwrap_or(0);
    let all = u32::try_from(all).unwrap_or(u32::MAX);
    if all == 0 {
        return Err(ReadBackError::NotLoaded);
    }
    let tables = said.tables.unwrap_or(all);
    let mut sizes = Vec::new();
    for table in 1..=tables {
        match found.get(&table) {
            None => return Err(ReadBackError::Missing(name(table))),
            Some(found) if !found.fits => return Err(ReadBackError::Columns(name(table))),
            Some(found) => sizes.push((rows(&mut link, table, found)?, table)),
        }
    }
    Ok(Config {
        tables,
        table_size: table_size(&sizes, said.table_size)?,
        ..*config
    })
}

/// A number in what was loaded.
fn told(found: &Found, what: &str) -> Option<u64> {
    field(found.loaded.as_deref()?, what)?.parse().ok()
}

fn rows(link: &mut Link, table: u32, found: &Found) -> Result<u64, ReadBackError> {
    if let Some(loaded) = told(found, "table_size") {
        return Ok(loaded);
    }
    let mut highest = None;
    link.rows(
        &format!("SELECT max(id) FROM {}", name(table)),
        |mut row| {
            highest = row.try_int()?;
            Ok(())
        },
    )?;
    let highest = highest.and_then(|id| u64::try_from(id).ok());
    highest.ok_or_else(|| ReadBackError::Empty(name(table)))
}

/// Of all tables, each with its number: the rows that all have.
fn table_size(sizes: &[(u64, u32)], said: Option<u64>) -> Result<u64, ReadBackError> {
    let (Some(&(least, small)), Some(&(most, large))) = (sizes.iter().min(), sizes.iter().max())
    else {
        return Err(ReadBackError::NotLoaded);
    };
    match said {
        Some(said) if said == least => Ok(said),
        Some(said) => Err(ReadBackError::Size {
            said,
            table: name(small),
            rows: least,
        }),
        None if least == most => Ok(least),
        None => Err(ReadBackError::Uneven(name(small), least, name(large), most)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_taken_from_tables_that_agree_and_has_to_be_theirs() {
        let even = [(500, 1), (500, 2)];
        assert_eq!(table_size(&even, None).unwrap(), 500);
        assert_eq!(table_size(&even, Some(500)).unwrap(), 500);
        for said in [499, 501] {
            let refused = table_size(&even, Some(said)).unwrap_err().to_string();
            assert!(refused.contains(&format!("says {said}")), "{refused}");
        }
    }

    #[test]
    fn tables_that_differ_need_to_be_told_how_many_rows_all_have() {
        let uneven = [(500, 1), (120, 2), (500, 3)];
        let refused = table_size(&uneven, None).unwrap_err().to_string();
        assert!(
            refused.contains("sbtest2 has 120") && refused.contains("sbtest3 has 500"),
            "{refused}"
        );
        assert_eq!(table_size(&uneven, Some(120)).unwrap(), 120);
        assert!(table_size(&uneven, Some(500)).is_err());
        assert!(table_size(&[], None).is_err());
    }

    #[test]
    fn what_was_loaded_is_read_from_the_mark() {
        let found = |loaded: &str| Found {
            fits: true,
            loaded: Some(loaded.to_owned()),
        };
        let whole = found("tables=8 table_size=1000 rand_type=special seed=1");
        assert_eq!(told(&whole, "tables"), Some(8));
        assert_eq!(told(&whole, "table_size"), Some(1_000));
        assert_eq!(told(&found("tables=many"), "tables"), None);
        assert_eq!(told(&Found::default(), "tables"), None);
    }
}
