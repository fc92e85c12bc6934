//! Puts a database server on the dynamometer: plans its tuning and proves what it was worth.

mod cli;
mod clock;
mod collecting;
mod commands;
mod exit;
mod facts;
mod facts_file;
mod files;
mod interrupt;
mod json_path;
mod loading;
mod machine;
mod memory;
mod neighbours;
mod printer;
mod report_files;
mod selection;
mod store;
mod suggest;
mod target;

use std::process::ExitCode;

use clap::Parser;

use cli::{Cli, Command};
use exit::Exit;
use interrupt::Interrupt;
use printer::Printer;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let printer = Printer::new();
    let interrupt = match Interrupt::install() {
        Ok(interrupt) => interrupt,
        Err(error) => {
            printer.error(&format!("cannot handle signals: {error}"), None);
            return Exit::Defect.into();
        }
    };
    let result = match cli.command {
        Command::Bench(arguments) => commands::bench::run(&arguments, &printer, &interrupt),
        Command::Check(arguments) => commands::check::run(&arguments, &printer, &interrupt),
        Command::Collect(arguments) => commands::collect::run(&arguments, &printer, &interrupt),
        Command::Diff(arguments) => commands::diff::run(&arguments, &printer),
        Command::Grants(arguments) => commands::grants::run(&arguments, &printer, &interrupt),
        Command::Rule(arguments) => commands::rule::run(&arguments, &printer),
        Command::Tune(arguments) => commands::tune::run(&arguments, &printer, &interrupt),
        Command::Report(arguments) => commands::report::run(&arguments, &printer),
        Command::Compare(arguments) => commands::compare::run(&arguments, &printer),
        Command::Runs(arguments) => commands::runs::run(&arguments, &printer),
    };
    match result {
        Ok(()) => Exit::Done.into(),
        Err(failure) => {
            // Neither is anybody's mistake.
            if matches!(failure.exit, Exit::Interrupted | Exit::Crossed) {
                printer.say(&failure.message);
                if let Some(hint) = &failure.hint {
                    printer.say(&format!("hint: {hint}"));
                }
            } else {
                printer.error(&failure.message, failure.hint.as_deref());
            }
            failure.exit.into()
        }
    }
}
