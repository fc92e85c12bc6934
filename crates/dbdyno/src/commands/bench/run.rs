//! `bench run`: one run for each number of connections, a line a second, a page at the end.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dbdyno_bench::driver::{self, Driver, DriverError, Observed, Options, Sampler, Until};
use dbdyno_bench::wire::{Isolation, Link, is_read_only, read_only_hint};
use dbdyno_bench::workload::{LoadError, Workload};
use dbdyno_model::run::Second;
use dbdyno_model::{Address, Bench, Connection, Footprint};
use dbdyno_report::{bench_csv, bench_page, bench_second, sweep_page, to_json};
use dbdyno_target::host::{self, HostOptions, Root};
use dbdyno_target::process;
use dbdyno_trial::template::with_causes;

use super::document::{Beside, Cut, Subject, document};
use super::sampler::ServerSampler;
use super::{options, think, trust, verify};
use crate::cli::BenchRun;
use crate::exit::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::printer::Printer;
use crate::{clock, files, machine, target};

/// A run and the log of its latencies.
struct Ran {
    document: Bench,
    hdr_log: String,
}

pub(super) fn run(
    arguments: &BenchRun,
    printer: &Printer,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    check(arguments)?;
    let named = options::named(&arguments.data)?;
    let connection = options::connection(&arguments.data, interrupt)?;
    let expected = options::expected(&arguments.tpcc, arguments.seed);
    let workload = options::loaded(&named, &connection, arguments.mode, &expected)?;
    let numbers = think::connections(arguments, &workload)?;
    let installed = workload.install(&connection);
    installed.map_err(|error| not_installed(&error, &connection))?;
    let (transport, isolation) = session(&connection, &workload)?;
    let host = host::collect(&Root::host(), &HostOptions::default());
    let subject = Subject {
        command: target::command(arguments.data.target.as_deref(), Some(&connection)),
        workload,
        connection,
        transport,
        isolation: arguments.isolation.or(isolation),
        machine: machine::of(&host),
        think: arguments.think,
        seed: arguments.seed,
    };
    let mut runs = Vec::new();
    let mut end = Ok(());
    for connections in numbers {
        match one(arguments, &subject, connections, printer, interrupt) {
            Ok(ran) => {
                let text = match arguments.json {
                    true => to_json(&ran.document),
                    false => bench_page(&ran.document, printer.width(), printer.style()),
                };
                printer.result(&text)?;
                runs.push(ran);
            }
            Err(failure) => end = Err(failure),
        }
        if end.is_err() || interrupt.is_set() {
            break;
        }
    }
    write_files(arguments, &runs)?;
    let documents: Vec<Bench> = runs.into_iter().map(|ran| ran.document).collect();
    if documents.len() > 1 && !arguments.json {
        let page = sweep_page(&documents, printer.width(), printer.style());
        printer.result(&format!("\n{page}"))?;
    }
    if interrupt.is_set() {
        return Err(Failure::new(
            Exit::Interrupted,
            match documents.is_empty() {
                true => "interrupted before anything was measured",
                false => "interrupted: what was measured until then is above",
            },
            None,
        ));
    }
    end?;
    let failed = |run: &Bench| run.consistency.iter().filter(|check| !check.passed).count();
    match documents.iter().map(failed).sum() {
        0 => Ok(()),
        failed => Err(verify::inconsistent(failed)),
    }
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
    let target = driver::target(connection).map_err(|error| failure(error.into()))?;
    let mut link = Link::open(&target).map_err(|source| {
        failure(DriverError::Connect {
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

fn one(
    arguments: &BenchRun,
    subject: &Subject,
    connections: u32,
    printer: &Printer,
    interrupt: &Interrupt,
) -> Result<Ran, Failure> {
    let mut sampler = ServerSampler::open(&subject.connection)?;
    let workload = options::driven_by(&subject.workload, connections);
    let options = Options {
        connections,
        threads: arguments.threads.map(usize::from),
        seed: arguments.seed,
        reconnect: true,
        think: subject.think,
        isolation: arguments.isolation,
        stop: Arc::clone(interrupt.flag()),
    };
    printer.step(&format!(
        "{} {}: {}, connecting {connections}",
        sampler.engine,
        sampler.version,
        subject.workload.description_with(subject.think)
    ));
    let started_at = clock::now();
    let mut driver = Driver::start(&subject.connection, &workload, &options).map_err(failure)?;
    // From here on what was measured is told, whatever happens.
    interrupt.watches(true);
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
    let pids = [Some(std::process::id()), sampler.pid];
    let pids: Vec<u32> = pids.into_iter().flatten().collect();
    let mut tell = |second: &Second| {
        if !arguments.quiet {
            printer.say(&bench_second(second));
        }
    };
    let mut strangers = process::strangers_cpu_s(&pids);
    let mut before = sampler.sample();
    // Nothing comes between this and the window, so that no queue stands when it opens.
    if let Some(rate) = arguments.rate {
        driver.set_open_loop(rate).map_err(failure)?;
    }
    if let Some(time) = arguments.warm_up {
        printer.step("warming up");
        observe(&mut driver, time, &mut sampler, &mut tell)?;
        strangers = process::strangers_cpu_s(&pids);
        before = sampler.sample();
    }
    let (observed, complete) = observe(&mut driver, arguments.duration, &mut sampler, &mut tell)?;
    let beside = Beside {
        started_at,
        connections,
        warm_up_s: arguments.warm_up.map(|time| time.as_secs_f64()),
        before,
        strangers_cpu_s: process::strangers_cpu_s(&pids) - strangers,
        complete,
    };
    let cut = Cut::of(&observed, beside.warm_up_s);
    let mut document = document(subject, beside, &observed, &cut, &mut sampler);
    if complete {
        driver.stop().map_err(failure)?;
    } else {
        drop(driver);
    }
    drop(sampler);
    interrupt.watches(false);
    if arguments.verify && complete {
        printer.progress("checking the data");
        document.consistency = verify::check(&subject.workload, &subject.connection)?;
        printer.clear();
    }
    if complete {
        document.footprint = footprint(subject)?;
    }
    document.warnings = trust::warnings(&document, subject.workload.writes());
    Ok(Ran {
        document,
        hdr_log: observed.hdr_log(cut.from_s, since_epoch.unwrap_or_default()),
    })
}

fn footprint(subject: &Subject) -> Result<Option<Footprint>, Failure> {
    let found = subject.workload.footprint(&subject.connection);
    found.transpose().map_err(|error| {
        let message = format!("{}: {}", subject.connection.display(), error.deepest());
        Failure::new(Exit::Surroundings, message, error.hint().map(str::to_owned))
    })
}

/// What was observed, and whether to its end: an interrupt keeps what was measured until then.
fn observe(
    driver: &mut Driver,
    time: Duration,
    sampler: &mut ServerSampler,
    tell: &mut dyn FnMut(&Second),
) -> Result<(Observed, bool), Failure> {
    match driver.observe(Until::Elapsed(time), sampler, tell) {
        Ok(observed) => Ok((observed, true)),
        Err(DriverError::Interrupted {
            observed: Some(observed),
        }) => Ok((*observed, false)),
        Err(error) => Err(failure(error)),
    }
}

fn failure(error: DriverError) -> Failure {
    let exit = match &error {
        DriverError::Interrupted { .. } => return Failure::interrupted(),
        DriverError::Panicked => Exit::Defect,
        DriverError::Thread(_) | DriverError::ServerGone { .. } | DriverError::Unsent(_) => {
            Exit::Surroundings
        }
        _ => Exit::Usage,
    };
    Failure::new(exit, error.to_string(), error.hint().map(str::to_owned))
}

fn write_files(arguments: &BenchRun, runs: &[Ran]) -> Result<(), Failure> {
    let write = |path: &Path, text: &str| {
        files::write(path, text.as_bytes()).map_err(|error| {
            Failure::new(
                Exit::Surroundings,
                format!("cannot write {}: {error}", path.display()),
                None,
            )
        })
    };
    if let Some(path) = &arguments.csv {
        write(path, &bench_csv(runs.iter().map(|ran| &ran.document)))?;
    }
    if let Some(path) = &arguments.hdr {
        for ran in runs {
            let several = arguments.connections.len() > 1;
            let path = if several {
                numbered(path, ran.document.connections)
            } else {
                path.clone()
            };
            write(&path, &ran.hdr_log)?;
        }
    }
    Ok(())
}

/// `run.hdr` becomes `run-8.hdr`.
fn numbered(path: &Path, connections: u32) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let name = match path.extension() {
        Some(extension) => format!("{stem}-{connections}.{}", extension.to_string_lossy()),
        None => format!("{stem}-{connections}"),
    };
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_of_connections_has_its_own_log() {
        assert_eq!(
            numbered(Path::new("a/run.hdr"), 8),
            Path::new("a/run-8.hdr")
        );
        assert_eq!(numbered(Path::new("log"), 16), Path::new("log-16"));
    }
}
