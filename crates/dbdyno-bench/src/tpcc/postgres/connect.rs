//! Blocking connections for loading and checking.

use dbdyno_model::connection::Connection;
use postgres::{Client, Error};

use crate::driver::ClientTarget;
use crate::tpcc::load_error::ClientError;

/// Opens a connection whose statements may take as long as they need, and are not compiled, which
/// would cost more than it saves.
pub(crate) fn open(connect: &Connection) -> Result<Client, ClientError> {
    Ok(open_at(&ClientTarget::of(connect)?)?)
}

/// The same without reading the root certificates again.
pub(crate) fn open_at(server: &ClientTarget) -> Result<Client, Error> {
    let mut client = server.open()?;
    client.batch_execute(
        "SET statement_timeout = 0; SET lock_timeout = 0;
         SET idle_in_transaction_session_timeout = 0; SET client_min_messages = warning;
         SET jit = off",
    )?;
    Ok(client)
}
