//! `dbdyno tune`: the whole line from a server to a proven plan.

mod arms;
mod document;
mod lab;
mod options;
mod plan_only;
mod screen;
mod trial;

use crate::cli;
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::printer::Printer;

pub(crate) fn run(
    arguments: &cli::Tune,
    printer: &Printer,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let options = options::Options::check(arguments, interrupt)?;
    let result = match (&options.target, arguments.twin_here) {
        (None, _) => trial::embedded(&options, printer, interrupt),
        (Some(target), true) => trial::twin(&options, target, printer, interrupt),
        (Some(target), false) => plan_only::run(&options, target, printer),
    };
    printer.clear();
    // What an interrupt broke is the interrupt's doing.
    match result {
        Err(_) if interrupt.is_set() => Err(Failure::interrupted()),
        other => other,
    }
}
