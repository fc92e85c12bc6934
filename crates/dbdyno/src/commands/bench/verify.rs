//! `bench verify`: the workload's own conditions on its data.

use std::time::Instant;

use dbdyno_bench::workload::{When, Workload};
use dbdyno_model::Connection;
use dbdyno_model::run::Check;
use dbdyno_model::words::plural;
use dbdyno_report::number;

use super::options;
use crate::cli::BenchStored;
use crate::exit::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::printer::Printer;

pub(super) fn run(
    arguments: &BenchStored,
    printer: &Printer,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let named = options::named(&arguments.data)?;
    let connection = options::connection(&arguments.data, interrupt)?;
    let expected = options::expected(&arguments.tpcc, 1);
    let workload = options::loaded(&named, &connection, None, &expected)?;
    printer.progress("checking the data");
    let begun = Instant::now();
    let checks = check(&workload, &connection)?;
    printer.clear();
    let mut text = String::new();
    for check in &checks {
        let word = match check.passed {
            _ if !check.applies() => "n/a  ",
            true => "holds",
            false => "FAILS",
        };
        text.push_str(&format!("{word}  {}  {}\n", check.name, check.description));
        if let Some(detail) = &check.detail {
            text.push_str(&format!("       {detail}\n"));
        }
    }
    let failed = checks.iter().filter(|check| !check.passed).count();
    let apart = checks.iter().filter(|check| !check.applies()).count();
    let not_applicable = match apart {
        0 => String::new(),
        _ => format!(", {apart} not applicable"),
    };
    text.push_str(&format!(
        "{} of {} hold{not_applicable}, checked in {}\n",
        checks.len() - failed - apart,
        checks.len(),
        number::duration(begun.elapsed().as_secs_f64())
    ));
    printer.result(&text)?;
    match failed {
        0 => Ok(()),
        _ => Err(inconsistent(failed)),
    }
}

/// Each check, as it stands after any number of runs.
pub(super) fn check(workload: &Workload, connection: &Connection) -> Result<Vec<Check>, Failure> {
    workload.check(connection, When::AfterRun).map_err(|error| {
        let message = format!("{}: {error}", connection.display());
        let hint = error.hint().map(str::to_owned);
        Failure::new(Exit::Surroundings, message, hint)
    })
}

pub(super) fn inconsistent(failed: usize) -> Failure {
    Failure::new(
        Exit::Surroundings,
        format!("the data fail {}", plural(failed as u64, "check")),
        Some("the server lost or mixed up data, or somebody else changed them".into()),
    )
}
