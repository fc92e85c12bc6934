//! The trials of `tune`: on the embedded PostgreSQL, and on a private twin of a server.

use std::collections::BTreeMap;

use dbdyno_bench::tpcc;
use dbdyno_bench::workload::Workload;
use dbdyno_model::Connection;
use dbdyno_model::facts::{Facts, Intent};
use dbdyno_model::verdict::Word;
use dbdyno_model::words::plural;
use dbdyno_report::{number, to_json, verdict_page};
use dbdyno_rules::solver;
use dbdyno_target::lab::{Lab, Stop, Wanted};
use dbdyno_trial::{ArmSpec, Spec, TrialError, load_template};

use super::document::{Constants, Document, Place};
use super::options::Options;
use super::plan_only::{self, Assessed};
use super::screen::Screen;
use super::{arms, lab};
use crate::clock;
use crate::exit::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::loading::Loading;
use crate::printer::Printer;
use crate::{facts, machine};

/// What a trial starts from: a lab whose template initdb has made, and what it is to compare.
struct Setup {
    lab: Lab,
    memory_bytes: u64,
    base_name: &'static str,
    base: BTreeMap<String, String>,
    assessed: Assessed,
    caveats: Vec<String>,
}

/// Without a target: as shipped against recommended.
pub(super) fn embedded(
    options: &Options,
    printer: &Printer,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let home = lab::home(printer)?;
    let place = Place::prepare(options, &home, printer)?;
    let memory_bytes = facts::memory_here(&facts::of_host(), options.memory_bytes)?;
    let lab = lab::create(options, &options.wanted, &home, memory_bytes, printer)?;
    interrupt.watch_over(lab.abort_handle());
    printer.step(&format!(
        "starting a private PostgreSQL {}",
        lab.binaries().version.text
    ));
    lab.init().map_err(|error| lab::failure(&error))?;
    let base = BTreeMap::new();
    let assessed = assess(options, &lab, &base, memory_bytes)?;
    let caveats = Vec::new();
    let setup = Setup {
        lab,
        memory_bytes,
        base_name: "shipped",
        base,
        assessed,
        caveats,
    };
    prove(options, setup, place, printer, interrupt)
}

/// With `--twin-here`: the server's own settings against the recommended ones, both sized for the
/// memory that is free here.
pub(super) fn twin(
    options: &Options,
    target: &Connection,
    printer: &Printer,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let home = lab::home(printer)?;
    let place = Place::prepare(options, &home, printer)?;
    printer.step(&format!("reading {}", target.display()));
    // --memory speaks of the twin.
    let server = plan_only::read(None, target)?;
    may_load(options, &server.facts, printer)?;
    if !options.json {
        let text = dbdyno_report::plan_page(&server.plan, printer.width(), printer.style());
        let text = format!("for {}\n\n{text}\non the twin\n", target.display());
        printer.result(&text)?;
    }
    let postgres = server.facts.postgres.as_ref();
    let major = postgres.map_or(0, dbdyno_model::postgres::Postgres::major);
    let memory_bytes = facts::memory_here(&facts::of_host(), options.memory_bytes)?;
    let wanted = Wanted {
        server_bin: options.wanted.server_bin.clone(),
        version: Some(
            options
                .wanted
                .version
                .clone()
                .unwrap_or_else(|| major.to_string()),
        ),
    };
    let lab = lab::create(options, &wanted, &home, memory_bytes, printer)?;
    interrupt.watch_over(lab.abort_handle());
    printer.step(&format!(
        "starting a private twin, PostgreSQL {}",
        lab.binaries().version.text
    ));
    lab.init().map_err(|error| lab::failure(&error))?;
    let current = solver::current_settings(&server.facts);
    let base = solver::rescale(&server.facts, &current, memory_bytes);
    let assessed = assess(options, &lab, &base, memory_bytes)?;
    let caveats = vec![format!(
        "measured on a twin: both arms were sized for the {} that are free on this machine, not for {}",
        number::bytes(memory_bytes),
        target.display()
    )];
    let setup = Setup {
        lab,
        memory_bytes,
        base_name: "current",
        base,
        assessed,
        caveats,
    };
    prove(options, setup, place, printer, interrupt)
}

/// A trial takes all CPUs for minutes: where the server itself runs here, its owner has to agree.
fn may_load(options: &Options, facts: &Facts, printer: &Printer) -> Result<(), Failure> {
    if facts.host.is_none() || options.yes {
        return Ok(());
    }
    let minutes = options
        .budget
        .seconds(2 + 2 * usize::from(options.show_unsafe))
        / 60.0;
    printer.clear();
    if printer.confirm(&format!(
        "The server runs on this machine, and the trial will load it for about {minutes:.0} minutes. Go on?"
    )) {
        return Ok(());
    }
    Err(Failure::usage(
        "the server runs on this machine, and the trial would load it",
        "pass --yes if that is what you want, or run this on another machine",
    ))
}

/// Starts the base arm once, reads it, and plans.
fn assess(
    options: &Options,
    lab: &Lab,
    base: &BTreeMap<String, String>,
    memory_bytes: u64,
) -> Result<Assessed, Failure> {
    let intent = Intent {
        memory_bytes: Some(memory_bytes),
        cpus: None,
        active_connections: Some(options.connections),
        workload: Some(options.declared()),
        lab: true,
    };
    let server = lab
        .start(&lab.template(), base)
        .map_err(|error| lab::failure(&error))?;
    let facts = facts::collect(&server.connection(), intent)?;
    server.stop(Stop::Fast);
    Ok(plan_only::assess(facts))
}

/// From the plan to the verdict.
fn prove(
    options: &Options,
    setup: Setup,
    place: Place,
    printer: &Printer,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let Setup {
        lab,
        memory_bytes,
        base_name,
        base,
        assessed,
        caveats,
    } = setup;
    let machine = assessed
        .facts
        .host
        .as_ref()
        .map(machine::of)
        .unwrap_or_default();
    let arms = arms::choose(options, base_name, base, &assessed.plan)?;
    let mut document = plan_only::document(place, options, assessed, machine);
    document.tune.server.binaries = Some(lab.binaries().directory.display().to_string());
    document.describe_workload(options, constants(options));
    announce(options, &lab, &arms, &mut document, printer)?;
    if arms[0].settings == arms[1].settings && !arms[1].name.ends_with("-again") {
        document
            .tune
            .notes
            .push("the plan changes nothing, so there is nothing to measure".into());
        document.end(true);
        show(options, &document, None, printer)?;
        return document.keep(printer);
    }
    load(
        options,
        &lab,
        memory_bytes,
        &mut document,
        printer,
        interrupt,
    )?;
    let spec = Spec {
        arms,
        workload: options.workload.clone(),
        workload_text: document
            .tune
            .workload
            .as_ref()
            .map(|w| w.description.clone())
            .unwrap_or_default(),
        machine: document.tune.machine.summary.clone(),
        connections: options.connections,
        seed: options.seed,
        budget: options.budget.clone(),
        caveats,
        now: clock::now,
    };
    let mut screen = Screen::new(printer, &mut document);
    let outcome = dbdyno_trial::run(&lab, &spec, interrupt.flag(), &mut screen);
    printer.clear();
    document.tune.runs = outcome.runs;
    document.tune.arms = outcome.arms;
    document.tune.prices = outcome.prices;
    document.tune.verdict = Some(outcome.verdict);
    if let Some(error) = outcome.error {
        let note = format!("the trial ended early: {error}");
        document.tune.notes.push(note);
        document.end(false);
        document.keep(printer)?;
        return Err(trial_failure(&error));
    }
    document.end(true);
    let next = next(options, &document);
    // A closed pipe must not cost what was measured.
    let shown = show(options, &document, next.as_deref(), printer);
    document.keep(printer)?;
    shown
}

fn constants(options: &Options) -> Option<Constants> {
    match &options.workload {
        Workload::Tpcc(config, _) => {
            let constants = tpcc::constants(config.seed);
            Some(Constants {
                load: constants.c_load,
                run: constants.c_run,
            })
        }
        _ => None,
    }
}

/// The plan, what will be measured, and how long it takes.
fn announce(
    options: &Options,
    lab: &Lab,
    arms: &[ArmSpec],
    document: &mut Document,
    printer: &Printer,
) -> Result<(), Failure> {
    document.save()?;
    if !options.json {
        let text = plan_only::findings_and_plan(&document.tune, printer);
        printer.result(&text)?;
    }
    if options.memory_bytes.is_some() && !lab.is_capped() {
        let note = "the memory cap sizes the server but is not enforced: no memory cgroup may be made here";
        printer.say(note);
        document.tune.notes.push(note.into());
    }
    let names: Vec<&str> = arms.iter().map(|arm| arm.name.as_str()).collect();
    let design = &options.budget.design;
    let (first, last) = (
        design.looks.first().copied().unwrap_or(0),
        design.max_pairs(),
    );
    let pairs = if first == last {
        format!("{last}")
    } else {
        format!("{first} to {last}")
    };
    printer.say(&format!(
        "measuring {} in {pairs} ABBA pairs, at most about {:.0} min; Ctrl-C stops and leaves nothing behind",
        names.join(" against "),
        options.budget.seconds(arms.len()) / 60.0
    ));
    Ok(())
}

fn load(
    options: &Options,
    lab: &Lab,
    memory_bytes: u64,
    document: &mut Document,
    printer: &Printer,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let loading = Loading::new(printer);
    let template = load_template(
        lab,
        &options.workload,
        threads,
        memory_bytes,
        &|progress| loading.tell(progress),
        interrupt.flag(),
    )
    .map_err(|error| trial_failure(&error))?;
    printer.say(&format!(
        "loaded {} in {}, {} passed",
        plural(template.load.rows, "row"),
        number::duration(template.load.seconds),
        plural(template.checks.len() as u64, "check")
    ));
    document.tune.load = Some(template.load);
    document.tune.consistency = template.checks;
    Ok(())
}

fn trial_failure(error: &TrialError) -> Failure {
    let exit = match error {
        TrialError::Interrupted => return Failure::interrupted(),
        TrialError::TooManyErrors { .. } | TrialError::Load { .. } => Exit::Surroundings,
        TrialError::Lab(error) => return lab::failure(error),
        _ => Exit::Surroundings,
    };
    Failure::new(exit, error.to_string(), error.hint())
}

/// The command that would tell more, where this one could not.
fn next(options: &Options, document: &Document) -> Option<String> {
    let word = document.tune.verdict.as_ref()?.word;
    let budget = match word {
        Word::TooNoisy => options.budget.clone(),
        Word::Undecided => options.next_budget()?,
        _ => return None,
    };
    let minutes = budget.seconds(document.tune.arms.len()) / 60.0;
    Some(format!(
        "{} (about {minutes:.0} min)",
        options.command_with(&budget)
    ))
}

fn show(
    options: &Options,
    document: &Document,
    next: Option<&str>,
    printer: &Printer,
) -> Result<(), Failure> {
    let text = if options.json {
        to_json(&document.tune)
    } else {
        let page = verdict_page(&document.tune, next, printer.width(), printer.style());
        format!("\n{page}")
    };
    printer.result(&text)
}
