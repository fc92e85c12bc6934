//! What follows a run that was measured: its load is ended, its data are looked at. Whatever fails or is
//! interrupted here is named, and loses nothing of the run.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use dbdyno_bench::driver::{Driver, DriverError};
use dbdyno_bench::workload::Workload;
use dbdyno_model::bench::Warning;
use dbdyno_model::{Bench, Footprint};
use dbdyno_report::{number, shell_word};

use super::document::Subject;
use super::{run, verify};
use crate::cli::BenchRun;
use crate::exit::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::printer::Printer;

/// How long transactions that are under way at the end may take to end.
const UNDER_WAY: Duration = Duration::from_secs(10);

/// How late an interrupt may be seen.
const TICK: Duration = Duration::from_millis(50);

/// What there is to say of it.
#[derive(Debug, Default)]
pub(super) struct After {
    pub(super) warnings: Vec<Warning>,
    /// The first that failed.
    pub(super) failure: Option<Failure>,
}

impl After {
    fn failed(&mut self, what: &str, failure: Failure) {
        self.warnings.push(warning(what, &failure));
        if self.failure.is_none() {
            self.failure = Some(failure);
        }
    }

    /// Fills in what the tables take, or says why that is not known; none where an interrupt came
    /// before the answer.
    fn size(
        &mut self,
        document: &mut Bench,
        workload: &Workload,
        found: Option<Result<Option<Footprint>, Failure>>,
    ) {
        match found {
            Some(Ok(footprint)) => document.footprint = footprint,
            Some(Err(failure)) => self.failed("the size of the tables could not be read", failure),
            None if workload.has_footprint() => self.warnings.push(unsized_tables()),
            None => {}
        }
    }
}

/// A failure as the document tells it.
pub(super) fn warning(what: &str, failure: &Failure) -> Warning {
    let next = failure.hint.as_deref();
    Warning {
        what: format!("{what}: {}", failure.message),
        next: next.unwrap_or("look at the server and its log").to_owned(),
    }
}

/// Ends the load, and fills in what is known only when it has ended. A run that was cut short is left
/// as it is.
pub(super) fn look(
    arguments: &BenchRun,
    subject: &Subject,
    driver: Driver,
    document: &mut Bench,
    printer: &Printer,
    interrupt: &Interrupt,
) -> After {
    let mut after = After::default();
    if !document.complete {
        drop(driver);
        return after;
    }
    match driver.stop_within(UNDER_WAY) {
        Ok(Some(_)) | Err(DriverError::Interrupted { .. }) => {}
        Ok(None) => after.warnings.push(left_under_way()),
        Err(error) => after.failed("the load did not end as it should", run::failure(&error)),
    }
    if arguments.verify {
        printer.progress("checking the data");
        let (workload, connection) = (subject.workload.clone(), subject.connection.clone());
        let check = move || verify::check(&workload, &connection);
        match unless_interrupted(interrupt, check) {
            Some(Ok(checks)) => document.consistency = checks,
            Some(Err(failure)) => after.failed("the data could not be checked", failure),
            None => {
                let address = subject.connection.display();
                after.warnings.push(unchecked(arguments, &address));
            }
        }
        printer.clear();
    }
    let (workload, connection) = (subject.workload.clone(), subject.connection.clone());
    let size = move || {
        let found = workload.footprint(&connection).transpose();
        found.map_err(|error| {
            let message = format!("{}: {}", connection.display(), error.deepest());
            Failure::new(Exit::Surroundings, message, error.hint().map(str::to_owned))
        })
    };
    let found = unless_interrupted(interrupt, size);
    after.size(document, &subject.workload, found);
    after
}

fn left_under_way() -> Warning {
    let waited = number::duration(UNDER_WAY.as_secs_f64());
    Warning {
        what: format!(
            "transactions were still under way {waited} after the end: they were cancelled, and \
             are in no figure"
        ),
        next: "find out what they wait for: a lock that somebody holds, or a statement that is \
               longer than the run"
            .to_owned(),
    }
}

fn unsized_tables() -> Warning {
    Warning {
        what: "the size of the tables was not read: that was interrupted".to_owned(),
        next: "run it again, for however short a time: the size is read after each run".to_owned(),
    }
}

fn unchecked(arguments: &BenchRun, address: &str) -> Warning {
    Warning {
        what: "the data were not checked: that was interrupted".to_owned(),
        next: format!("{} checks them", verify_command(arguments, address)),
    }
}

/// With what the run was told of its data; the rest a check finds by itself.
fn verify_command(arguments: &BenchRun, address: &str) -> String {
    let mut command = format!(
        "dbdyno bench verify {} {}",
        shell_word(&arguments.data.workload),
        shell_word(address)
    );
    if let Some(layout) = arguments.tpcc.layout {
        command.push_str(&format!(" --layout {}", layout.name()));
    }
    let (tpcc, sbtest) = (&arguments.tpcc, &arguments.data.sbtest);
    for (option, count) in [
        ("sets", tpcc.sets.map(u64::from)),
        ("warehouses", tpcc.warehouses.map(u64::from)),
        ("tables", sbtest.tables.map(u64::from)),
        ("table-size", sbtest.table_size),
    ] {
        if let Some(count) = count {
            command.push_str(&format!(" --{option} {count}"));
        }
    }
    command
}

/// Asks the server for what may take any time, on a thread that nobody waits for after an interrupt:
/// none then.
fn unless_interrupted<T: Send + 'static>(
    interrupt: &Interrupt,
    ask: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Option<Result<T, Failure>> {
    if interrupt.is_set() {
        return None;
    }
    let (sender, answer) = mpsc::channel();
    let asking = std::thread::Builder::new().name("after".into());
    let spawned = asking.spawn(move || {
        // Nobody listens any more after an interrupt.
        let _ = sender.send(ask());
    });
    if let Err(error) = spawned {
        let message = format!("cannot start a thread: {error}");
        let hint = "raise the limit on processes (ulimit -u)".to_owned();
        return Some(Err(Failure::new(Exit::Surroundings, message, Some(hint))));
    }
    loop {
        match answer.recv_timeout(TICK) {
            Ok(answer) => return Some(answer),
            Err(RecvTimeoutError::Timeout) if interrupt.is_set() => return None,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                let message = "a thread ended by itself; this is a defect of dbdyno";
                return Some(Err(Failure::new(Exit::Defect, message, None)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use dbdyno_bench::{keys, tpcc};

    use super::*;
    use crate::cli::{BenchAction, Cli, Command};

    #[test]
    fn the_command_that_checks_is_told_what_the_run_was_told_of_its_data() {
        let command = |words: &str| {
            let run = format!("dbdyno bench run {words}");
            let cli = Cli::try_parse_from(run.split(' ')).unwrap();
            let Command::Bench(bench) = cli.command else {
                panic!("{run}");
            };
            let BenchAction::Run(arguments) = bench.action else {
                panic!("{run}");
            };
            verify_command(&arguments, "host")
        };
        assert_eq!(
            command("tpcc --layout sysbench --verify"),
            "dbdyno bench verify tpcc host --layout sysbench"
        );
        assert_eq!(
            command("oltp-read-only --tables 3 --table-size 20 --connections 2"),
            "dbdyno bench verify oltp-read-only host --tables 3 --table-size 20"
        );
        assert_eq!(
            command("./in/move.sql --duration 5"),
            "dbdyno bench verify ./in/move.sql host"
        );
    }

    #[test]
    fn a_size_whose_reading_was_interrupted_is_named_where_there_is_one() {
        let inserts = Workload::Keys(keys::Config::new(keys::Kind::Inserts));
        let tpcc = Workload::Tpcc(tpcc::Config::default(), tpcc::Mode::default());
        let mut after = After::default();
        let mut document = Bench::default();
        after.size(&mut document, &tpcc, None);
        after.size(&mut document, &inserts, Some(Ok(None)));
        assert_eq!(after.warnings, []);
        after.size(&mut document, &inserts, None);
        assert!(after.warnings[0].what.contains("size of the tables"));
        assert!(after.failure.is_none());
    }
}
