//! `dbdyno check`: what is wrong with a host and its servers, and what to do about it.

mod choice;

use dbdyno_model::words::{plural, verb};
use dbdyno_model::{Check, Facts, RuleText, Severity};
use dbdyno_report::{
    Said, assessment, check_document, check_markdown, check_page, check_sarif, keep_rules, to_json,
};

use crate::cli::{self, Level};
use crate::exit::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::printer::Printer;
use crate::target::resolve_named;
use crate::{collecting, facts_file, memory};
use choice::Choice;

pub(crate) fn run(
    arguments: &cli::Check,
    printer: &Printer,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let choice = Choice::of(&arguments.only, &arguments.skip)?;
    let memory = memory::given(arguments.memory.as_deref())?;
    // A sample may take an hour: what will be refused is refused before it.
    if memory.is_some() && arguments.target.is_none() && arguments.facts.is_none() {
        return Err(nobodys_memory("no server is named"));
    }
    let mut facts = match &arguments.facts {
        Some(path) => facts_file::read(path)?,
        None => {
            let named = arguments.target.as_deref();
            let target = resolve_named(named, &arguments.password, interrupt.flag())?;
            collecting::collect(target.as_ref(), &(&arguments.reading).into(), printer)?
        }
    };
    if interrupt.is_set() {
        let message = "interrupted: nothing was printed";
        return Err(Failure::new(Exit::Interrupted, message, None));
    }
    if let Some(bytes) = memory {
        size(&mut facts, bytes)?;
    }
    let mut check = judge(facts);
    keep_rules(&mut check, &|rule| choice.takes(rule));
    let text = if arguments.json {
        to_json(&check)
    } else if arguments.sarif {
        check_sarif(&check, &texts())
    } else if arguments.markdown {
        check_markdown(&check)
    } else {
        check_page(&check, printer.width(), printer.style())
    };
    printer.result(&text)?;
    let Some(level) = arguments.fail_on else {
        return Ok(());
    };
    // Beside a TARGET nothing was asked of other servers, and a file does not say whether it was.
    if arguments.target.is_none() && arguments.facts.is_none() {
        tell_unread(&check.facts, printer);
    }
    cross(&check, level)
}

/// A pipeline that reads nothing but the code has to learn of what was not judged.
fn tell_unread(facts: &Facts, printer: &Printer) {
    // A server of another engine is never read.
    let servers = facts.unreached.iter();
    let unread = servers.filter(|server| server.engine.is_none()).count();
    if unread > 0 {
        printer.say(&format!(
            "{} could not be read: --fail-on counts only what could",
            plural(unread as u64, "PostgreSQL server")
        ));
    }
}

/// What the user says of the one server: it stands in the document, beside what was read.
fn size(facts: &mut Facts, memory_bytes: u64) -> Result<(), Failure> {
    if facts.postgres.is_none() {
        return Err(nobodys_memory("the facts hold no server"));
    }
    if !facts.others.is_empty() {
        return Err(nobodys_memory("the facts hold several"));
    }
    facts.intent.memory_bytes = Some(memory_bytes);
    Ok(())
}

fn nobodys_memory(why: &str) -> Failure {
    Failure::usage(
        format!("--memory is for one server, and {why}"),
        "dbdyno check postgres://user@host/database --memory 64GB",
    )
}

/// Every rule on every server, and the solver's word on what they want.
fn judge(facts: Facts) -> Check {
    let servers = dbdyno_rules::side_by_side(&facts);
    let assessments = servers.iter().map(|facts| assessment(facts, &said(facts)));
    let assessments = assessments.collect();
    drop(servers);
    check_document(facts, assessments, env!("CARGO_PKG_VERSION"))
}

/// What the rules say of one server; the plan is the one that `tune` would show.
fn said(facts: &Facts) -> Said {
    let checked = dbdyno_rules::check(facts);
    let plan = dbdyno_rules::plan(facts, &checked);
    Said {
        findings: checked.findings,
        plan,
        passed: checked.passed.into_iter().map(str::to_owned).collect(),
        not_applicable: checked.not_applicable,
        next_vacuums: dbdyno_rules::next_vacuums(facts),
    }
}

fn texts() -> Vec<RuleText> {
    let rules = dbdyno_rules::catalogue();
    rules.iter().map(dbdyno_rules::Rule::text).collect()
}

/// The code that a pipeline waits for.
fn cross(check: &Check, level: Level) -> Result<(), Failure> {
    let severity: Severity = level.severity();
    let count = check
        .findings()
        .filter(|answer| answer.severity >= severity)
        .count() as u64;
    if count == 0 {
        return Ok(());
    }
    let graver = match level {
        Level::Critical => "critical",
        Level::Warn => "warn or critical",
        Level::Info => "info or graver",
    };
    Err(Failure::new(
        Exit::Crossed,
        format!(
            "{} {} {graver}, as --fail-on asks",
            plural(count, "finding"),
            verb(count, "is", "are")
        ),
        None,
    ))
}
