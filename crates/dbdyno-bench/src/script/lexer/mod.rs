//! Where quotes and comments begin and end: each engine has rules of its own.

mod mysql;
mod postgres;

use super::expression::Problem;
use super::grammar::{excerpt, is_name_start};
use crate::wire::Engine;

/// Length of the comment that a text begins with, none if it begins with something else. What looks
/// like a comment but is run is none.
pub(super) fn comment(engine: Engine, text: &str) -> Result<Option<usize>, Problem> {
    match engine {
        Engine::Postgres => postgres::comment(text),
        Engine::MySql => mysql::comment(text),
    }
}

/// Length of the string, the quoted name or the comment that a text begins with; `last` is the
/// character before it.
pub(super) fn quoted(engine: Engine, text: &str, last: char) -> Result<Option<usize>, Problem> {
    match engine {
        Engine::Postgres => postgres::quoted(text, last),
        Engine::MySql => mysql::quoted(text),
    }
}

/// Whether a text begins with what the engine takes for a parameter: only variables become some.
pub(super) fn is_parameter(engine: Engine, text: &str, last: char) -> bool {
    match engine {
        Engine::Postgres => postgres::is_parameter(text, last),
        Engine::MySql => text.starts_with('?'),
    }
}

/// Up to the end of the line, which belongs to the comment.
fn line(text: &str) -> usize {
    text.find('\n').map_or(text.len(), |at| at + 1)
}

/// Length of what is quoted and opened `begin` bytes from here. A doubled quote opens the next part
/// at once, which reads as one.
fn closed(text: &str, begin: usize, quote: char, escapes: bool) -> Result<usize, Problem> {
    let mut chars = text[begin..].char_indices();
    while let Some((at, c)) = chars.next() {
        if escapes && c == '\\' {
            chars.next();
        } else if c == quote {
            return Ok(begin + at + quote.len_utf8());
        }
    }
    Err((
        format!("a quote is not ended: {}", excerpt(text)),
        Some(format!("close it with {quote}")),
    ))
}

fn open_comment() -> Problem {
    (
        "a comment is not ended".into(),
        Some("close it with */".into()),
    )
}

/// Whether a character may stand within an unquoted name.
fn is_part_of_name(c: char) -> bool {
    is_name_start(c) || c.is_ascii_digit() || c == '$' || !c.is_ascii()
}
