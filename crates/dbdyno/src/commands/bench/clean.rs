//! `bench clean`: removes what a load of dbdyno made, and nothing else.

use dbdyno_bench::tpcc::{ClientError, ReadBackError};
use dbdyno_bench::{friends, keys, oltp, tpcc};
use dbdyno_model::Connection;

use super::options::{self, Named};
use super::sbtest;
use crate::cli::BenchClean;
use crate::exit::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::printer::Printer;

pub(super) fn run(
    arguments: &BenchClean,
    printer: &Printer,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let (data, tpcc) = (&arguments.stored.data, &arguments.stored.tpcc);
    let named = options::named(data)?;
    let connection = options::connection(data, interrupt)?;
    let expected = options::expected(tpcc, 1);
    if matches!(named, Named::Tpcc) {
        // What cannot be read may have to be removed all the same.
        let found = tpcc::find(&connection, &expected);
        if let Err(error @ ReadBackError::Contradiction { .. }) = found {
            return Err(options::unread(&error, &connection));
        }
    }
    agree(&data.workload, &named, &connection, arguments.yes, printer)?;
    let what = match of(&named, &connection)? {
        true => format!("the tables of {} are removed", data.workload),
        false => "there was nothing to remove: no load of dbdyno vouches for its tables".to_owned(),
    };
    let mut text = format!("{}: {what}\n", connection.display());
    if matches!(named, Named::Oltp(..))
        && let Some(left) = sbtest::left(&connection)?
    {
        text.push_str(&format!("{left}\n"));
    }
    printer.result(&text)
}

/// Removes what an earlier load left, for a new one.
pub(super) fn make_room(named: &Named, connection: &Connection) -> Result<(), Failure> {
    match named {
        Named::Oltp(config, _) => sbtest::make_room(config, connection),
        _ => of(named, connection).map(drop),
    }
}

/// Asks whether what a load has left may be removed, where there is anything.
pub(super) fn agree(
    workload: &str,
    named: &Named,
    connection: &Connection,
    yes: bool,
    printer: &Printer,
) -> Result<(), Failure> {
    if yes || !is_left(named, connection)? {
        return Ok(());
    }
    let address = connection.display();
    printer.clear();
    if printer.confirm(&format!("Remove the tables of {workload} from {address}?")) {
        return Ok(());
    }
    Err(Failure::usage(
        format!("{address}: the tables of {workload} would be removed, with all that is in them"),
        "pass --yes if that is what you want",
    ))
}

fn is_left(named: &Named, connection: &Connection) -> Result<bool, Failure> {
    let left = match named {
        Named::Tpcc => tpcc::is_left(connection),
        Named::Oltp(..) => oltp::is_left(connection),
        Named::Keys(kind, _) => keys::is_left(connection, &keys::Config::new(*kind)),
        Named::Friends(_) => {
            let any = friends::Config::new(friends::Kind::Surrogate);
            friends::is_left(connection, &any)
        }
        // What it has made is not removed.
        Named::Script(_) => return Ok(false),
    };
    told(left, connection)
}

/// Removes the workload's tables, if they are such as a load makes; whether they were.
fn of(named: &Named, connection: &Connection) -> Result<bool, Failure> {
    match named {
        Named::Tpcc => told(tpcc::clean(connection), connection),
        Named::Oltp(config, said) => sbtest::clean(config, *said, connection),
        Named::Keys(kind, _) => {
            let any = keys::Config::new(*kind);
            told(keys::clean(connection, &any), connection)
        }
        Named::Friends(_) => {
            let any = friends::Config::new(friends::Kind::Surrogate);
            told(friends::clean(connection, &any), connection)
        }
        Named::Script(file) => Err(Failure::usage(
            format!("dbdyno cannot know what {file} has made"),
            "remove it as the file's setup made it",
        )),
    }
}

fn told(cleaned: Result<bool, ClientError>, connection: &Connection) -> Result<bool, Failure> {
    cleaned.map_err(|error| {
        let message = format!("{}: {}", connection.display(), error.deepest());
        Failure::new(Exit::Usage, message, error.hint().map(str::to_owned))
    })
}
