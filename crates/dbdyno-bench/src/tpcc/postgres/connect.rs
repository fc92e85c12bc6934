//! Blocking connections for loading and checking.

use std::time::Duration;

use dbdyno_model::connection::{Address, Connection, SslMode};
use postgres::{Client, Config, Error, NoTls};

/// Opens a connection whose statements may take as long as they need, and are not compiled, which
/// would cost more than it saves.
///
/// Where the user insists on TLS, the client library's own error says that there is none.
pub(crate) fn open(connect: &Connection) -> Result<Client, Error> {
    let mut client = config(connect).connect(NoTls)?;
    client.batch_execute(
        "SET statement_timeout = 0; SET lock_timeout = 0;
         SET idle_in_transaction_session_timeout = 0; SET client_min_messages = warning;
         SET jit = off",
    )?;
    Ok(client)
}

fn config(connect: &Connection) -> Config {
    let mut config = Config::new();
    match &connect.address {
        Address::Socket(directory) => config.host_path(directory),
        Address::Tcp(host) => config.host(host),
    };
    if let Some(password) = &connect.password {
        config.password(password.expose());
    }
    let insists = matches!(
        connect.ssl_mode,
        SslMode::Require | SslMode::VerifyCa | SslMode::VerifyFull
    );
    // A socket has no TLS, whatever is asked for.
    let ssl_mode = if insists && matches!(connect.address, Address::Tcp(_)) {
        postgres::config::SslMode::Require
    } else {
        postgres::config::SslMode::Disable
    };
    if connect.connect_timeout_s > 0 {
        config.connect_timeout(Duration::from_secs(connect.connect_timeout_s));
    }
    config
        .port(connect.port)
        .user(&connect.user)
        .dbname(&connect.database)
        .ssl_mode(ssl_mode)
        .application_name("dbdyno");
    config
}
