//! Takes over a client and finds or makes the schema.

use std::time::Duration;

use ::postgres::{Client, Error};

use super::migrate::{Found, migrate};
use super::{Postgres, failure, statements as sql};
use crate::KNOWN;
use crate::error::{Location, StoreError};

const OPEN: &str = "open";

impl Postgres {
    pub(crate) fn open(mut client: Client, patience: Duration) -> Result<Self, StoreError> {
        let nowhere = Location::Database("that was named".into());
        let explained = |at: &Location, error: Error| failure::explain(OPEN, at, patience, &error);
        let (database, encoding) =
            read_place(&mut client).map_err(|error| explained(&nowhere, error))?;
        let location = Location::Database(database);
        if !matches!(encoding.as_str(), "UTF8" | "SQL_ASCII") {
            return Err(StoreError::Encoding {
                location,
                found: encoding,
            });
        }
        prepare(&mut client, patience).map_err(|error| explained(&location, error))?;
        match migrate(&mut client).map_err(|error| explained(&location, error))? {
            Found::Store { version: KNOWN, .. } => Ok(Self {
                client,
                location,
                patience,
            }),
            Found::Store {
                version,
                written_by,
            } => Err(StoreError::Newer {
                location,
                found: version,
                known: KNOWN,
                written_by,
            }),
            Found::SomethingElse(why) => Err(StoreError::Foreign { location, why }),
            // `migrate` goes on until there are tables.
            Found::NoSchema | Found::EmptySchema => Err(StoreError::Failed {
                operation: OPEN,
                location,
                message: "its schema vanished while it was opened".into(),
            }),
        }
    }
}

fn read_place(client: &mut Client) -> Result<(String, String), Error> {
    let row = client.query_one(sql::WHERE, &[])?;
    Ok((row.try_get(0)?, row.try_get(1)?))
}

/// What a session needs for a run to be on the disk when it is said to be, and not to wait for ever.
fn prepare(client: &mut Client, patience: Duration) -> Result<(), Error> {
    client.execute(sql::DURABLE, &[])?;
    let milliseconds = patience.as_millis().to_string();
    client.execute(sql::PATIENCE, &[&milliseconds])?;
    Ok(())
}
