//! Opens the store that a command asked for.

use std::path::{Path, PathBuf};

use dbdyno_store::{Store, StoreError};
use dbdyno_target::connection;
use dbdyno_target::lab::Home;

use crate::exit::{Exit, Failure};
use crate::printer::Printer;

/// The directory of everything that dbdyno keeps for this user.
pub(crate) fn data_directory() -> Result<PathBuf, Failure> {
    let home = Home::find(&|name| std::env::var(name).ok())
        .map_err(|error| Failure::new(Exit::Surroundings, error.to_string(), error.hint()))?;
    Ok(home.data().to_owned())
}

/// The store at `--store`: a PostgreSQL address, a file, or nothing for the user's own.
pub(crate) fn open(location: Option<&str>, printer: &Printer) -> Result<Store, Failure> {
    match location {
        Some(address) if is_address(address) => shared(address),
        Some(file) => own(Path::new(file), printer),
        None => own(&data_directory()?.join("store.sqlite"), printer),
    }
}

fn is_address(text: &str) -> bool {
    text.contains("://") || (text.contains('=') && !Path::new(text).exists())
}

fn own(path: &Path, printer: &Printer) -> Result<Store, Failure> {
    let (store, moved) = Store::sqlite(path).map_err(|error| failure(&error))?;
    if let Some(moved) = moved {
        printer.say(&format!(
            "the store {} is damaged: it was moved to {} and a new one begun",
            moved.from.display(),
            moved.to.display()
        ));
    }
    Ok(store)
}

fn shared(address: &str) -> Result<Store, Failure> {
    let named = connection::resolve(address, &|name| std::env::var(name).ok())
        .map_err(|error| Failure::new(Exit::Usage, error.to_string(), error.hint()))?;
    let at = named
        .choose()
        .map_err(|error| Failure::new(Exit::Usage, format!("--store: {error}"), error.hint()))?;
    let client = connection::connect(&at)
        .map_err(|error| Failure::new(Exit::Usage, format!("--store: {error}"), error.hint()))?;
    Store::postgres(client).map_err(|error| failure(&error))
}

pub(crate) fn failure(error: &StoreError) -> Failure {
    let exit = match error {
        StoreError::NotFound { .. }
        | StoreError::Ambiguous { .. }
        | StoreError::NameTaken { .. }
        | StoreError::RunTaken { .. }
        | StoreError::Newer { .. }
        | StoreError::Foreign { .. }
        | StoreError::Encoding { .. }
        | StoreError::NotAFile { .. }
        | StoreError::Document { .. } => Exit::Usage,
        _ => Exit::Surroundings,
    };
    Failure::new(exit, error.to_string(), error.hint())
}
