//! Blocking connections for loading and checking.

use dbdyno_model::connection::Connection;

use crate::driver::target;
use crate::tpcc::load_error::ClientError;
use crate::wire::Link;
use crate::wire::{Target, WireError};

/// Opens a connection whose statements may take as long as they need and mean the same everywhere.
pub(crate) fn open(connect: &Connection) -> Result<Link, ClientError> {
    Ok(open_at(&target(connect)?)?)
}

pub(super) fn open_at(target: &Target) -> Result<Link, WireError> {
    let mut link = Link::open(target)?;
    link.run("SET SESSION sql_mode = 'STRICT_ALL_TABLES', autocommit = 1")?;
    // MariaDB's limit, and MySQL's on SELECT.
    try_set(&mut link, "max_statement_time = 0")?;
    try_set(&mut link, "max_execution_time = 0")?;
    Ok(link)
}

/// Makes a setting that not every version knows and not every user may make.
pub(super) fn try_set(link: &mut Link, setting: &str) -> Result<(), WireError> {
    const UNKNOWN_VARIABLE: u16 = 1193;
    const PRIVILEGE_NEEDED: u16 = 1227;
    let made = link.run(&format!("SET SESSION {setting}"));
    let refused = made.as_ref().err().and_then(WireError::server);
    match refused.and_then(|error| error.number) {
        Some(UNKNOWN_VARIABLE | PRIVILEGE_NEEDED) => Ok(()),
        _ => made.map(drop),
    }
}
