//! What stands on the right of `\set`, and what it comes to.

use std::fmt;

use super::random::Random;

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
    pub(super) fn of(c: char) -> Option<(Self, u8)> {
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
    pub(super) const ALL: [Self; 4] = [
        Self::Uniform,
        Self::Gaussian,
        Self::Exponential,
        Self::Zipfian,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Uniform => "random",
            Self::Gaussian => "random_gaussian",
            Self::Exponential => "random_exponential",
            Self::Zipfian => "random_zipfian",
        }
    }

    pub(super) fn arguments(self) -> usize {
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

#[cfg(test)]
mod tests {
    use super::super::grammar::parse;
    use super::*;

    fn value(text: &str) -> Result<Value, String> {
        let names = ["x".to_owned()];
        let expression = parse(text, &names).map_err(|problem| problem.0)?;
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
