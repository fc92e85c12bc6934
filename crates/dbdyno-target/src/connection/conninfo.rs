//! `host=… user='…' dbname=…`, read the way libpq reads it.

use std::iter::Peekable;
use std::str::Chars;

use super::error::ConnectionError;
use super::parameters::Parameters;

pub(super) fn parse(text: &str) -> Result<Parameters, ConnectionError> {
    let mut parameters = Parameters::default();
    let mut rest = text.chars().peekable();
    let mut after_bare_password = false;
    loop {
        skip_spaces(&mut rest);
        if rest.peek().is_none() {
            return Ok(parameters);
        }
        let name = read_name(&mut rest)?;
        let (value, is_quoted) = read_value(&mut rest)?;
        if value.contains('\0') {
            return Err(malformed("it contains a zero byte"));
        }
        match parameters.set(&name, value) {
            // `password=my secret=word`: the name that nobody knows is a piece of the password.
            Err(ConnectionError::UnknownParameter { .. }) if after_bare_password => {
                return Err(malformed("a value with spaces needs single quotes"));
            }
            other => other?,
        }
        after_bare_password = name == "password" && !is_quoted;
    }
}

fn read_name(rest: &mut Peekable<Chars<'_>>) -> Result<String, ConnectionError> {
    let mut name = String::new();
    while let Some(c) = rest.next_if(|c| *c != '=' && !c.is_ascii_whitespace()) {
        name.push(c);
    }
    skip_spaces(rest);
    match rest.next() {
        Some('=') => Ok(name),
        _ => Err(malformed(
            "a word has no `=`; a value with spaces needs single quotes",
        )),
    }
}

/// The value, and whether it stood in quotes.
fn read_value(rest: &mut Peekable<Chars<'_>>) -> Result<(String, bool), ConnectionError> {
    skip_spaces(rest);
    let is_quoted = rest.next_if_eq(&'\'').is_some();
    let mut value = String::new();
    loop {
        match rest.next() {
            Some('\'') if is_quoted => return Ok((value, true)),
            Some(c) if !is_quoted && c.is_ascii_whitespace() => return Ok((value, false)),
            Some('\\') => value.extend(rest.next()),
            Some(c) => value.push(c),
            None if is_quoted => return Err(malformed("a quote is not closed")),
            None => return Ok((value, false)),
        }
    }
}

fn skip_spaces(rest: &mut Peekable<Chars<'_>>) {
    while rest.next_if(char::is_ascii_whitespace).is_some() {}
}

fn malformed(why: &'static str) -> ConnectionError {
    ConnectionError::Malformed {
        form: "parameters",
        why,
    }
}
