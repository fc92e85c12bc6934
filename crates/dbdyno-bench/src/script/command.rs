//! The lines that begin with a backslash: `\set`, `\sleep`, `\if` and what belongs to it.

use std::ops::Range;

use super::CLIENT_ID;
use super::body::Unit;
use super::draft::Draft;
use super::error::Located;
use super::expression::{Expression, Problem};
use super::grammar::{self, excerpt, name_length};
use super::reader::Line;

/// Adds what the line says to the body; a pause only where the section may `sleep`.
pub(super) fn read(line: &Line, draft: &mut Draft, may_sleep: bool) -> Result<(), Located> {
    let text = line.text.as_str();
    let word = text.split_whitespace().next().unwrap_or_default();
    let rest = text.len() - text[word.len()..].trim_start().len();
    let place = line.place(0);
    let here = |problem: Problem| (place, problem);
    match word {
        "\\set" => set(line, rest, draft),
        "\\sleep" if may_sleep => {
            let (number, unit) = unit(&text[rest..]);
            let time = expression(line, rest..rest + number.len(), draft)?;
            draft.sleep(place, time, unit);
            Ok(())
        }
        "\\sleep" => {
            let hint = "a pause stands in a transaction";
            Err(here((
                "\\sleep cannot stand here".into(),
                Some(hint.into()),
            )))
        }
        "\\if" => {
            let condition = expression(line, rest..text.len(), draft)?;
            draft.open(place, condition);
            Ok(())
        }
        "\\elif" => {
            draft.leave_arm().map_err(here)?;
            let condition = expression(line, rest..text.len(), draft)?;
            draft.chain(place, condition);
            Ok(())
        }
        "\\else" | "\\endif" if rest < text.len() => {
            let more = excerpt(&text[rest..]);
            let problem = (format!("unexpected '{more}' behind {word}"), None);
            Err((line.place(rest), problem))
        }
        "\\else" => draft.leave_arm().map_err(here),
        "\\endif" => draft.close().map_err(here),
        other => Err(here(unknown(other))),
    }
}

pub(super) fn unknown(word: &str) -> Problem {
    let hint = match word {
        "\\gset" | "\\aset" => {
            "join the two statements: what one returns cannot be used in the next"
        }
        "\\startpipeline" | "\\syncpipeline" | "\\endpipeline" => {
            "leave it out: each statement is waited for"
        }
        "\\setrandom" => "write \\set NAME random(LO, HI)",
        "\\shell" | "\\setshell" => "a file of statements starts no programs",
        _ => "there are \\set, \\sleep, \\if, \\elif, \\else and \\endif",
    };
    let message = format!("unknown command {}", excerpt(word));
    (message, Some(hint.into()))
}

fn set(line: &Line, rest: usize, draft: &mut Draft) -> Result<(), Located> {
    let text = &line.text[rest..];
    let (name, behind) = text.split_at(name_length(text));
    if name.is_empty() || !behind.starts_with(|c: char| c.is_whitespace()) {
        let hint = "write \\set NAME EXPRESSION, as in \\set id random(1, 1000)";
        let message = format!("cannot read '\\set {}'", excerpt(text));
        return Err((line.place(rest), (message, Some(hint.into()))));
    }
    if name == CLIENT_ID {
        let message = format!("{CLIENT_ID} is the terminal's number and cannot be set");
        let hint = "use another name";
        return Err((line.place(rest), (message, Some(hint.into()))));
    }
    let begin = line.text.len() - behind.trim_start().len();
    let expression = expression(line, begin..line.text.len(), draft)?;
    draft.set(line.place(0), name, expression);
    Ok(())
}

fn expression(line: &Line, range: Range<usize>, draft: &Draft) -> Result<Expression, Located> {
    let begin = range.start;
    grammar::parse(&line.text[range], draft.known())
        .map_err(|(at, problem)| (line.place(begin + at), problem))
}

/// The number in front of a unit, and the unit; seconds where there is none.
fn unit(text: &str) -> (&str, Unit) {
    let found = Unit::ALL.into_iter().find_map(|unit| {
        let number = text.trim_end().strip_suffix(unit.name())?;
        // `10ms` and `:n ms`, but not a variable whose name ends so.
        let literal = number.chars().all(|c| c.is_ascii_digit() || c == '.');
        let apart = number.ends_with(|c: char| c.is_whitespace() || c == ')');
        ((literal || apart) && !number.trim().is_empty()).then_some((number, unit))
    });
    found.unwrap_or((text, Unit::Seconds))
}
