//! The table `dbdyno_tpcc`: what was loaded, so that runs and checks need not be told.

use postgres::error::SqlState;
use postgres::{Client, Row};

use super::schema::VERSION;
use crate::tpcc::load::LEDGER;
use crate::tpcc::load_error::ClientError;
use crate::tpcc::schema::Table;
use crate::tpcc::stored::{ReadBackError, StoredConfig, StoredRow};
use crate::tpcc::{Config, constants};

pub(super) const TABLE: &str = "dbdyno_tpcc";

pub(super) const CREATE: &str = "CREATE TABLE dbdyno_tpcc (
    schema_version integer NOT NULL, warehouses integer NOT NULL, seed text NOT NULL,
    c_load integer[] NOT NULL, ready boolean NOT NULL)";

/// Says that the load has ended.
pub(super) const FINISH: &str = "UPDATE dbdyno_tpcc SET ready = true";

/// Writes the row of a load that begins.
pub(super) fn begin(config: &Config) -> String {
    let Config { warehouses, seed } = config;
    let c_load = constants(*seed).c_load.map(|c| c.to_string()).join(",");
    format!(
        "INSERT INTO dbdyno_tpcc VALUES ({VERSION}, {warehouses}, '{seed}', '{{{c_load}}}', false)"
    )
}

/// What the database says was loaded into it.
pub(crate) fn read_back(client: &mut Client) -> Result<StoredConfig, ReadBackError> {
    let row = client
        .query_opt(
            "SELECT schema_version, warehouses, seed, c_load, ready FROM dbdyno_tpcc",
            &[],
        )
        .map_err(|source| match source.code() {
            Some(code) if *code == SqlState::UNDEFINED_TABLE => ReadBackError::NotLoaded,
            _ => ReadBackError::Sql(source.into()),
        })?
        .ok_or(ReadBackError::Damaged)?;
    let stored = read(&row).map_err(ClientError::from)?;
    stored.accept(VERSION.into())
}

fn read(row: &Row) -> Result<StoredRow, postgres::Error> {
    let c_load: Vec<i32> = row.try_get(3)?;
    Ok(StoredRow {
        version: row.try_get::<_, i32>(0)?.into(),
        warehouses: row.try_get::<_, i32>(1)?.into(),
        seed: row.try_get(2)?,
        c_load: c_load.into_iter().map(i64::from).collect(),
        ready: row.try_get(4)?,
    })
}

/// Drops the nine tables, if `dbdyno_tpcc` vouches that they are ours; whether it did.
pub(crate) fn clean(client: &mut Client) -> Result<bool, postgres::Error> {
    let ours: bool = client
        .query_one("SELECT to_regclass('dbdyno_tpcc') IS NOT NULL", &[])?
        .try_get(0)?;
    if ours {
        let names = Table::ALL.map(Table::name).join(", ");
        client.batch_execute(&format!("DROP TABLE IF EXISTS {LEDGER}, {names}, {TABLE}"))?;
    }
    Ok(ours)
}
