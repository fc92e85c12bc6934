//! `tune TARGET`: reads that server, prints the plan for it, and writes nothing to it.

use dbdyno_model::facts::Intent;
use dbdyno_model::tune::{Machine, Server};
use dbdyno_model::{Address, Connection, Facts, Finding, Plan};
use dbdyno_report::{findings_short, plan_as_alter_system, plan_as_conf, plan_page, to_json};

use super::document::{Document, Place};
use super::lab;
use super::options::Options;
use crate::exit::Failure;
use crate::printer::Printer;
use crate::{facts, machine};

/// The server's facts, findings and plan.
pub(super) struct Assessed {
    pub(super) facts: Facts,
    pub(super) findings: Vec<Finding>,
    pub(super) plan: Plan,
}

pub(super) fn assess(facts: Facts) -> Assessed {
    let checked = dbdyno_rules::check(&facts);
    let plan = dbdyno_rules::plan(&facts, &checked);
    Assessed {
        facts,
        findings: checked.findings,
        plan,
    }
}

/// Reads the server; `memory_bytes` is what the user says it may have.
pub(super) fn read(memory_bytes: Option<u64>, target: &Connection) -> Result<Assessed, Failure> {
    let intent = Intent {
        memory_bytes,
        ..Intent::default()
    };
    Ok(assess(facts::collect(target, intent)?))
}

pub(super) fn run(
    options: &Options,
    target: &Connection,
    printer: &Printer,
) -> Result<(), Failure> {
    let home = lab::home(printer)?;
    let place = Place::prepare(options, &home, printer)?;
    printer.step(&format!("reading {}", target.display()));
    let assessed = read(options.memory_bytes, target)?;
    let machine = assessed
        .facts
        .host
        .as_ref()
        .map(machine::of)
        .unwrap_or_default();
    let mut document = document(place, options, assessed, machine);
    document
        .tune
        .notes
        .push("no trial was run: --twin-here runs one on this machine".into());
    document.end(true);
    let text = if options.json {
        to_json(&document.tune)
    } else {
        page(&document, printer)
    };
    printer.result(&text)?;
    document.keep(printer)
}

pub(super) fn document(
    place: Place,
    options: &Options,
    assessed: Assessed,
    machine: Machine,
) -> Document {
    let version = assessed
        .facts
        .postgres
        .as_ref()
        .map(|server| server.version.clone())
        .unwrap_or_default();
    let server = Server {
        engine: "PostgreSQL".into(),
        version,
        binaries: None,
        transport: transport(options).into(),
    };
    let Assessed {
        facts,
        findings,
        plan,
    } = assessed;
    Document::new(place, options, facts, findings, plan, machine, server)
}

/// A lab is reached by its socket; a server that is only read, as its address says.
fn transport(options: &Options) -> &'static str {
    let read = options.target.as_ref().filter(|_| !options.twin_here);
    match read.map(|target| &target.address) {
        None | Some(Address::Socket(_)) => "unix socket",
        Some(_) => "TCP",
    }
}

/// The plan and its two written forms.
fn page(document: &Document, printer: &Printer) -> String {
    let tune = &document.tune;
    let mut text = findings_and_plan(tune, printer);
    if !tune.plan.changes.is_empty() {
        text.push_str("\nas SQL\n\n");
        text.push_str(&plan_as_alter_system(&tune.plan));
        text.push_str("\nas lines of postgresql.conf\n\n");
        text.push_str(&plan_as_conf(&tune.plan));
    }
    text.push_str("\nNothing was written to the server and nothing was measured. ");
    text.push_str("To measure it on a private twin on this machine, add --twin-here.\n");
    text
}

pub(super) fn findings_and_plan(tune: &dbdyno_model::Tune, printer: &Printer) -> String {
    let (width, style) = (printer.width(), printer.style());
    let mut text = findings_short(&tune.findings, width, style);
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(&plan_page(&tune.plan, width, style));
    text.push_str(&privileges(tune));
    text
}

/// What the role may not read, and the grant that opens it.
fn privileges(tune: &dbdyno_model::Tune) -> String {
    let server = tune.facts.postgres.as_ref();
    let missing = server
        .map(|server| server.missing_privileges.as_slice())
        .unwrap_or_default();
    let mut grants: Vec<&str> = missing
        .iter()
        .map(|missing| missing.grant.as_str())
        .collect();
    grants.sort_unstable();
    grants.dedup();
    if grants.is_empty() {
        return String::new();
    }
    let objects: Vec<&str> = missing
        .iter()
        .map(|missing| missing.object.as_str())
        .collect();
    format!(
        "\nNot read for want of privileges: {}\nTo open it:\n  {}\n",
        objects.join(", "),
        grants.join("\n  ")
    )
}
