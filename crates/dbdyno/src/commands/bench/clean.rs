//! `bench clean`: removes what a load of dbdyno made, and nothing else.

use dbdyno_bench::tpcc::{ClientError, ReadBackError};
use dbdyno_bench::{friends, keys, oltp, tpcc};
use dbdyno_model::Connection;
use dbdyno_trial::template::with_causes;

use super::options::{self, Named};
use crate::cli::BenchStored;
use crate::exit::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::printer::Printer;

pub(super) fn run(
    arguments: &BenchStored,
    printer: &Printer,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let data = &arguments.data;
    let named = options::named(data)?;
    let connection = options::connection(data, interrupt)?;
    let expected = options::expected(&arguments.tpcc, 1);
    if matches!(named, Named::Tpcc) {
        // What cannot be read may have to be removed all the same.
        let found = tpcc::find(&connection, &expected);
        if let Err(error @ ReadBackError::Contradiction { .. }) = found {
            return Err(options::unread(&error, &connection));
        }
    }
    let what = match of(&named, &connection)? {
        true => format!("the tables of {} are removed", data.workload),
        false => "there was nothing to remove: no load of dbdyno vouches for its tables".to_owned(),
    };
    printer.result(&format!("{}: {what}\n", connection.display()))
}

/// Removes the workload's tables, if they are such as a load makes; whether they were.
pub(super) fn of(named: &Named, connection: &Connection) -> Result<bool, Failure> {
    match named {
        Named::Tpcc => told(tpcc::clean(connection), connection),
        Named::Oltp(config) => oltp::clean(connection, config).map_err(|error| {
            let hint = error.hint().map(str::to_owned);
            Failure::new(Exit::Usage, with_causes(&error), hint)
        }),
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
