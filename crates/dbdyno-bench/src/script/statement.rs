//! One statement of a script, with the places of its variables.

use super::expression::Value;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Statement {
    pub(super) line: usize,
    pub(super) pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Piece {
    Text(String),
    Variable(usize),
}

impl Statement {
    /// As it is prepared: each use of a variable is a parameter of its own, as in pgbench, so that
    /// one variable may have different types in different places.
    pub(super) fn sql(&self) -> String {
        let mut number = 0;
        self.render(|_, out| {
            number += 1;
            out.push_str(&format!("${number}"));
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

    /// Its first word in capitals, behind opening parentheses.
    pub(super) fn keyword(&self) -> String {
        let Some(Piece::Text(text)) = self.pieces.first() else {
            return String::new();
        };
        let text = text.trim_start_matches(|c: char| c == '(' || c.is_whitespace());
        let end = text
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(text.len());
        text[..end].to_ascii_uppercase()
    }
}

/// Words that open or end a transaction themselves.
pub(super) fn is_control(keyword: &str) -> bool {
    matches!(
        keyword,
        "BEGIN" | "START" | "COMMIT" | "END" | "ROLLBACK" | "ABORT"
    )
}
