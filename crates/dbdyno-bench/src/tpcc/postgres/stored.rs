//! The table `dbdyno_tpcc`: what was loaded, so that runs and checks need not be told.

use postgres::error::SqlState;
use postgres::{Client, Row};

use super::schema::VERSION;
use crate::tpcc::load::LEDGER;
use crate::tpcc::load_error::ClientError;
use crate::tpcc::names::Names;
use crate::tpcc::schema::Table;
use crate::tpcc::stored::{
    FIRST_VERSION, NOTHING, ReadBackError, Shape, StoredConfig, StoredRow, shape,
};
use crate::tpcc::{Config, constants};

pub(crate) const TABLE: &str = "dbdyno_tpcc";

pub(super) const CREATE: &str = "CREATE TABLE dbdyno_tpcc (
    schema_version integer NOT NULL, warehouses integer NOT NULL, seed text NOT NULL,
    c_load integer[] NOT NULL, sets integer NOT NULL, layout text NOT NULL,
    foreign_keys boolean NOT NULL, ready boolean NOT NULL)";

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
        "INSERT INTO dbdyno_tpcc VALUES ({VERSION}, {warehouses}, '{seed}', '{{{c_load}}}', {sets},
            '{layout}', {foreign_keys}, false)"
    )
}

/// What the database says was loaded into it.
pub(crate) fn read_back(client: &mut Client) -> Result<StoredConfig, ReadBackError> {
    // Alone: another version has other columns.
    let found = version(client)
        .map_err(|source| match source.code() {
            Some(code) if *code == SqlState::UNDEFINED_TABLE => ReadBackError::NotLoaded,
            _ => ReadBackError::Sql(source.into()),
        })?
        .ok_or(ReadBackError::Damaged)?;
    if found != VERSION {
        let (found, known) = (found.into(), VERSION.into());
        return Err(ReadBackError::Version { found, known });
    }
    let row = client
        .query_one(
            "SELECT schema_version, warehouses, seed, c_load, sets, layout, foreign_keys, ready
             FROM dbdyno_tpcc",
            &[],
        )
        .map_err(ClientError::from)?;
    let stored = read(&row).map_err(ClientError::from)?;
    stored.accept(VERSION.into())
}

fn version(client: &mut Client) -> Result<Option<i32>, postgres::Error> {
    let row = client.query_opt("SELECT schema_version FROM dbdyno_tpcc", &[])?;
    row.map(|row| row.try_get(0)).transpose()
}

fn read(row: &Row) -> Result<StoredRow, postgres::Error> {
    let c_load: Vec<i32> = row.try_get(3)?;
    Ok(StoredRow {
        version: row.try_get::<_, i32>(0)?.into(),
        warehouses: row.try_get::<_, i32>(1)?.into(),
        seed: row.try_get(2)?,
        c_load: c_load.into_iter().map(i64::from).collect(),
        sets: row.try_get::<_, i32>(4)?.into(),
        layout: row.try_get(5)?,
        foreign_keys: row.try_get(6)?,
        ready: row.try_get(7)?,
    })
}

/// Drops the tables of all sets, if `dbdyno_tpcc` vouches that they are ours, and the record of a load;
/// whether there was anything.
pub(crate) fn clean(client: &mut Client) -> Result<bool, postgres::Error> {
    let look =
        format!("SELECT to_regclass('{TABLE}') IS NOT NULL, to_regclass('{LEDGER}') IS NOT NULL");
    let row = client.query_one(&look, &[])?;
    let (ours, recorded): (bool, bool) = (row.try_get(0)?, row.try_get(1)?);
    if recorded {
        // First: what is removed in part cannot be resumed.
        client.batch_execute(&format!("DROP TABLE {LEDGER}"))?;
    }
    if ours {
        let (layout, sets) = stored_shape(client)?;
        for set in 1..=sets {
            let names = Names::new(layout, set, sets);
            let tables = Table::ALL.map(|table| names.table(table).to_owned());
            client.batch_execute(&format!("DROP TABLE IF EXISTS {}", tables.join(", ")))?;
        }
        // Last: what fails half-way can be repeated.
        client.batch_execute(&format!("DROP TABLE {TABLE}"))?;
    }
    Ok(ours || recorded)
}

fn stored_shape(client: &mut Client) -> Result<Shape, postgres::Error> {
    match version(client)? {
        None => return Ok(NOTHING),
        Some(VERSION) => {}
        Some(_) => return Ok(FIRST_VERSION),
    }
    let row = client.query_one("SELECT layout, sets FROM dbdyno_tpcc", &[])?;
    let sets: i32 = row.try_get(1)?;
    Ok(shape(row.try_get(0)?, sets.into()))
}
