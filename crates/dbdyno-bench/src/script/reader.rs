//! Cuts a section into statements and lines of commands, as the engine's own client would.

use super::command;
use super::draft::Known;
use super::error::{Located, Place};
use super::expression::Problem;
use super::grammar::name_length;
use super::lexer;
use super::statement::{Piece, Statement};
use crate::wire::Engine;

const SEMICOLON: &str = ";";

pub(super) struct Reader<'a> {
    engine: Engine,
    rest: &'a str,
    place: Place,
    /// Whether nothing but blanks has come in this line.
    fresh: bool,
    /// What ends a statement.
    delimiter: &'a str,
}

/// A `\` line, joined with the lines it goes on in.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) text: String,
    /// Where the lines that were joined begin, here and in the file.
    parts: Vec<(usize, Place)>,
}

impl Line {
    /// Of a byte of the text.
    pub(super) fn place(&self, at: usize) -> Place {
        let mut parts = self.parts.iter().rev();
        let Some((begin, place)) = parts.find(|(begin, _)| *begin <= at) else {
            return Place::line(1);
        };
        let before = self.text.get(*begin..at).unwrap_or_default();
        Place {
            line: place.line,
            column: place.column + before.chars().count(),
        }
    }
}

impl<'a> Reader<'a> {
    pub(super) fn new(engine: Engine, text: &'a str, line: usize) -> Self {
        Self {
            engine,
            rest: text,
            place: Place::line(line),
            fresh: true,
            delimiter: SEMICOLON,
        }
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        for c in taken.chars() {
            self.fresh = c == '\n' || (self.fresh && c.is_whitespace());
            if c == '\n' {
                self.place = Place::line(self.place.line + 1);
            } else {
                self.place.column += 1;
            }
        }
        taken
    }

    pub(super) fn skip_blanks_and_comments(&mut self) -> Result<(), Located> {
        loop {
            let blanks = self.rest.len() - self.rest.trim_start().len();
            self.take(blanks);
            match lexer::comment(self.engine, self.rest) {
                Ok(Some(length)) => self.take(length),
                Ok(None) => return Ok(()),
                Err(problem) => return Err((self.place, problem)),
            };
        }
    }

    /// The `\` line that comes next, if one does.
    pub(super) fn command(&mut self) -> Option<Line> {
        if !self.fresh || !self.rest.starts_with('\\') {
            return None;
        }
        let mut joined = Line {
            text: String::new(),
            parts: Vec::new(),
        };
        loop {
            joined.parts.push((joined.text.len(), self.place));
            let end = self.rest.find('\n').map_or(self.rest.len(), |at| at + 1);
            let line = self.take(end).trim_end();
            match line.strip_suffix('\\').filter(|_| !self.rest.is_empty()) {
                Some(more) => {
                    joined.text.push_str(more);
                    joined.text.push(' ');
                }
                None => {
                    joined.text.push_str(line);
                    return Some(joined);
                }
            }
        }
    }

    /// Obeys the mysql client's DELIMITER, which says what ends a statement from here on; whether
    /// that came next.
    pub(super) fn delimiter(&mut self) -> Result<bool, Located> {
        const WORD: &str = "DELIMITER";
        let (word, rest) = self.rest.split_at_checked(WORD.len()).unwrap_or_default();
        if self.engine != Engine::MySql
            || !word.eq_ignore_ascii_case(WORD)
            || !rest.starts_with([' ', '\t'])
        {
            return Ok(false);
        }
        let place = self.place;
        let end = self.rest.find('\n').unwrap_or(self.rest.len());
        let delimiter = self.take(end)[WORD.len()..].trim();
        let unfit = |c: char| c.is_whitespace() || matches!(c, '\\' | '\'' | '"' | '`');
        if delimiter.is_empty() || delimiter.contains(unfit) {
            let hint = "write DELIMITER // on a line of its own, and DELIMITER ; behind";
            let message = format!("'{delimiter}' cannot end a statement");
            return Err((place, (message, Some(hint.into()))));
        }
        self.delimiter = delimiter;
        Ok(true)
    }

    /// Up to the delimiter, the next `\` line or the end.
    pub(super) fn statement(&mut self, known: Known<'_>) -> Result<Statement, Located> {
        let place = self.place;
        let (mut pieces, mut text) = (Vec::new(), String::new());
        let mut last = ' ';
        while let Some(c) = self.rest.chars().next() {
            if self.rest.starts_with(self.delimiter) {
                self.take(self.delimiter.len());
                break;
            }
            if c == '\\' && self.fresh {
                break;
            }
            let here = self.place;
            let located = |problem: Problem| (here, problem);
            if c == '\\' {
                return Err(located(backslash(self.rest)));
            }
            let quoted = lexer::quoted(self.engine, self.rest, last).map_err(located)?;
            if let Some(length) = quoted {
                text.push_str(self.take(length));
                last = ' ';
                continue;
            }
            if lexer::is_parameter(self.engine, self.rest, last) {
                return Err(located(parameter(self.engine)));
            }
            let name = &self.rest[c.len_utf8()..];
            let name = &name[..name_length(name)];
            // `::type` is a cast, and `a:b` a slice of an array.
            if c == ':' && last != ':' && !name.is_empty() {
                let slot = known.slot(name).map_err(located)?;
                self.take(1 + name.len());
                if !text.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut text)));
                }
                pieces.push(Piece::Variable(slot));
                last = 'x';
                continue;
            }
            text.push_str(self.take(c.len_utf8()));
            last = c;
        }
        let end = text.trim_end().len();
        text.truncate(end);
        if !text.is_empty() {
            pieces.push(Piece::Text(text));
        }
        let own = Some(self.delimiter).filter(|delimiter| *delimiter != SEMICOLON);
        Ok(Statement {
            place,
            pieces,
            delimiter: own.map(str::to_owned),
        })
    }
}

fn backslash(text: &str) -> Problem {
    let word = text.split(|c: char| c.is_whitespace() || c == ';').next();
    match word {
        Some(word @ ("\\gset" | "\\aset")) => command::unknown(word),
        _ => {
            let hint = "put \\set on a line of its own; SQL has no backslash outside quotes";
            ("a backslash within a line".into(), Some(hint.into()))
        }
    }
}

fn parameter(engine: Engine) -> Problem {
    let message = match engine {
        Engine::Postgres => "numbered parameters cannot be used",
        Engine::MySql => "parameters without a name cannot be used",
    };
    let hint = "set a variable with \\set and write :name";
    (message.into(), Some(hint.into()))
}
