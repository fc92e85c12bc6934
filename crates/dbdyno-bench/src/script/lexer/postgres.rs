//! PostgreSQL: comments nest, dollars quote, and a backslash escapes in E'' alone.

use super::{closed, is_part_of_name, line, open_comment};
use crate::script::expression::Problem;
use crate::script::grammar::{excerpt, name_length};

pub(super) fn comment(text: &str) -> Result<Option<usize>, Problem> {
    if text.starts_with("--") {
        return Ok(Some(line(text)));
    }
    if !text.starts_with("/*") {
        return Ok(None);
    }
    let bytes = text.as_bytes();
    let (mut depth, mut at) = (0_usize, 0);
    while at < bytes.len() {
        match &bytes[at..bytes.len().min(at + 2)] {
            b"/*" => (depth, at) = (depth + 1, at + 2),
            b"*/" => {
                (depth, at) = (depth - 1, at + 2);
                if depth == 0 {
                    return Ok(Some(at));
                }
            }
            _ => at += 1,
        }
    }
    Err(open_comment())
}

pub(super) fn quoted(text: &str, last: char) -> Result<Option<usize>, Problem> {
    if let Some(length) = comment(text)? {
        return Ok(Some(length));
    }
    let quote = match text.chars().next() {
        Some('\'') => '\'',
        Some('"') => '"',
        Some('$') if !is_part_of_name(last) => return dollars(text),
        Some('e' | 'E') if !is_part_of_name(last) && text[1..].starts_with('\'') => {
            return closed(text, 2, '\'', true).map(Some);
        }
        _ => return Ok(None),
    };
    closed(text, 1, quote, false).map(Some)
}

/// `$1`, but not the `$1` of the name `a$1`.
pub(super) fn is_parameter(text: &str, last: char) -> bool {
    let number = text.strip_prefix('$').filter(|_| !is_part_of_name(last));
    number.is_some_and(|number| number.starts_with(|c: char| c.is_ascii_digit()))
}

fn dollars(text: &str) -> Result<Option<usize>, Problem> {
    let tag = 1 + name_length(&text[1..]);
    if !text[tag..].starts_with('$') {
        return Ok(None);
    }
    let delimiter = &text[..=tag];
    match text[tag + 1..].find(delimiter) {
        Some(at) => Ok(Some(tag + 1 + at + delimiter.len())),
        None => Err((
            format!("a dollar quote is not ended: {}", excerpt(text)),
            Some(format!("close it with {delimiter}")),
        )),
    }
}
