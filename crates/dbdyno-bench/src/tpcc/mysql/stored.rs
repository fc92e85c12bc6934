//! The table `dbdyno_tpcc`: what was loaded, so that runs and checks need not be told.

use super::schema::{CHILDREN_FIRST, VERSION};
use crate::tpcc::schema::Table;
use crate::tpcc::stored::{ReadBackError, StoredConfig, StoredRow};
use crate::tpcc::{Config, constants};
use crate::wire::Link;
use crate::wire::WireError;

pub(super) const TABLE: &str = "dbdyno_tpcc";

/// There are no arrays: the constants are a text of numbers with commas between them.
pub(super) const CREATE: &str = "CREATE TABLE dbdyno_tpcc (
    schema_version int NOT NULL, warehouses int NOT NULL, seed varchar(20) NOT NULL,
    c_load varchar(40) NOT NULL, ready boolean NOT NULL, PRIMARY KEY (schema_version))";

/// Writes the row of a load that begins.
pub(super) fn begin(link: &mut Link, config: &Config) -> Result<(), WireError> {
    let Config { warehouses, seed } = config;
    let c_load = constants(*seed).c_load.map(|c| c.to_string()).join(",");
    let insert = format!(
        "INSERT INTO dbdyno_tpcc VALUES ({VERSION}, {warehouses}, '{seed}', '{c_load}', false)"
    );
    link.run(&insert).map(drop)
}

pub(super) fn finish(link: &mut Link) -> Result<(), WireError> {
    link.run("UPDATE dbdyno_tpcc SET ready = true").map(drop)
}

/// What the database says was loaded into it.
pub(crate) fn read_back(link: &mut Link) -> Result<StoredConfig, ReadBackError> {
    const NO_SUCH_TABLE: u16 = 1146;
    let mut found = None;
    let read = link.rows(
        "SELECT schema_version, warehouses, seed, c_load, ready FROM dbdyno_tpcc",
        |mut row| {
            found = Some(StoredRow {
                version: row.int()?,
                warehouses: row.int()?,
                seed: row.text()?.to_owned(),
                c_load: numbers(row.text()?),
                ready: row.int()? != 0,
            });
            Ok(())
        },
    );
    match read {
        Ok(_) => {}
        Err(WireError::Server(error)) if error.number == Some(NO_SUCH_TABLE) => {
            return Err(ReadBackError::NotLoaded);
        }
        Err(error) => return Err(ReadBackError::Sql(error.into())),
    }
    found.ok_or(ReadBackError::Damaged)?.accept(VERSION.into())
}

/// What is no number is left out, and missed where they are compared.
fn numbers(text: &str) -> Vec<i64> {
    let each = text.split(',').map(str::parse::<i64>);
    each.filter_map(Result::ok).collect()
}

/// Drops the nine tables, if `dbdyno_tpcc` vouches that they are ours; whether it did.
pub(crate) fn clean(link: &mut Link) -> Result<bool, WireError> {
    let mut ours = false;
    let look = format!(
        "SELECT count(*) FROM information_schema.tables
         WHERE table_schema = database() AND table_name = '{TABLE}'"
    );
    link.rows(&look, |mut row| {
        ours = row.int()? > 0;
        Ok(())
    })?;
    if ours {
        // Ours last: what fails half-way can be repeated.
        let names = CHILDREN_FIRST.map(Table::name).join(", ");
        link.run(&format!("DROP TABLE IF EXISTS {names}, {TABLE}"))?;
    }
    Ok(ours)
}
