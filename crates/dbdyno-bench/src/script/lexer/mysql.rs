//! MySQL and MariaDB, in their default sql_mode: a backslash escapes in every string.

use super::{closed, line, open_comment};
use crate::script::expression::Problem;

pub(super) fn comment(text: &str) -> Result<Option<usize>, Problem> {
    if text.starts_with('#') || is_dashes(text) {
        return Ok(Some(line(text)));
    }
    if is_run(text) {
        return Ok(None);
    }
    block(text)
}

pub(super) fn quoted(text: &str) -> Result<Option<usize>, Problem> {
    if is_run(text) {
        return block(text);
    }
    if let Some(length) = comment(text)? {
        return Ok(Some(length));
    }
    match text.chars().next() {
        // In the mode ANSI_QUOTES the second is a name, in which no backslash is to be expected.
        Some(quote @ ('\'' | '"')) => closed(text, 1, quote, true).map(Some),
        Some('`') => closed(text, 1, '`', false).map(Some),
        _ => Ok(None),
    }
}

/// Two dashes are a comment only where a blank or the end follows: `5--1` is 6.
fn is_dashes(text: &str) -> bool {
    let rest = text.strip_prefix("--");
    rest.is_some_and(|rest| {
        let next = rest.chars().next();
        next.is_none_or(|c| c == ' ' || c.is_ascii_control())
    })
}

/// `/*! … */`, and MariaDB's `/*M! … */`: the servers run what stands within, if they are new enough.
fn is_run(text: &str) -> bool {
    text.starts_with("/*!") || text.starts_with("/*M!")
}

/// They do not nest.
fn block(text: &str) -> Result<Option<usize>, Problem> {
    let Some(rest) = text.strip_prefix("/*") else {
        return Ok(None);
    };
    match rest.find("*/") {
        Some(at) => Ok(Some("/*".len() + at + "*/".len())),
        None => Err(open_comment()),
    }
}
