//! `dbdyno runs`: what the store holds.

use std::path::Path;

use dbdyno_report::{Listed, runs_page, to_json, verdict_page};
use dbdyno_store::{Store, Summary};

use crate::cli::{self, Runs};
use crate::exit::{Exit, Failure};
use crate::printer::Printer;
use crate::store::{self, failure};
use crate::{files, selection};

pub(crate) fn run(arguments: &cli::RunsCommand, printer: &Printer) -> Result<(), Failure> {
    let mut store = store::open(arguments.store.store.as_deref(), printer)?;
    match &arguments.action {
        Runs::List { json } => list(&mut store, *json, printer),
        Runs::Show { trial } => {
            let name = resolve(&mut store, trial)?;
            let tune = store.load(&name).map_err(|error| failure(&error))?;
            printer.result(&verdict_page(&tune, None, printer.width(), printer.style()))
        }
        Runs::Remove { trials, yes } => remove(&mut store, trials, *yes, printer),
        Runs::Export { trial, output } => export(&mut store, trial, output.as_deref(), printer),
        Runs::Import { files } => import(&mut store, files, printer),
    }
}

fn resolve(store: &mut Store, text: &str) -> Result<String, Failure> {
    store.resolve(text).map_err(|error| failure(&error))
}

fn list(store: &mut Store, json: bool, printer: &Printer) -> Result<(), Failure> {
    let trials = store.list().map_err(|error| failure(&error))?;
    if json {
        return printer.result(&to_json(&trials));
    }
    let listed: Vec<Listed> = trials.into_iter().map(listed).collect();
    printer.result(&runs_page(&listed, printer.width(), printer.style()))
}

fn listed(summary: Summary) -> Listed {
    Listed {
        name: summary.name,
        started_at: summary.started_at,
        complete: summary.complete,
        workload: summary.workload,
        machine: summary.machine,
        server: summary.server,
        word: summary.word,
        ratio: summary.ratio,
        interval: summary.interval,
        pairs: summary.pairs,
        runs: summary.runs,
        bytes: summary.bytes,
    }
}

fn remove(
    store: &mut Store,
    trials: &[String],
    yes: bool,
    printer: &Printer,
) -> Result<(), Failure> {
    let mut names = Vec::new();
    for trial in trials {
        let name = resolve(store, trial)?;
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let question = format!("Remove {} with all runs?", names.join(", "));
    if !yes && !printer.confirm(&question) {
        return Err(Failure::usage(
            format!("{} would be removed with all runs", names.join(", ")),
            "pass --yes if that is what you want; `dbdyno runs export` keeps a copy",
        ));
    }
    for name in names {
        store.remove(&name).map_err(|error| failure(&error))?;
        printer.say(&format!("removed {name}"));
    }
    Ok(())
}

fn export(
    store: &mut Store,
    trial: &str,
    output: Option<&Path>,
    printer: &Printer,
) -> Result<(), Failure> {
    let name = resolve(store, trial)?;
    let tune = store.load(&name).map_err(|error| failure(&error))?;
    let text = to_json(&tune);
    let Some(path) = output else {
        return printer.result(&text);
    };
    if path.exists() {
        return Err(Failure::usage(
            format!("{} is there already", path.display()),
            "name a file that is not there: nothing is overwritten",
        ));
    }
    files::write(path, text.as_bytes()).map_err(|error| {
        Failure::new(
            Exit::Surroundings,
            format!("cannot write {}: {error}", path.display()),
            None,
        )
    })?;
    printer.say(&format!("wrote {name} to {}", path.display()));
    Ok(())
}

fn import(
    store: &mut Store,
    paths: &[std::path::PathBuf],
    printer: &Printer,
) -> Result<(), Failure> {
    // All are read before the first is stored: a wrong file among them changes nothing.
    let mut trials = Vec::new();
    for path in paths {
        trials.push((path, selection::read_file(path)?));
    }
    for (path, tune) in trials {
        let there = store.load(&tune.name).ok();
        if there.as_ref() == Some(&tune) {
            printer.say(&format!("{} is there already", tune.name));
            continue;
        }
        store.save(&tune).map_err(|error| failure(&error))?;
        printer.say(&format!("imported {} from {}", tune.name, path.display()));
    }
    Ok(())
}
