//! Reads a script: sections by line, then each section's `\set` lines and statements.

use super::expression::{Problem, Value};
use super::grammar::{self, excerpt, name_length};
use super::random::Random;
use super::reader::Reader;
use super::{Body, CLIENT_ID, CheckQuery, Script, ScriptError, Step, Transaction, is_control};

const MARK: &str = "-- dbdyno:";
const MAX_WEIGHT: u32 = 1_000_000;

pub(super) type Located = (usize, Problem);

pub(super) fn parse(file: &str, text: &str) -> Result<Script, ScriptError> {
    let located = |(line, problem): Located| ScriptError::new(file, line, problem);
    let script = read(file, text).map_err(located)?;
    // Once through everything that is drawn, so that what must fail fails before a server is asked.
    let setup = script.setup_values()?;
    for transaction in &script.transactions {
        let mut values = transaction.body.values();
        values[..setup.len()].copy_from_slice(&setup);
        values[0] = Value::Int(0);
        script.draw(
            &transaction.body,
            &mut values,
            &mut Random::new(0, 0),
            |_, _| (),
        )?;
    }
    Ok(script)
}

fn read(file: &str, text: &str) -> Result<Script, Located> {
    let sections = split(text);
    let names = || vec![CLIENT_ID.to_owned()];
    let mut script = Script {
        file: file.to_owned(),
        setup: Body {
            names: names(),
            steps: Vec::new(),
        },
        transactions: Vec::new(),
        checks: Vec::new(),
        sections: sections.len() > 1,
    };
    if !script.sections {
        let body = steps(
            &sections[0],
            Body {
                names: names(),
                steps: Vec::new(),
            },
        )?;
        require_statement(&body, 1)?;
        let name = plain_name(file);
        script.transactions.push(Transaction {
            name,
            weight: 1,
            body,
            wrap: false,
        });
        return Ok(script);
    }
    let preamble = steps(&sections[0], std::mem::take(&mut script.setup))?;
    if let Some(statement) = preamble.statements().next() {
        let hint = "write '-- dbdyno: setup' or '-- dbdyno: transaction NAME' above it";
        return Err((
            statement.line,
            (
                "a statement outside of any section".into(),
                Some(hint.into()),
            ),
        ));
    }
    script.setup = preamble;
    // Setup first, wherever it stands: its variables hold everywhere.
    let is_setup = |section: &&Section<'_>| section.head.split_whitespace().next() == Some("setup");
    for section in sections[1..].iter().filter(is_setup) {
        if let Some(more) = section.head.split_whitespace().nth(1) {
            return Err((
                section.line,
                (format!("unexpected '{}' behind setup", excerpt(more)), None),
            ));
        }
        script.setup = steps(section, std::mem::take(&mut script.setup))?;
    }
    for section in sections[1..].iter().filter(|section| !is_setup(section)) {
        add(&mut script, section)?;
    }
    if script.transactions.is_empty() {
        let hint = "add '-- dbdyno: transaction NAME' and its statements";
        return Err((
            1,
            ("the script has no transaction".into(), Some(hint.into())),
        ));
    }
    Ok(script)
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

fn require_statement(body: &Body, line: usize) -> Result<(), Located> {
    if body.statements().next().is_some() {
        return Ok(());
    }
    let hint = "write at least one SQL statement, ended by a semicolon";
    Err((
        line,
        (
            "the script is empty here: no statement".into(),
            Some(hint.into()),
        ),
    ))
}

/// A transaction or check section.
fn add(script: &mut Script, section: &Section<'_>) -> Result<(), Located> {
    let at = |problem: Problem| (section.line, problem);
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
    let taken = script
        .transactions
        .iter()
        .any(|other| kind == "transaction" && other.name == name)
        || script
            .checks
            .iter()
            .any(|other| kind == "check" && other.name == name);
    if taken {
        return Err(at((
            format!("there are two {kind} sections named {name}"),
            Some("give each its own name".into()),
        )));
    }
    let known = Body {
        names: script.setup.names.clone(),
        steps: Vec::new(),
    };
    let body = steps(section, known)?;
    require_statement(&body, section.line)?;
    if kind == "check" {
        let mut body = body.steps;
        let (Some(Step::Run(query)), true) = (body.pop(), body.is_empty()) else {
            let hint =
                "write one query that returns no row when all is well; set variables in the setup";
            return Err(at((
                format!("check {name} is not a single query"),
                Some(hint.into()),
            )));
        };
        script.checks.push(CheckQuery {
            name: name.to_owned(),
            query,
        });
        return Ok(());
    }
    let own = body
        .statements()
        .any(|statement| is_control(&statement.keyword()));
    let wrap = !own && body.statements().nth(1).is_some();
    script.transactions.push(Transaction {
        name: name.to_owned(),
        weight,
        body,
        wrap,
    });
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

/// Reads a section's lines into `body`, which knows the variables from before.
fn steps(section: &Section<'_>, mut body: Body) -> Result<Body, Located> {
    let mut reader = Reader {
        rest: section.text,
        line: section.text_line,
        fresh: true,
    };
    loop {
        reader.skip_blanks_and_comments()?;
        let line = reader.line;
        if reader.rest.is_empty() {
            return Ok(body);
        }
        if reader.fresh && reader.rest.starts_with('\\') {
            let command = reader.logical_line();
            set(&command, line, &mut body).map_err(|problem| (line, problem))?;
            continue;
        }
        let statement = reader.statement(&body.names)?;
        if !statement.pieces.is_empty() {
            body.steps.push(Step::Run(statement));
        }
    }
}

fn set(command: &str, line: usize, body: &mut Body) -> Result<(), Problem> {
    let rest = command
        .strip_prefix("\\set")
        .filter(|rest| rest.starts_with(|c: char| c.is_whitespace()));
    let Some(rest) = rest.map(str::trim_start) else {
        let word = command.split_whitespace().next().unwrap_or(command);
        let hint = "only \\set is known; the load has no think time and no branches";
        return Err((
            format!("unknown command {}", excerpt(word)),
            Some(hint.into()),
        ));
    };
    let (name, expression) = rest.split_at(name_length(rest));
    if name.is_empty() || !expression.starts_with(|c: char| c.is_whitespace()) {
        let hint = "write \\set NAME EXPRESSION, as in \\set id random(1, 1000)";
        return Err((
            format!("cannot read '\\set {}'", excerpt(rest)),
            Some(hint.into()),
        ));
    }
    if name == CLIENT_ID {
        return Err((
            format!("{CLIENT_ID} is the terminal's number and cannot be set"),
            Some("use another name".into()),
        ));
    }
    let expression = grammar::parse(expression.trim(), &body.names)?;
    let slot = body
        .names
        .iter()
        .position(|known| known == name)
        .unwrap_or_else(|| {
            body.names.push(name.to_owned());
            body.names.len() - 1
        });
    body.steps.push(Step::Set {
        line,
        slot,
        expression,
    });
    Ok(())
}
