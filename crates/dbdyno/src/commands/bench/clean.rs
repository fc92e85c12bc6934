//! `bench clean`: removes what a load of dbdyno made, and nothing else.

use dbdyno_bench::tpcc;
use dbdyno_model::Connection;

use super::options::{self, Named};
use crate::cli::BenchData;
use crate::exit::{Exit, Failure};
use crate::printer::Printer;

pub(super) fn run(arguments: &BenchData, printer: &Printer) -> Result<(), Failure> {
    let named = options::named(arguments)?;
    let connection = options::connection(arguments)?;
    match named {
        Named::Tpcc => {
            let removed = tpcc(&connection)?;
            let what = match removed {
                true => "the tables of tpcc are removed",
                false => "there was nothing to remove: no load of dbdyno vouches for its tables",
            };
            printer.result(&format!("{}: {what}\n", connection.display()))
        }
        Named::Script(file) => Err(Failure::usage(
            format!("dbdyno cannot know what {file} has made"),
            "remove it as the file's setup made it",
        )),
    }
}

/// Whether there was something to remove.
pub(super) fn tpcc(connection: &Connection) -> Result<bool, Failure> {
    tpcc::clean(connection).map_err(|error| {
        let message = format!("{}: {}", connection.display(), error.deepest());
        Failure::new(Exit::Usage, message, error.hint().map(str::to_owned))
    })
}
