//! The right-hand side of `\set`: integers, floats, variables, arithmetic and random functions.

use std::fmt;

use super::random::Random;

/// More operators and calls than this in one expression are refused, which bounds recursion.
const MAX_NODES: usize = 500;

/// What a variable holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    Int(i64),
    Float(f64),
}

impl Value {
    pub(super) fn as_f64(self) -> f64 {
        match self {
            Self::Int(int) => int as f64,
            Self::Float(float) => float,
        }
    }

    /// The integer it is, if it is one.
    pub(super) fn as_i64(self) -> Option<i64> {
        match self {
            Self::Int(int) => Some(int),
            // The upper bound itself is 2^63, one more than the largest.
            Self::Float(float)
                if float.fract() == 0.0 && (-(2_f64.powi(63))..2_f64.powi(63)).contains(&float) =>
            {
                Some(float as i64)
            }
            Self::Float(_) => None,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(int) => write!(f, "{int}"),
            // `{:?}` keeps the point of 1.0, so that it stays a float.
            Self::Float(float) => write!(f, "{float:?}"),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Operator {
    fn of(c: char) -> Option<(Self, u8)> {
        Some(match c {
            '+' => (Self::Add, 1),
            '-' => (Self::Subtract, 1),
            '*' => (Self::Multiply, 2),
            '/' => (Self::Divide, 2),
            '%' => (Self::Remainder, 2),
            _ => return None,
        })
    }

    fn sign(self) -> char {
        match self {
            Self::Add => '+',
            Self::Subtract => '-',
            Self::Multiply => '*',
            Self::Divide => '/',
            Self::Remainder => '%',
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    Uniform,
    Gaussian,
    Exponential,
    Zipfian,
}

impl Function {
    const ALL: [Self; 4] = [
        Self::Uniform,
        Self::Gaussian,
        Self::Exponential,
        Self::Zipfian,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Uniform => "random",
            Self::Gaussian => "random_gaussian",
            Self::Exponential => "random_exponential",
            Self::Zipfian => "random_zipfian",
        }
    }

    fn arguments(self) -> usize {
        if self == Self::Uniform { 2 } else { 3 }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Expression {
    Value(Value),
    /// Position in the body's table of names.
    Variable(usize),
    Negate(Box<Expression>),
    Binary(Operator, Box<Expression>, Box<Expression>),
    Call(Function, Vec<Expression>),
}

/// What is wrong, and what to do about it where that is not plain.
pub(super) type Problem = (String, Option<String>);

impl Expression {
    pub(super) fn parse(text: &str, names: &[String]) -> Result<Self, Problem> {
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
        let hint = "write one expression of numbers, :variables, + - * / %, parentheses and random functions";
        Err((
            format!("cannot read '{}'", excerpt(parser.rest)),
            Some(hint.into()),
        ))
    }

    pub(super) fn evaluate(&self, values: &[Value], random: &mut Random) -> Result<Value, String> {
        Ok(match self {
            Self::Value(value) => *value,
            Self::Variable(slot) => values[*slot],
            Self::Negate(inner) => match inner.evaluate(values, random)? {
                Value::Int(int) => Value::Int(int.checked_neg().ok_or_else(overflow)?),
                Value::Float(float) => Value::Float(-float),
            },
            Self::Binary(operator, left, right) => {
                let left = left.evaluate(values, random)?;
                binary(*operator, left, right.evaluate(values, random)?)?
            }
            Self::Call(function, arguments) => {
                let mut given = [Value::Int(0); 3];
                for (slot, argument) in given.iter_mut().zip(arguments) {
                    *slot = argument.evaluate(values, random)?;
                }
                Value::Int(draw(*function, given, random)?)
            }
        })
    }

    /// With every operation in parentheses.
    pub(super) fn print(&self, names: &[String], out: &mut String) {
        match self {
            Self::Value(value) => out.push_str(&value.to_string()),
            Self::Variable(slot) => {
                out.push(':');
                out.push_str(&names[*slot]);
            }
            Self::Negate(inner) => {
                out.push_str("(-");
                inner.print(names, out);
                out.push(')');
            }
            Self::Binary(operator, left, right) => {
                out.push('(');
                left.print(names, out);
                out.push(' ');
                out.push(operator.sign());
                out.push(' ');
                right.print(names, out);
                out.push(')');
            }
            Self::Call(function, arguments) => {
                out.push_str(function.name());
                for (index, argument) in arguments.iter().enumerate() {
                    out.push_str(if index == 0 { "(" } else { ", " });
                    argument.print(names, out);
                }
                out.push(')');
            }
        }
    }
}

fn overflow() -> String {
    "integer overflow".into()
}

fn binary(operator: Operator, left: Value, right: Value) -> Result<Value, String> {
    if let (Value::Int(a), Value::Int(b)) = (left, right) {
        if b == 0 && matches!(operator, Operator::Divide | Operator::Remainder) {
            return Err("division by zero".into());
        }
        let result = match operator {
            Operator::Add => a.checked_add(b),
            Operator::Subtract => a.checked_sub(b),
            Operator::Multiply => a.checked_mul(b),
            Operator::Divide => a.checked_div(b),
            Operator::Remainder => a.checked_rem(b),
        };
        return result.map(Value::Int).ok_or_else(overflow);
    }
    let (a, b) = (left.as_f64(), right.as_f64());
    let result = match operator {
        Operator::Add => a + b,
        Operator::Subtract => a - b,
        Operator::Multiply => a * b,
        Operator::Divide => a / b,
        Operator::Remainder => a % b,
    };
    if result.is_finite() {
        Ok(Value::Float(result))
    } else {
        Err("division by zero or overflow".into())
    }
}

fn draw(function: Function, given: [Value; 3], random: &mut Random) -> Result<i64, String> {
    let name = function.name();
    let bound = |value: Value| {
        value
            .as_i64()
            .ok_or_else(|| format!("{name}: a bound of {value} is not an integer"))
    };
    let (lo, hi, parameter) = (bound(given[0])?, bound(given[1])?, given[2].as_f64());
    if lo > hi {
        return Err(format!(
            "{name}: the lower bound {lo} is above the upper bound {hi}"
        ));
    }
    let refused = |range: &str| {
        Err(format!(
            "{name}: the parameter must be {range}, not {parameter}"
        ))
    };
    match function {
        Function::Uniform => Ok(random.uniform(lo, hi)),
        Function::Gaussian if !(2.0..=1e9).contains(&parameter) => refused("at least 2"),
        Function::Gaussian => Ok(random.gaussian(lo, hi, parameter)),
        Function::Exponential if !(parameter > 0.0 && parameter <= 1e9) => refused("above 0"),
        Function::Exponential => Ok(random.exponential(lo, hi, parameter)),
        Function::Zipfian if !(1.001..=1000.0).contains(&parameter) => {
            refused("from 1.001 to 1000")
        }
        Function::Zipfian => Ok(random.zipfian(lo, hi, parameter)),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<Value, String> {
        let names = ["x".to_owned()];
        let expression = Expression::parse(text, &names).map_err(|problem| problem.0)?;
        expression.evaluate(&[Value::Int(7)], &mut Random::new(1, 1))
    }

    #[test]
    fn arithmetic_is_that_of_integers_until_a_float_comes_in() {
        for (text, result) in [
            ("1 + 2 * 3", Value::Int(7)),
            ("(1 + 2) * 3", Value::Int(9)),
            ("10 - 3 - 2", Value::Int(5)),
            ("7 / 2", Value::Int(3)),
            ("-7 % 4", Value::Int(-3)),
            ("- - :x", Value::Int(7)),
            ("7 / 2.0", Value::Float(3.5)),
            ("1e2", Value::Float(100.0)),
            (".5 * 2", Value::Float(1.0)),
            ("random(3, 3) + random_zipfian(4, 4, 1.5)", Value::Int(7)),
        ] {
            assert_eq!(value(text), Ok(result), "{text}");
        }
    }

    #[test]
    fn errors_name_what_is_wrong() {
        for (text, message) in [
            ("", "before the end of the line"),
            ("1 +", "before the end of the line"),
            ("1 2", "cannot read '2'"),
            ("(1", "expected ')'"),
            ("x", "unexpected word x"),
            (":y", "variable :y is not defined"),
            ("rand(1, 2)", "unknown function rand"),
            ("random(1)", "takes 2 arguments, not 1"),
            ("random(2, 1)", "above the upper bound"),
            ("random(1.5, 2)", "not an integer"),
            ("random_zipfian(1, 2, 1)", "from 1.001 to 1000"),
            ("random_gaussian(1, 2, 1)", "at least 2"),
            ("random_exponential(1, 2, 0)", "above 0"),
            ("1 / 0", "division by zero"),
            ("9223372036854775807 + 1", "overflow"),
            ("9223372036854775808", "64 bits"),
            ("1e999", "64 bits"),
        ] {
            let error = value(text).unwrap_err();
            assert!(error.contains(message), "{text}: {error}");
        }
        assert!(
            value(&"(".repeat(100_000))
                .unwrap_err()
                .contains("more than")
        );
        assert!(
            value(&"1+".repeat(100_000))
                .unwrap_err()
                .contains("more than")
        );
    }
}
