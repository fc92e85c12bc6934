//! Cuts a section into its statements, as PostgreSQL would see them: quotes, comments, variables.

use super::expression::Problem;
use super::grammar::{excerpt, is_name_start, name_length, undefined};
use super::parse::Located;
use super::{Piece, Statement};

pub(super) struct Reader<'a> {
    pub(super) rest: &'a str,
    pub(super) line: usize,
    /// Whether nothing but blanks has come in this line.
    pub(super) fresh: bool,
}

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        self.line += taken.matches('\n').count();
        for c in taken.chars() {
            self.fresh = c == '\n' || (self.fresh && c.is_whitespace());
        }
        taken
    }

    pub(super) fn skip_blanks_and_comments(&mut self) -> Result<(), Located> {
        loop {
            let blanks = self.rest.len() - self.rest.trim_start().len();
            self.take(blanks);
            match comment_length(self.rest) {
                Some(Ok(length)) => self.take(length),
                Some(Err(problem)) => return Err((self.line, problem)),
                None => return Ok(()),
            };
        }
    }

    /// A `\` line without its end, joined with the lines it goes on in.
    pub(super) fn logical_line(&mut self) -> String {
        let mut joined = String::new();
        loop {
            let end = self.rest.find('\n').map_or(self.rest.len(), |at| at + 1);
            let line = self.take(end).trim_end();
            match line.strip_suffix('\\').filter(|_| !self.rest.is_empty()) {
                Some(more) => {
                    joined.push_str(more);
                    joined.push(' ');
                }
                None => {
                    joined.push_str(line);
                    return joined;
                }
            }
        }
    }

    /// Up to `;`, the next `\` line or the end.
    pub(super) fn statement(&mut self, names: &[String]) -> Result<Statement, Located> {
        let line = self.line;
        let (mut pieces, mut text) = (Vec::new(), String::new());
        let mut last = ' ';
        while let Some(c) = self.rest.chars().next() {
            if c == ';' {
                self.take(1);
                break;
            }
            if c == '\\' && self.fresh {
                break;
            }
            if c == '\\' {
                let hint = "put \\set on a line of its own; SQL has no backslash outside quotes";
                return Err((
                    self.line,
                    ("a backslash within a line".into(), Some(hint.into())),
                ));
            }
            let quoted = quoted_length(self.rest, last).map_err(|problem| (self.line, problem))?;
            if let Some(length) = quoted {
                text.push_str(self.take(length));
                last = ' ';
                continue;
            }
            if c == '$'
                && !is_word(last)
                && self.rest[1..].starts_with(|next: char| next.is_ascii_digit())
            {
                let hint = "set a variable with \\set and write :name";
                return Err((
                    self.line,
                    (
                        "numbered parameters cannot be used".into(),
                        Some(hint.into()),
                    ),
                ));
            }
            let name = &self.rest[c.len_utf8()..];
            let name = &name[..name_length(name)];
            // `::type` is a cast, and `a:b` a slice of an array.
            if c == ':' && last != ':' && !name.is_empty() {
                let slot = names.iter().position(|known| known == name);
                let slot = slot.ok_or_else(|| (self.line, undefined(name)))?;
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
        Ok(Statement { line, pieces })
    }
}

fn is_word(c: char) -> bool {
    is_name_start(c) || c.is_ascii_digit() || c == '$' || !c.is_ascii()
}

/// Length of the comment that `text` begins with. Block comments nest, as PostgreSQL's do.
fn comment_length(text: &str) -> Option<Result<usize, Problem>> {
    if text.starts_with("--") {
        return Some(Ok(text.find('\n').map_or(text.len(), |at| at + 1)));
    }
    if !text.starts_with("/*") {
        return None;
    }
    let bytes = text.as_bytes();
    let (mut depth, mut at) = (0_usize, 0);
    while at < bytes.len() {
        match &bytes[at..bytes.len().min(at + 2)] {
            b"/*" => (depth, at) = (depth + 1, at + 2),
            b"*/" => {
                (depth, at) = (depth - 1, at + 2);
                if depth == 0 {
                    return Some(Ok(at));
                }
            }
            _ => at += 1,
        }
    }
    Some(Err((
        "a comment is not ended".into(),
        Some("close it with */".into()),
    )))
}

/// Length of the quoted string, name, dollar quote or comment that `text` begins with; `last` is
/// the character before it.
fn quoted_length(text: &str, last: char) -> Result<Option<usize>, Problem> {
    if let Some(comment) = comment_length(text) {
        return comment.map(Some);
    }
    let quote = match text.chars().next() {
        Some('\'') => '\'',
        Some('"') => '"',
        Some('$') if !is_word(last) => return dollar_length(text),
        Some('e' | 'E') if !is_word(last) && text[1..].starts_with('\'') => {
            return closed(text, 2, '\'', true).map(Some);
        }
        _ => return Ok(None),
    };
    closed(text, 1, quote, false).map(Some)
}

fn closed(text: &str, begin: usize, quote: char, escapes: bool) -> Result<usize, Problem> {
    let mut chars = text[begin..].char_indices();
    while let Some((at, c)) = chars.next() {
        if escapes && c == '\\' {
            chars.next();
        } else if c == quote {
            // A doubled quote opens the next part at once, which reads as one string.
            return Ok(begin + at + 1);
        }
    }
    Err((
        format!("a quote is not ended: {}", excerpt(text)),
        Some(format!("close it with {quote}")),
    ))
}

fn dollar_length(text: &str) -> Result<Option<usize>, Problem> {
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
