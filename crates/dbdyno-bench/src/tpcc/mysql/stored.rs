//! The table `dbdyno_tpcc`: what was loaded, so that runs and checks need not be told.

use dbdyno_model::connection::Engine;

use super::schema::{CHILDREN_FIRST, VERSION};
use crate::ledger::present;
use crate::tpcc::load::LEDGER;
use crate::tpcc::load_error::ClientError;
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

/// Says that the load has ended.
pub(super) const FINISH: &str = "UPDATE dbdyno_tpcc SET ready = true";

/// Writes the row of a load that begins.
pub(super) fn begin(config: &Config) -> String {
    let Config { warehouses, seed } = config;
    let c_load = constants(*seed).c_load.map(|c| c.to_string()).join(",");
    format!("INSERT INTO dbdyno_tpcc VALUES ({VERSION}, {warehouses}, '{seed}', '{c_load}', false)")
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

/// Drops the nine tables, if `dbdyno_tpcc` vouches that they are ours; whether there was anything.
pub(crate) fn clean(link: &mut Link) -> Result<bool, ClientError> {
    let found = present(link, Engine::MySql, &[LEDGER, TABLE])?;
    let drop = if found.iter().any(|name| name == TABLE) {
        // Ours last: what fails half-way can be repeated.
        let names = CHILDREN_FIRST.map(Table::name).join(", ");
        format!("{LEDGER}, {names}, {TABLE}")
    } else if !found.is_empty() {
        // Cut off before any other was made.
        LEDGER.to_owned()
    } else {
        return Ok(false);
    };
    link.run(&format!("DROP TABLE IF EXISTS {drop}"))?;
    Ok(true)
}
