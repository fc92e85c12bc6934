//! One statement of a script, with the places of its variables.

use super::error::Place;
use super::expression::Value;
use crate::wire::Engine;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Statement {
    pub(super) place: Place,
    pub(super) pieces: Vec<Piece>,
    /// What ended it, where that is no semicolon.
    pub(super) delimiter: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Piece {
    Text(String),
    Variable(usize),
}

/// What a statement does to the transaction that it is sent in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Boundary {
    Begin,
    Commit,
    Rollback,
}

impl Statement {
    /// As it is prepared: each use of a variable is a parameter of its own, as in pgbench, so that
    /// one variable may have different types in different places.
    pub(super) fn sql(&self, engine: Engine) -> String {
        let mut number = 0;
        self.render(|_, out| {
            number += 1;
            match engine {
                Engine::Postgres => out.push_str(&format!("${number}")),
                Engine::MySql => out.push('?'),
            }
        })
    }

    /// With the values written out, for statements that take no parameters.
    pub(super) fn literal(&self, values: &[Value]) -> String {
        self.render(|slot, out| {
            let text = values[slot].to_string();
            // In parentheses, for `1 -:x` must not become a comment.
            out.push_str(&if text.starts_with('-') {
                format!("({text})")
            } else {
                text
            });
        })
    }

    pub(super) fn text(&self, names: &[String]) -> String {
        self.render(|slot, out| {
            out.push(':');
            out.push_str(&names[slot]);
        })
    }

    fn render(&self, mut variable: impl FnMut(usize, &mut String)) -> String {
        let mut out = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Variable(slot) => variable(*slot, &mut out),
            }
        }
        out
    }

    pub(super) fn variables(&self) -> impl Iterator<Item = usize> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Variable(slot) => Some(*slot),
            Piece::Text(_) => None,
        })
    }

    /// Whether it may change data, as far as its first word tells.
    pub(super) fn writes(&self) -> bool {
        let reads = ["SELECT", "VALUES", "TABLE", "SHOW", "SET", "USE"];
        let word = self.words().next().unwrap_or_default();
        let is_read = reads.iter().any(|read| is(word, read));
        !is_read && self.boundary().is_none()
    }

    pub(super) fn boundary(&self) -> Option<Boundary> {
        let words = self.words().take(4).map(str::to_ascii_uppercase);
        let words: Vec<String> = words.collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words.as_slice() {
            // MariaDB's block of statements.
            ["BEGIN", "NOT", ..] => None,
            ["BEGIN", ..] | ["START", "TRANSACTION", ..] => Some(Boundary::Begin),
            ["COMMIT" | "END", ..] => Some(Boundary::Commit),
            // Back to a savepoint: the transaction goes on.
            ["ROLLBACK", "TO", ..] | ["ROLLBACK", _, "TO", ..] => None,
            ["ROLLBACK" | "ABORT", ..] => Some(Boundary::Rollback),
            _ => None,
        }
    }

    /// Whether MySQL would ask for a file of this machine.
    pub(super) fn is_load_data_local(&self) -> bool {
        let mut words = self.words();
        words.next().is_some_and(|word| is(word, "LOAD"))
            && words
                .take_while(|word| !is(word, "INFILE"))
                .any(|word| is(word, "LOCAL"))
    }

    /// The words that it begins with, up to its first variable.
    fn words(&self) -> impl Iterator<Item = &str> {
        let text = match self.pieces.first() {
            Some(Piece::Text(text)) => text.as_str(),
            _ => "",
        };
        let words = text.split(|c: char| !c.is_ascii_alphabetic());
        words.filter(|word| !word.is_empty())
    }
}

fn is(word: &str, wanted: &str) -> bool {
    word.eq_ignore_ascii_case(wanted)
}
