//! The table `dbdyno_tpcc`: what was loaded, so that runs and checks need not be told.

use dbdyno_model::connection::Engine;

use super::schema::{CHILDREN_FIRST, VERSION};
use crate::ledger::present;
use crate::tpcc::load::LEDGER;
use crate::tpcc::load_error::ClientError;
use crate::tpcc::names::Names;
use crate::tpcc::stored::{
    FIRST_VERSION, NOTHING, ReadBackError, Shape, StoredConfig, StoredRow, shape,
};
use crate::tpcc::{Config, constants};
use crate::wire::Link;
use crate::wire::WireError;

pub(super) const TABLE: &str = "dbdyno_tpcc";

/// There are no arrays: the constants are a text of numbers with commas between them.
pub(super) const CREATE: &str = "CREATE TABLE dbdyno_tpcc (
    schema_version int NOT NULL, warehouses int NOT NULL, seed varchar(20) NOT NULL,
    c_load varchar(40) NOT NULL, sets int NOT NULL, layout varchar(20) NOT NULL,
    foreign_keys boolean NOT NULL, ready boolean NOT NULL, PRIMARY KEY (schema_version))";

/// Says that the load has ended.
pub(super) const FINISH: &str = "UPDATE dbdyno_tpcc SET ready = true";

/// Writes the row of a load that begins.
pub(super) fn begin(config: &Config) -> String {
    let Config {
        warehouses,
        seed,
        sets,
        foreign_keys,
        ..
    } = config;
    let c_load = constants(*seed).c_load.map(|c| c.to_string()).join(",");
    let layout = config.layout.name();
    format!(
        "INSERT INTO dbdyno_tpcc VALUES ({VERSION}, {warehouses}, '{seed}', '{c_load}', {sets},
            '{layout}', {foreign_keys}, false)"
    )
}

/// What the database says was loaded into it.
pub(crate) fn read_back(link: &mut Link) -> Result<StoredConfig, ReadBackError> {
    const NO_SUCH_TABLE: u16 = 1146;
    // Alone: another version has other columns.
    let found = match version(link) {
        Ok(version) => version.ok_or(ReadBackError::Damaged)?,
        Err(WireError::Server(error)) if error.number == Some(NO_SUCH_TABLE) => {
            return Err(ReadBackError::NotLoaded);
        }
        Err(error) => return Err(ReadBackError::Sql(error.into())),
    };
    let known = i64::from(VERSION);
    if found != known {
        return Err(ReadBackError::Version { found, known });
    }
    let mut stored = None;
    link.rows(
        "SELECT schema_version, warehouses, seed, c_load, sets, layout, foreign_keys, ready
         FROM dbdyno_tpcc",
        |mut row| {
            stored = Some(StoredRow {
                version: row.int()?,
                warehouses: row.int()?,
                seed: row.text()?.to_owned(),
                c_load: numbers(row.text()?),
                sets: row.int()?,
                layout: row.text()?.to_owned(),
                foreign_keys: row.int()? != 0,
                ready: row.int()? != 0,
            });
            Ok(())
        },
    )
    .map_err(|error| ReadBackError::Sql(error.into()))?;
    stored.ok_or(ReadBackError::Damaged)?.accept(known)
}

fn version(link: &mut Link) -> Result<Option<i64>, WireError> {
    let mut version = None;
    link.rows("SELECT schema_version FROM dbdyno_tpcc", |mut row| {
        version = Some(row.int()?);
        Ok(())
    })?;
    Ok(version)
}

/// What is no number is left out, and missed where they are compared.
fn numbers(text: &str) -> Vec<i64> {
    let each = text.split(',').map(str::parse::<i64>);
    each.filter_map(Result::ok).collect()
}

/// Drops the tables of all sets, if `dbdyno_tpcc` vouches that they are ours, and the record of a load;
/// whether there was anything.
pub(crate) fn clean(link: &mut Link) -> Result<bool, ClientError> {
    let found = present(link, Engine::MySql, &[LEDGER, TABLE])?;
    // First: what is removed in part cannot be resumed.
    link.run(&format!("DROP TABLE IF EXISTS {LEDGER}"))?;
    if found.iter().any(|name| name == TABLE) {
        let (layout, sets) = stored_shape(link)?;
        for set in 1..=sets {
            let names = Names::new(layout, set, sets);
            let tables = CHILDREN_FIRST.map(|table| names.table(table).to_owned());
            link.run(&format!("DROP TABLE IF EXISTS {}", tables.join(", ")))?;
        }
        // Last: what fails half-way can be repeated.
        link.run(&format!("DROP TABLE {TABLE}"))?;
    }
    Ok(!found.is_empty())
}

fn stored_shape(link: &mut Link) -> Result<Shape, WireError> {
    let Some(version) = version(link)? else {
        return Ok(NOTHING);
    };
    if version != i64::from(VERSION) {
        return Ok(FIRST_VERSION);
    }
    let mut stored = NOTHING;
    link.rows("SELECT layout, sets FROM dbdyno_tpcc", |mut row| {
        stored = shape(row.text()?, row.int()?);
        Ok(())
    })?;
    Ok(stored)
}
