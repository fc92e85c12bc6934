//! `bench run`: one run for each number of connections, a line a second, a page at the end.
//!
//! What was measured is told, whatever comes after it: an interrupt, a server that is gone, a full disk.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dbdyno_bench::driver::{
    self, Driver, DriverError, Observed, Options, Sampler, ServerCounters, Until,
};
use dbdyno_bench::wire::{Isolation, Link, is_read_only, read_only_hint};
use dbdyno_bench::workload::{LoadError, Workload};
use dbdyno_model::run::Second;
use dbdyno_model::{Address, Bench, Connection};
use dbdyno_report::{bench_page, bench_second, sweep_page, to_json};
use dbdyno_target::host::{self, HostOptions, Root};
use dbdyno_target::process;
use dbdyno_trial::template::with_causes;

use super::document::{Beside, Cut, Subject, document};
use super::sampler::ServerSampler;
use super::{after, options, think, trust, verify, written};
use crate::cli::BenchRun;
use crate::exit::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::printer::Printer;
use crate::{clock, files, machine, target};

/// A run and the log of its latencies.
struct Ran {
    document: Bench,
    hdr_log: String,
    /// What ended it, or went wrong after it.
    ended_by: Option<Failure>,
}

/// What all runs of the command are made with.
#[derive(Clone, Copy)]
struct Runs<'a> {
    arguments: &'a BenchRun,
    subject: &'a Subject,
    printer: &'a Printer,
    interrupt: &'a Interrupt,
}

pub(super) fn run(
    arguments: &BenchRun,
    printer: &Printer,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    check(arguments)?;
    let (subject, numbers) = subject(arguments, interrupt)?;
    let runs = Runs {
        arguments,
        subject: &subject,
        printer,
        interrupt,
    };
    let mut documents = Vec::new();
    let mut end = runs.sweep(&numbers, &mut documents);
    if documents.len() > 1 && !arguments.json {
        let page = sweep_page(&documents, printer.width(), printer.style());
        let told = printer.result(&format!("\n{page}"));
        end = end.and(told);
    }
    if interrupt.is_set() {
        return Err(interrupted(documents.is_empty(), end.err()));
    }
    end?;
    let failed = |run: &Bench| run.consistency.iter().filter(|check| !check.passed).count();
    match documents.iter().map(failed).sum() {
        0 => Ok(()),
        failed => Err(verify::inconsistent(failed)),
    }
}

/// What is measured, and with how many connections each time.
fn subject(arguments: &BenchRun, interrupt: &Interrupt) -> Result<(Subject, Vec<u32>), Failure> {
    let named = options::named(&arguments.data)?;
    let connection = options::connection(&arguments.data, interrupt)?;
    let expected = options::expected(&arguments.tpcc, arguments.seed);
    let workload = options::loaded(&named, &connection, arguments.mode, &expected)?;
    let numbers = think::connections(arguments, &workload)?;
    let installed = workload.install(&connection);
    installed.map_err(|error| not_installed(&error, &connection))?;
    let (transport, isolation) = session(&connection, &workload)?;
    let own_isolation = match arguments.isolation {
        None => workload.own_isolation(connection.engine),
        Some(_) => None,
    };
    let host = host::collect(&Root::host(), &HostOptions::default());
    let subject = Subject {
        command: target::command(arguments.data.target.as_deref(), Some(&connection)),
        workload,
        connection,
        transport,
        isolation: arguments.isolation.or(isolation),
        own_isolation: own_isolation.filter(|(_, level)| isolation != Some(*level)),
        machine: machine::of(&host),
        think: arguments.think,
        seed: arguments.seed,
    };
    Ok((subject, numbers))
}

/// With what went wrong beside.
fn interrupted(nothing: bool, failure: Option<Failure>) -> Failure {
    let mut message = match nothing {
        true => "interrupted before anything was measured".to_owned(),
        false => "interrupted: what was measured until then is above".to_owned(),
    };
    if let Some(failure) = failure.filter(|failure| failure.exit != Exit::Interrupted) {
        message.push_str("; ");
        message.push_str(&failure.message);
    }
    Failure::new(Exit::Interrupted, message, None)
}

fn not_installed(error: &LoadError, connection: &Connection) -> Failure {
    let message = format!("{}: {}", connection.display(), with_causes(error));
    Failure::new(Exit::Usage, message, error.hint().map(str::to_owned))
}

/// Transport and isolation as a connection of the driver finds them, where the server lets the
/// workload do what it does.
fn session(
    connection: &Connection,
    workload: &Workload,
) -> Result<(&'static str, Option<Isolation>), Failure> {
    let target = driver::target(connection).map_err(|error| failure(&error.into()))?;
    let mut link = Link::open(&target).map_err(|source| {
        failure(&DriverError::Connect {
            server: connection.display(),
            source,
        })
    })?;
    // A file's own statements may ask for a transaction that writes.
    let writes = workload.writes() && !matches!(workload, Workload::Script(_));
    if writes && is_read_only(&mut link, connection.engine).unwrap_or(false) {
        return Err(Failure::usage(
            format!(
                "cannot run {} on {}: its transactions write, and there they may only read",
                workload.name(),
                connection.display()
            ),
            read_only_hint(connection.engine),
        ));
    }
    let isolation = Isolation::read(&mut link, connection.engine).ok();
    let transport = match connection.address {
        _ if link.is_encrypted() => "TLS",
        Address::Socket(_) => "unix socket",
        Address::Tcp(_) => "TCP",
    };
    Ok((transport, isolation))
}

/// What can be found wrong before the server is asked anything.
fn check(arguments: &BenchRun) -> Result<(), Failure> {
    if let Some(rate) = arguments.rate
        && !(rate.is_finite() && rate > 0.0)
    {
        return Err(Failure::usage(
            format!("--rate {rate} cannot be driven"),
            "give the transactions a second that shall arrive, such as --rate 500",
        ));
    }
    for path in [&arguments.csv, &arguments.hdr].into_iter().flatten() {
        files::check_writable(path).map_err(|error| unwritable(path, &error))?;
    }
    Ok(())
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::usage(
        format!("cannot write {}: {error}", path.display()),
        "name a file in a directory that is there and that you may write to",
    )
}

impl Runs<'_> {
    /// One run after the other, each told and written when it ends, until something ends them all.
    fn sweep(self, numbers: &[u32], documents: &mut Vec<Bench>) -> Result<(), Failure> {
        let (arguments, printer) = (self.arguments, self.printer);
        for &connections in numbers {
            let has_own_peak = process::reset_own_peak_rss() || documents.is_empty();
            let ran = self.one(connections, has_own_peak)?;
            let text = match arguments.json {
                true => to_json(&ran.document),
                false => bench_page(&ran.document, printer.width(), printer.style()),
            };
            let told = printer.result(&text);
            documents.push(ran.document);
            let written = written::write(arguments, documents, &ran.hdr_log);
            ran.ended_by.map_or(Ok(()), Err).and(told).and(written)?;
            if self.interrupt.is_set() {
                break;
            }
            // Only now: an interrupt would end the process before the run was told.
            self.interrupt.watches(false);
        }
        Ok(())
    }

    fn one(self, connections: u32, has_own_peak: bool) -> Result<Ran, Failure> {
        let (arguments, subject) = (self.arguments, self.subject);
        let mut sampler = ServerSampler::open(&subject.connection, self.interrupt.flag())?;
        let workload = options::driven_by(&subject.workload, connections);
        let options = Options {
            connections,
            threads: arguments.threads.map(usize::from),
            seed: arguments.seed,
            reconnect: true,
            think: subject.think,
            rate: arguments.rate,
            isolation: arguments.isolation,
            spacing: arguments.arrivals.unwrap_or_default(),
            stop: Arc::clone(self.interrupt.flag()),
        };
        self.printer.step(&format!(
            "{} {}: {}, connecting {connections}",
            sampler.engine,
            sampler.version,
            subject.workload.description_with(subject.think)
        ));
        let started_at = clock::now();
        let mut driver = Driver::start(&subject.connection, &workload, &options)
            .map_err(|error| failure(&error))?;
        // From here on what was measured is told, whatever happens.
        self.interrupt.watches(true);
        let window = self.measure(&mut driver, &mut sampler)?;
        let beside = Beside {
            started_at,
            connections,
            warm_up_s: arguments.warm_up.map(|time| time.as_secs_f64()),
            before: window.before,
            has_own_peak,
            strangers_cpu_s: window.strangers_cpu_s,
            complete: window.measured.complete,
        };
        Ok(self.finish(driver, sampler, window, beside))
    }

    /// Drives the load for the time that was asked for, behind the warm-up where one was.
    fn measure(self, driver: &mut Driver, sampler: &mut ServerSampler) -> Result<Window, Failure> {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
        let pids = [Some(std::process::id()), sampler.pid];
        let pids: Vec<u32> = pids.into_iter().flatten().collect();
        let mut tell = |second: &Second| {
            if !self.arguments.quiet {
                self.printer.say(&bench_second(second));
            }
        };
        let mut strangers = process::strangers_cpu_s(&pids);
        let mut before = sampler.sample();
        if let Some(time) = self.arguments.warm_up {
            self.printer.step("warming up");
            let warm_up = observe(driver, time, sampler, &mut tell)?;
            warmed_up(warm_up.complete, warm_up.ended_by)?;
            strangers = process::strangers_cpu_s(&pids);
            before = sampler.sample();
        }
        let measured = observe(driver, self.arguments.duration, sampler, &mut tell)?;
        Ok(Window {
            measured,
            since_epoch: since_epoch.unwrap_or_default(),
            before,
            strangers_cpu_s: process::strangers_cpu_s(&pids) - strangers,
        })
    }

    /// The document of what was measured, with what is known only after it.
    fn finish(
        self,
        driver: Driver,
        mut sampler: ServerSampler,
        window: Window,
        beside: Beside,
    ) -> Ran {
        let (subject, observed) = (self.subject, window.measured.observed);
        let cut = Cut::of(&observed, beside.warm_up_s);
        let mut document = document(subject, beside, &observed, &cut, &mut sampler);
        drop(sampler);
        let after = after::look(
            self.arguments,
            subject,
            driver,
            &mut document,
            self.printer,
            self.interrupt,
        );
        document.warnings = trust::warnings(&document, subject.workload.writes());
        document.warnings.extend(after.warnings);
        let cut_short = window.measured.ended_by.as_ref();
        document
            .warnings
            .extend(cut_short.map(|failure| after::warning("the run was cut short", failure)));
        Ran {
            document,
            hdr_log: observed.hdr_log(cut.from_s, window.since_epoch),
            ended_by: window.measured.ended_by.or(after.failure),
        }
    }
}

/// What was measured, and what stood beside it.
struct Window {
    measured: Measured,
    /// When the load began.
    since_epoch: Duration,
    before: ServerCounters,
    /// Processor seconds that others took.
    strangers_cpu_s: f64,
}

/// A stretch of the load as it was measured.
struct Measured {
    observed: Observed,
    /// Until the time was over.
    complete: bool,
    /// What cut it short, unless it was an interrupt.
    ended_by: Option<Failure>,
}

/// A warm-up that was cut short leaves nothing that was measured.
fn warmed_up(complete: bool, ended_by: Option<Failure>) -> Result<(), Failure> {
    match complete {
        true => Ok(()),
        false => Err(ended_by.unwrap_or_else(Failure::interrupted)),
    }
}

/// An interrupt, or an error that ends the load, keeps what was measured until then.
fn observe(
    driver: &mut Driver,
    time: Duration,
    sampler: &mut ServerSampler,
    tell: &mut dyn FnMut(&Second),
) -> Result<Measured, Failure> {
    let mut error = match driver.observe(Until::Elapsed(time), sampler, tell) {
        Ok(observed) => {
            return Ok(Measured {
                observed,
                complete: true,
                ended_by: None,
            });
        }
        Err(error) => error,
    };
    let Some(observed) = error.take_observed() else {
        return Err(failure(&error));
    };
    let interrupted = matches!(error, DriverError::Interrupted { .. });
    Ok(Measured {
        observed,
        complete: false,
        ended_by: (!interrupted).then(|| failure(&error)),
    })
}

/// Why the driver failed, in the words of the user.
pub(super) fn failure(error: &DriverError) -> Failure {
    let exit = match error {
        DriverError::Interrupted { .. } => return Failure::interrupted(),
        DriverError::Broken { error, .. } => return failure(error),
        DriverError::Panicked => Exit::Defect,
        DriverError::Thread(_) | DriverError::ServerGone { .. } | DriverError::Unsent(_) => {
            Exit::Surroundings
        }
        _ => Exit::Usage,
    };
    Failure::new(exit, error.to_string(), error.hint().map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupt_of_the_warm_up_is_before_anything_was_measured() {
        assert!(warmed_up(true, None).is_ok());
        let failure = warmed_up(false, None).unwrap_err();
        assert_eq!(failure.exit, Exit::Interrupted);
        let told = interrupted(true, Some(failure));
        assert_eq!(told.exit, Exit::Interrupted);
        assert_eq!(told.message, "interrupted before anything was measured");
        let gone = Failure::new(Exit::Surroundings, "gone", None);
        let failure = warmed_up(false, Some(gone)).unwrap_err();
        assert_eq!(failure.exit, Exit::Surroundings);
    }
}
