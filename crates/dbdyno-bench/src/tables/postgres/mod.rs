//! Tables on PostgreSQL.

mod footprint;
mod loader;

use dbdyno_model::connection::Connection;

pub(super) use footprint::footprint;
pub(super) use loader::load;

use crate::driver::target;
use crate::tpcc::ClientError;
use crate::wire::Link;

/// Statements may take as long as they need, and are not compiled.
pub(super) fn open(connection: &Connection) -> Result<Link, ClientError> {
    let mut link = Link::open(&target(connection)?)?;
    link.run(
        "SET statement_timeout = 0; SET lock_timeout = 0; SET client_min_messages = warning;
         SET jit = off",
    )?;
    Ok(link)
}
