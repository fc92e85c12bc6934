//! Reads an expression: numbers, `:variables`, operators, parentheses and functions.

use super::draft::Known;
use super::expression::{Expression, Problem, Value};
use super::function::Function;
use super::operator::{self, Operator};

/// More operators, calls and values than this in one expression are refused, and as many parentheses
/// within each other: that bounds recursion.
const MAX_NODES: usize = 250;

/// The expression, or what is wrong with it and at which byte.
pub(super) fn parse(text: &str, known: Known<'_>) -> Result<Expression, (usize, Problem)> {
    let mut parser = Parser {
        rest: text,
        known,
        nodes: 0,
        depth: 0,
    };
    let whole = parser.sum(1).and_then(|expression| {
        parser.skip_blanks();
        if parser.rest.is_empty() {
            return Ok(expression);
        }
        let hint = "write one expression of numbers, :variables, operators and functions";
        Err((
            format!("cannot read '{}'", excerpt(parser.rest)),
            Some(hint.into()),
        ))
    });
    whole.map_err(|problem| (text.len() - parser.rest.len(), problem))
}

pub(super) fn is_name_start(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

/// Length of the name that `text` begins with.
pub(super) fn name_length(text: &str) -> usize {
    if !text.starts_with(is_name_start) {
        return 0;
    }
    text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .unwrap_or(text.len())
}

/// Whether a text begins with this word, in capitals or not.
pub(super) fn is_word(text: &str, word: &str) -> bool {
    let length = name_length(text);
    length == word.len() && text[..length].eq_ignore_ascii_case(word)
}

pub(super) fn excerpt(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default().trim();
    let mut short: String = line.chars().take(30).collect();
    if short.len() < line.len() {
        short.push('…');
    }
    short
}

pub(super) fn undefined(name: &str) -> Problem {
    (
        format!("variable :{name} is not defined"),
        Some(format!(
            "write \\set {name} … above this line; a variable is visible below its \\set"
        )),
    )
}

struct Parser<'a> {
    rest: &'a str,
    known: Known<'a>,
    nodes: usize,
    /// Parentheses that are open.
    depth: usize,
}

impl<'a> Parser<'a> {
    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }

    fn eat(&mut self, c: char) -> bool {
        self.skip_blanks();
        let found = self.rest.starts_with(c);
        if found {
            self.take(c.len_utf8());
        }
        found
    }

    fn expect(&mut self, c: char) -> Result<(), Problem> {
        if self.eat(c) {
            return Ok(());
        }
        let found = excerpt(self.rest);
        let found = if found.is_empty() {
            "the end of the line".into()
        } else {
            format!("'{found}'")
        };
        Err((format!("expected '{c}' before {found}"), None))
    }

    fn count(&mut self) -> Result<(), Problem> {
        self.nodes += 1;
        self.bounded()
    }

    fn bounded(&self) -> Result<(), Problem> {
        if self.nodes.max(self.depth) <= MAX_NODES {
            return Ok(());
        }
        let hint = "split it over several \\set lines";
        Err((
            format!("the expression has more than {MAX_NODES} parts"),
            Some(hint.into()),
        ))
    }

    /// Operators of at least this precedence, the left one first.
    fn sum(&mut self, precedence: u8) -> Result<Expression, Problem> {
        self.skip_blanks();
        let mut left = if is_word(self.rest, "NOT") {
            self.count()?;
            self.take("NOT".len());
            Expression::Not(Box::new(self.sum(operator::NOT)?))
        } else {
            self.unary()?
        };
        loop {
            self.skip_blanks();
            let next = Operator::of(self.rest).filter(|next| next.2 >= precedence);
            let Some((operator, length, strength)) = next else {
                return Ok(left);
            };
            self.take(length);
            self.count()?;
            let right = self.sum(strength + 1)?;
            left = Expression::Binary(operator, Box::new(left), Box::new(right));
        }
    }

    fn unary(&mut self) -> Result<Expression, Problem> {
        // They are no part of the expression, which is printed with more of them.
        if self.eat('(') {
            self.depth += 1;
            self.bounded()?;
            let inner = self.sum(1)?;
            self.expect(')')?;
            self.depth -= 1;
            return Ok(inner);
        }
        self.count()?;
        if self.eat('-') {
            return Ok(Expression::Negate(Box::new(self.unary()?)));
        }
        if self.eat('+') {
            return self.unary();
        }
        if let Some(name) = self.rest.strip_prefix(':') {
            let name = &name[..name_length(name)];
            let slot = self.known.slot(name)?;
            self.take(1 + name.len());
            return Ok(Expression::Variable(slot));
        }
        if self
            .rest
            .starts_with(|c: char| c.is_ascii_digit() || c == '.')
        {
            return self.number();
        }
        let name = &self.rest[..name_length(self.rest)];
        if name.is_empty() {
            let found = excerpt(self.rest);
            let found = if found.is_empty() {
                "the end of the line".into()
            } else {
                format!("'{found}'")
            };
            return Err((
                format!("expected a number, a :variable or a function before {found}"),
                None,
            ));
        }
        self.call(name)
    }

    fn number(&mut self) -> Result<Expression, Problem> {
        let bytes = self.rest.as_bytes();
        let digits = |mut at: usize| {
            while bytes.get(at).is_some_and(u8::is_ascii_digit) {
                at += 1;
            }
            at
        };
        let mut end = digits(0);
        let mut float = false;
        if bytes.get(end) == Some(&b'.') {
            (float, end) = (true, digits(end + 1));
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            let exponent = digits(end + 1 + sign);
            if exponent > end + 1 + sign {
                (float, end) = (true, exponent);
            }
        }
        let text = &self.rest[..end];
        let value = if float {
            text.parse()
                .ok()
                .filter(|float: &f64| float.is_finite())
                .map(Value::Float)
        } else {
            text.parse().ok().map(Value::Int)
        };
        let value =
            value.ok_or_else(|| (format!("'{text}' is not a number that fits 64 bits"), None))?;
        self.take(end);
        Ok(Expression::Value(value))
    }

    fn call(&mut self, name: &str) -> Result<Expression, Problem> {
        let begin = self.rest;
        self.take(name.len());
        for (word, truth) in [("true", true), ("false", false)] {
            if name.eq_ignore_ascii_case(word) {
                return Ok(Expression::Value(Value::of_truth(truth)));
            }
        }
        self.skip_blanks();
        let Some(signature) = Function::named(name) else {
            let called = self.rest.starts_with('(');
            self.rest = begin;
            return Err(if called {
                (
                    format!("unknown function {name}"),
                    Some(format!("there are {}", Function::names())),
                )
            } else {
                (
                    format!("unexpected word {name}"),
                    Some(format!("a variable is written :{name}")),
                )
            });
        };
        self.expect('(')?;
        let mut arguments = Vec::new();
        if !self.eat(')') {
            arguments.push(self.sum(1)?);
            while self.eat(',') {
                arguments.push(self.sum(1)?);
            }
            self.expect(')')?;
        }
        if (signature.fewest..=signature.most).contains(&arguments.len()) {
            return Ok(Expression::Call(signature.function, arguments));
        }
        self.rest = begin;
        let takes = match (signature.fewest, signature.most) {
            (1, 1) => "1 argument".to_owned(),
            (fewest, most) if fewest == most => format!("{most} arguments"),
            (fewest, most) => format!("{fewest} to {most} arguments"),
        };
        Err((
            format!("{name} takes {takes}, not {}", arguments.len()),
            Some(format!("write {name}{}", signature.arguments)),
        ))
    }
}
