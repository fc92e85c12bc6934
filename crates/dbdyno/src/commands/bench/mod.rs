//! `dbdyno bench`: loads, drives, checks and cleans one server.

mod after;
mod applies;
mod clean;
mod document;
mod generate;
mod given;
mod innodb;
mod keyed;
mod life;
mod list;
mod load;
mod options;
mod pages;
mod reader;
mod run;
mod sampler;
mod sbtest;
mod think;
mod trust;
mod users;
mod verify;
mod written;

use crate::cli::{Bench, BenchAction};
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::printer::Printer;

pub(crate) fn run(
    arguments: &Bench,
    printer: &Printer,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    applies::check(&arguments.action)?;
    let quiet = arguments.action.is_quiet().then(Printer::quiet);
    let printer = quiet.as_ref().unwrap_or(printer);
    let result = match &arguments.action {
        BenchAction::List => list::run(printer),
        BenchAction::Load(arguments) => load::run(arguments, printer, interrupt),
        BenchAction::Run(arguments) => run::run(arguments, printer, interrupt),
        BenchAction::Verify(arguments) => verify::run(arguments, printer, interrupt),
        BenchAction::Clean(arguments) => clean::run(arguments, printer, interrupt),
    };
    printer.clear();
    result
}
