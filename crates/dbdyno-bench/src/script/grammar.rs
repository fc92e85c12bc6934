//! Reads an expression: numbers, `:variables`, arithmetic, parentheses and random functions.

use super::expression::{Expression, Function, Operator, Problem, Value};

/// More operators and calls than this in one expression are refused, which bounds recursion.
const MAX_NODES: usize = 500;

pub(super) fn parse(text: &str, names: &[String]) -> Result<Expression, Problem> {
    let mut parser = Parser {
        rest: text,
        names,
        nodes: 0,
    };
    let expression = parser.sum(1)?;
    parser.skip_blanks();
    if parser.rest.is_empty() {
        return Ok(expression);
    }
    let hint =
        "write one expression of numbers, :variables, + - * / %, parentheses and random functions";
    Err((
        format!("cannot read '{}'", excerpt(parser.rest)),
        Some(hint.into()),
    ))
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
    names: &'a [String],
    nodes: usize,
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
        if self.nodes <= MAX_NODES {
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
        let mut left = self.unary()?;
        loop {
            self.skip_blanks();
            let next = self.rest.chars().next().and_then(Operator::of);
            let Some((operator, strength)) = next.filter(|next| next.1 >= precedence) else {
                return Ok(left);
            };
            self.take(1);
            self.count()?;
            let right = self.sum(strength + 1)?;
            left = Expression::Binary(operator, Box::new(left), Box::new(right));
        }
    }

    fn unary(&mut self) -> Result<Expression, Problem> {
        self.count()?;
        if self.eat('-') {
            return Ok(Expression::Negate(Box::new(self.unary()?)));
        }
        if self.eat('+') {
            return self.unary();
        }
        if self.eat('(') {
            let inner = self.sum(1)?;
            self.expect(')')?;
            return Ok(inner);
        }
        if self.eat(':') {
            let name = self.take(name_length(self.rest));
            let slot = self.names.iter().position(|known| known == name);
            return slot
                .map(Expression::Variable)
                .ok_or_else(|| undefined(name));
        }
        if self
            .rest
            .starts_with(|c: char| c.is_ascii_digit() || c == '.')
        {
            return self.number();
        }
        let name = self.take(name_length(self.rest));
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
        let text = self.take(end);
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
        Ok(Expression::Value(value))
    }

    fn call(&mut self, name: &str) -> Result<Expression, Problem> {
        self.skip_blanks();
        let function = Function::ALL
            .into_iter()
            .find(|function| function.name() == name);
        let Some(function) = function else {
            return Err(if self.rest.starts_with('(') {
                let known = Function::ALL.map(Function::name).join(", ");
                (
                    format!("unknown function {name}"),
                    Some(format!("there are {known}")),
                )
            } else {
                (
                    format!("unexpected word {name}"),
                    Some(format!("a variable is written :{name}")),
                )
            });
        };
        self.expect('(')?;
        let mut arguments = Vec::with_capacity(3);
        loop {
            arguments.push(self.sum(1)?);
            if !self.eat(',') {
                break;
            }
        }
        self.expect(')')?;
        if arguments.len() == function.arguments() {
            return Ok(Expression::Call(function, arguments));
        }
        let wanted = if function == Function::Uniform {
            "(lo, hi)"
        } else {
            "(lo, hi, parameter)"
        };
        let given = arguments.len();
        Err((
            format!(
                "{name} takes {} arguments, not {given}",
                function.arguments()
            ),
            Some(format!("write {name}{wanted}")),
        ))
    }
}
