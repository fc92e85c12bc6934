//! What is wrong with a script, and where.

use super::expression::Problem;

/// Both count from 1; a column is a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) line: usize,
    pub(super) column: usize,
}

impl Place {
    pub(super) fn line(line: usize) -> Self {
        Self { line, column: 1 }
    }
}

pub(super) type Located = (Place, Problem);

/// A script that cannot be used as it is, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {message}")]
pub struct ScriptError {
    pub file: String,
    pub line: usize,
    /// In characters; of a statement that the server refuses, where it begins.
    pub column: usize,
    pub message: String,
    hint: Option<String>,
}

impl ScriptError {
    pub(super) fn new(file: &str, (place, (message, hint)): Located) -> Self {
        Self {
            file: file.to_owned(),
            line: place.line,
            column: place.column,
            message,
            hint,
        }
    }

    /// The next step, where the message alone does not say it.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}
