//! `bench load`: creates and fills a workload's tables.

use std::sync::Arc;

use dbdyno_bench::oltp;
use dbdyno_bench::tpcc::{self, Mode};
use dbdyno_bench::workload::{LoadError, Loaded, Workload};
use dbdyno_model::Connection;
use dbdyno_report::number;
use dbdyno_trial::template::with_causes;

use super::options::{self, Named};
use super::{clean, generate, keyed};
use crate::cli::BenchLoad;
use crate::exit::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::loading::Loading;
use crate::printer::Printer;
use crate::target;

/// Where none are asked for: about a gigabyte.
const WAREHOUSES: u32 = 10;

pub(super) fn run(
    arguments: &BenchLoad,
    printer: &Printer,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let named = options::named(&arguments.data)?;
    if let Named::Script(file) = &named
        && (arguments.resume || arguments.generate_only)
    {
        return Err(Failure::usage(
            format!("dbdyno cannot know what rows {file} makes"),
            "--resume and --generate-only are for workloads that dbdyno bench list names",
        ));
    }
    let connection = if arguments.generate_only {
        options::unasked(&arguments.data, interrupt)?
    } else {
        options::connection(&arguments.data, interrupt)?
    };
    let workload = to_load(&named, arguments, &connection)?;
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = arguments.threads.map_or(cpus, |threads| threads as usize);
    if arguments.generate_only {
        return generate::run(&workload, connection.engine, threads, printer, interrupt);
    }
    if arguments.replace {
        let workload = &arguments.data.workload;
        clean::agree(workload, &named, &connection, arguments.yes, printer)?;
        clean::make_room(&named, &connection)?;
    }
    // The loader looks at the flag, cancels its statements and says what is left behind.
    interrupt.watches(true);
    let loading = Loading::new(printer);
    let tell = |progress| loading.tell(progress);
    let loaded = if arguments.resume {
        workload.resume(&connection, threads, &tell, interrupt.flag())
    } else {
        workload.load(&connection, threads, &tell, interrupt.flag())
    };
    let loaded = loaded.map_err(|error| failure(&error, interrupt))?;
    interrupt.watches(false);
    printer.clear();
    if loaded == Loaded::NOTHING {
        let address = connection.display();
        return printer.result(&format!("{address}: nothing is left to load\n"));
    }
    let what = match &workload {
        Workload::Tpcc(config, _) => format!("{}: ", config.summary()),
        _ => String::new(),
    };
    let mut text = format!(
        "{}: {what}{} {} in {}",
        connection.display(),
        number::count(loaded.rows),
        match named {
            Named::Script(_) => "statements",
            _ => "rows",
        },
        number::duration(loaded.seconds)
    );
    if loaded.seconds_keys + loaded.seconds_analyze > 0.0 {
        text.push_str(&format!(
            " (rows {}, keys {}, statistics {})",
            number::duration(loaded.seconds_rows),
            number::duration(loaded.seconds_keys),
            number::duration(loaded.seconds_analyze)
        ));
    }
    text.push('\n');
    printer.result(&text)
}

/// The workload as its options say that its data shall be.
fn to_load(
    named: &Named,
    arguments: &BenchLoad,
    connection: &Connection,
) -> Result<Workload, Failure> {
    let seed = arguments.seed.unwrap_or(1);
    Ok(match named {
        Named::Tpcc => {
            let asked = &arguments.tpcc;
            let config = tpcc::Config {
                warehouses: asked.warehouses.unwrap_or(WAREHOUSES),
                seed,
                sets: asked.sets.unwrap_or(1),
                layout: asked.layout.unwrap_or_default(),
                foreign_keys: !asked.no_foreign_keys,
            };
            Workload::Tpcc(config, Mode::default())
        }
        Named::Oltp(config, _) => Workload::Oltp(oltp::Config { seed, ..*config }),
        Named::Keys(kind, options) => Workload::Keys(keyed::keys_to_load(*kind, options, seed)?),
        Named::Friends(options) => Workload::Friends(keyed::friends_to_load(options, seed)?),
        Named::Script(file) => {
            let hint = "a WORKLOAD is a name that dbdyno bench list shows, or a file";
            let script = target::read_script(connection.engine, file, hint)?;
            Workload::Script(Arc::new(script))
        }
    })
}

fn failure(error: &LoadError, interrupt: &Interrupt) -> Failure {
    let hint = error.hint().map(str::to_owned);
    if interrupt.is_set() {
        let (told, hint) = match error {
            // Nobody but its author knows what a setup makes.
            LoadError::Stopped | LoadError::Script(_) => {
                ("interrupted: what the setup made until then is left", None)
            }
            _ => (
                "interrupted: what was loaded until then is left",
                Some("--resume with the same options goes on with it, bench clean removes it"),
            ),
        };
        return Failure::new(Exit::Interrupted, told, hint.map(str::to_owned));
    }
    use oltp::LoadError::{Exists as SbtestExists, Load as Sbtest};
    use tpcc::LoadError::{Connect, Differs, Exists, Unfinished, Unresumable};
    let exit = match error {
        LoadError::Tpcc(error) | LoadError::Oltp(Sbtest(error)) => match error {
            Exists { .. }
            | Connect { .. }
            | Unfinished { .. }
            | Differs { .. }
            | Unresumable(_) => Exit::Usage,
            _ => Exit::Surroundings,
        },
        LoadError::Oltp(SbtestExists(_)) | LoadError::Connect { .. } | LoadError::Target(_) => {
            Exit::Usage
        }
        _ => Exit::Surroundings,
    };
    let hint = match error {
        LoadError::Tpcc(Exists { .. }) | LoadError::Oltp(SbtestExists(_)) => {
            Some("--replace removes what an earlier load left, and nothing else".into())
        }
        _ => hint,
    };
    Failure::new(exit, with_causes(error), hint)
}
