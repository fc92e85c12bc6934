//! The table `dbdyno_tpcc`: what was loaded, so that runs and checks need not be told.

use postgres::error::SqlState;
use postgres::{Client, GenericClient};

use super::schema::VERSION;
use crate::tpcc::schema::Table;
use crate::tpcc::{Config, Constants, constants};

/// What the database says was loaded into it, with the constants that go with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredConfig {
    pub config: Config,
    pub constants: Constants,
}

#[derive(Debug, thiserror::Error)]
pub enum ReadBackError {
    #[error("cannot read table dbdyno_tpcc: the database holds no TPC-C load of dbdyno")]
    NotLoaded,
    #[error("cannot use table dbdyno_tpcc: the load did not finish")]
    Unfinished,
    #[error("cannot use table dbdyno_tpcc: its layout is version {found}, this is {VERSION}")]
    Version { found: i32 },
    #[error("cannot use table dbdyno_tpcc: it does not say what a load writes")]
    Damaged,
    #[error("cannot read table dbdyno_tpcc")]
    Sql(#[source] postgres::Error),
}

impl ReadBackError {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NotLoaded => Some("load it with bench load"),
            Self::Unfinished | Self::Version { .. } | Self::Damaged => {
                Some("remove it with bench clean and load again")
            }
            Self::Sql(_) => None,
        }
    }
}

/// Writes the row of a load that begins.
pub(crate) fn begin(
    client: &mut impl GenericClient,
    config: &Config,
) -> Result<(), postgres::Error> {
    client.batch_execute(
        "CREATE TABLE dbdyno_tpcc (
            schema_version integer NOT NULL, warehouses integer NOT NULL, seed text NOT NULL,
            c_load integer[] NOT NULL, ready boolean NOT NULL)",
    )?;
    let c_load = constants(config.seed).c_load.map(|c| c as i32);
    client.execute(
        "INSERT INTO dbdyno_tpcc VALUES ($1, $2, $3, $4, false)",
        &[
            &VERSION,
            &(config.warehouses as i32),
            &config.seed.to_string(),
            &c_load.as_slice(),
        ],
    )?;
    Ok(())
}

pub(crate) fn finish(client: &mut Client) -> Result<(), postgres::Error> {
    client.batch_execute("UPDATE dbdyno_tpcc SET ready = true")
}

/// What the database says was loaded into it.
pub fn read_back(client: &mut Client) -> Result<StoredConfig, ReadBackError> {
    let row = client
        .query_opt(
            "SELECT schema_version, warehouses, seed, c_load, ready FROM dbdyno_tpcc",
            &[],
        )
        .map_err(|source| match source.code() {
            Some(code) if *code == SqlState::UNDEFINED_TABLE => ReadBackError::NotLoaded,
            _ => ReadBackError::Sql(source),
        })?
        .ok_or(ReadBackError::Damaged)?;
    let get = ReadBackError::Sql;
    let found = row.try_get(0).map_err(get)?;
    if found != VERSION {
        return Err(ReadBackError::Version { found });
    }
    if !row.try_get::<_, bool>(4).map_err(get)? {
        return Err(ReadBackError::Unfinished);
    }
    let warehouses: i32 = row.try_get(1).map_err(get)?;
    let seed: &str = row.try_get(2).map_err(get)?;
    let c_load: Vec<i32> = row.try_get(3).map_err(get)?;
    let config = Config {
        warehouses: u32::try_from(warehouses).map_err(|_| ReadBackError::Damaged)?,
        seed: seed.parse().map_err(|_| ReadBackError::Damaged)?,
    };
    let constants = constants(config.seed);
    if constants.c_load.map(i64::from).as_slice()
        != c_load.into_iter().map(i64::from).collect::<Vec<_>>()
    {
        return Err(ReadBackError::Damaged);
    }
    Ok(StoredConfig { config, constants })
}

/// Drops the nine tables, if `dbdyno_tpcc` vouches that they are ours; whether it did.
pub fn clean(client: &mut Client) -> Result<bool, postgres::Error> {
    let ours: bool = client
        .query_one("SELECT to_regclass('dbdyno_tpcc') IS NOT NULL", &[])?
        .try_get(0)?;
    if ours {
        let names = Table::ALL.map(Table::name).join(", ");
        client.batch_execute(&format!("DROP TABLE IF EXISTS {names}, dbdyno_tpcc"))?;
    }
    Ok(ours)
}
