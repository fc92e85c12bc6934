//! Reads a script: sections by line, then each section's commands and statements.

use super::body::Body;
use super::draft::Draft;
use super::error::{Located, Place, ScriptError};
use super::expression::{Problem, Value};
use super::grammar::excerpt;
use super::random::Random;
use super::reader::Reader;
use super::reading::{CheckQuery, Reading, Transaction};
use super::statement::Statement;
use crate::wire::Engine;

const MARK: &str = "-- dbdyno:";
const MAX_WEIGHT: u32 = 1_000_000;

/// Reads a script as the engine would.
pub(super) fn parse(engine: Engine, file: &str, text: &str) -> Result<Reading, ScriptError> {
    let located = |located: Located| ScriptError::new(file, located);
    let reading = read(engine, file, text).map_err(located)?;
    // Once through everything that is drawn, so that what must fail fails before a server is asked.
    let setup = reading.setup_values()?;
    for transaction in &reading.transactions {
        let mut values = transaction.body.values();
        values[..setup.len()].copy_from_slice(&setup);
        values[0] = Value::Int(0);
        let drawn = transaction.body.draw(&mut values, &mut Random::new(0, 0));
        drawn.map_err(located)?;
    }
    Ok(reading)
}

fn read(engine: Engine, file: &str, text: &str) -> Result<Reading, Located> {
    let sections = split(text);
    let mut reading = Reading {
        engine,
        file: file.to_owned(),
        setup: Body::default(),
        transactions: Vec::new(),
        checks: Vec::new(),
        sections: sections.len() > 1,
    };
    let mut setup = Draft::new();
    if !reading.sections {
        steps(engine, &sections[0], &mut setup, true)?;
        require_statement(&setup, Place::line(1))?;
        reading.setup = Draft::new().into_body();
        reading.transactions.push(Transaction {
            name: plain_name(file),
            weight: 1,
            body: setup.into_body(),
            wrap: false,
        });
        return Ok(reading);
    }
    steps(engine, &sections[0], &mut setup, false)?;
    if let Some(statement) = setup.body().statements().next() {
        let hint = "write '-- dbdyno: setup' or '-- dbdyno: transaction NAME' above it";
        let message = "a statement outside of any section".into();
        return Err((statement.place, (message, Some(hint.into()))));
    }
    // Setup first, wherever it stands: its variables hold everywhere.
    let is_setup = |section: &&Section<'_>| section.head.split_whitespace().next() == Some("setup");
    for section in sections[1..].iter().filter(is_setup) {
        if let Some(more) = section.head.split_whitespace().nth(1) {
            let message = format!("unexpected '{}' behind setup", excerpt(more));
            return Err((Place::line(section.line), (message, None)));
        }
        steps(engine, section, &mut setup, false)?;
    }
    for section in sections[1..].iter().filter(|section| !is_setup(section)) {
        add(&mut reading, section, &setup)?;
    }
    reading.setup = setup.into_body();
    if reading.transactions.is_empty() {
        let hint = "add '-- dbdyno: transaction NAME' and its statements";
        let message = "the script has no transaction".into();
        return Err((Place::line(1), (message, Some(hint.into()))));
    }
    Ok(reading)
}

/// What follows one section line, up to the next; the first has no line of its own.
struct Section<'a> {
    head: &'a str,
    line: usize,
    text: &'a str,
    text_line: usize,
}

fn split(text: &str) -> Vec<Section<'_>> {
    let mut sections = vec![Section {
        head: "",
        line: 1,
        text: "",
        text_line: 1,
    }];
    let (mut at, mut begin) = (0, 0);
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let open = sections.len() - 1;
        if let Some(head) = line.strip_prefix(MARK) {
            sections[open].text = &text[begin..at];
            begin = at + line.len();
            sections.push(Section {
                head: head.trim(),
                line: index + 1,
                text: "",
                text_line: index + 2,
            });
        }
        at += line.len();
    }
    let open = sections.len() - 1;
    sections[open].text = &text[begin..];
    sections
}

fn plain_name(file: &str) -> String {
    let name = file.rsplit('/').next().unwrap_or(file);
    let name = name
        .rsplit_once('.')
        .map_or(name, |(stem, _)| if stem.is_empty() { name } else { stem });
    if name.is_empty() {
        "script".into()
    } else {
        name.into()
    }
}

fn require_statement(draft: &Draft, place: Place) -> Result<(), Located> {
    if draft.body().statements().next().is_some() {
        return Ok(());
    }
    let hint = "write at least one SQL statement, ended by a semicolon";
    let message = "the script is empty here: no statement".into();
    Err((place, (message, Some(hint.into()))))
}

/// A transaction or check section, which knows the variables of the setup.
fn add(reading: &mut Reading, section: &Section<'_>, setup: &Draft) -> Result<(), Located> {
    let place = Place::line(section.line);
    let at = |problem: Problem| (place, problem);
    let mut words = section.head.split_whitespace();
    let kind = words.next().unwrap_or_default();
    if kind != "transaction" && kind != "check" {
        let hint = "sections are setup, transaction NAME [weight=N] and check NAME";
        return Err(at((
            format!("unknown section '{}'", excerpt(kind)),
            Some(hint.into()),
        )));
    }
    let name = words.next().filter(|name| !name.starts_with("weight="));
    let name = name.ok_or_else(|| {
        at((
            format!("the {kind} has no name"),
            Some(format!("write '{MARK} {kind} NAME'")),
        ))
    })?;
    let mut weight = 1;
    for word in words {
        match word
            .strip_prefix("weight=")
            .filter(|_| kind == "transaction")
        {
            Some(number) => weight = parse_weight(number).map_err(at)?,
            None => {
                return Err(at((
                    format!("unexpected '{}' behind the name", excerpt(word)),
                    None,
                )));
            }
        }
    }
    let taken = match kind {
        "check" => reading.checks.iter().any(|other| other.name == name),
        _ => reading.transactions.iter().any(|other| other.name == name),
    };
    if taken {
        return Err(at((
            format!("there are two {kind} sections named {name}"),
            Some("give each its own name".into()),
        )));
    }
    let mut draft = setup.below();
    steps(reading.engine, section, &mut draft, kind == "transaction")?;
    require_statement(&draft, place)?;
    let body = draft.into_body();
    if kind == "transaction" {
        let own = body.statements().any(|it| it.boundary().is_some());
        reading.transactions.push(Transaction {
            name: name.to_owned(),
            weight,
            wrap: !own && body.statements().nth(1).is_some(),
            body,
        });
        return Ok(());
    }
    let query = body.statements().next().filter(|_| body.steps.len() == 1);
    let Some(query) = query.cloned() else {
        let hint =
            "write one query that returns no row when all is well; set variables in the setup";
        let message = format!("check {name} is not a single query");
        return Err(at((message, Some(hint.into()))));
    };
    let name = name.to_owned();
    reading.checks.push(CheckQuery { name, query });
    Ok(())
}

fn parse_weight(number: &str) -> Result<u32, Problem> {
    let wrong = |hint: &str| {
        Err((
            format!("weight={} cannot be", excerpt(number)),
            Some(hint.to_owned()),
        ))
    };
    match number.parse::<u32>() {
        Ok(0) => wrong("remove the section, or give it a weight of 1 or more"),
        Ok(weight) if weight <= MAX_WEIGHT => Ok(weight),
        _ => wrong("write an integer from 1 to 1000000"),
    }
}

/// Reads a section's lines into a body.
fn steps(
    engine: Engine,
    section: &Section<'_>,
    draft: &mut Draft,
    may_sleep: bool,
) -> Result<(), Located> {
    let mut reader = Reader::new(engine, section.text, section.text_line);
    loop {
        reader.skip_blanks_and_comments()?;
        if reader.is_at_end() {
            return draft.check_closed();
        }
        if let Some(line) = reader.command() {
            super::command::read(&line, draft, may_sleep)?;
            continue;
        }
        if reader.delimiter()? {
            continue;
        }
        let statement = reader.statement(draft.known())?;
        if statement.pieces.is_empty() {
            continue;
        }
        check_statement(engine, &statement)?;
        draft.run(statement);
    }
}

/// What a server would take, and do something else with than its author means.
fn check_statement(engine: Engine, statement: &Statement) -> Result<(), Located> {
    if engine == Engine::MySql && statement.is_load_data_local() {
        let hint = "insert the rows, or let the server read its own file, without LOCAL";
        let message = "no file of this machine is sent to a server".into();
        return Err((statement.place, (message, Some(hint.into()))));
    }
    Ok(())
}
