//! What stands on the right of `\set`, and what it comes to.

use std::fmt;

use super::function::{Function, MAX_ARGUMENTS};
use super::operator::Operator;
use super::random::Random;

/// What a variable holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    Int(i64),
    Float(f64),
}

impl Value {
    /// What a comparison comes to: 1 or 0.
    pub(super) fn of_truth(truth: bool) -> Self {
        Self::Int(truth.into())
    }

    pub(super) fn is_true(self) -> bool {
        self.as_f64() != 0.0
    }

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

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Expression {
    Value(Value),
    /// Position in the body's table of names.
    Variable(usize),
    Negate(Box<Expression>),
    Not(Box<Expression>),
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
            Self::Not(inner) => Value::of_truth(!inner.evaluate(values, random)?.is_true()),
            Self::Binary(operator, left, right) => {
                let left = left.evaluate(values, random)?;
                match (operator, left.is_true()) {
                    // What the left side decides the right side is not asked.
                    (Operator::And, false) | (Operator::Or, true) => {
                        Value::of_truth(left.is_true())
                    }
                    _ => operator.apply(left, right.evaluate(values, random)?)?,
                }
            }
            Self::Call(function, arguments) => {
                let mut given = [Value::Int(0); MAX_ARGUMENTS];
                for (slot, argument) in given.iter_mut().zip(arguments) {
                    *slot = argument.evaluate(values, random)?;
                }
                function.call(&given[..arguments.len().min(MAX_ARGUMENTS)], random)?
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
            Self::Not(inner) => {
                out.push_str("(NOT ");
                inner.print(names, out);
                out.push(')');
            }
            Self::Binary(operator, left, right) => {
                out.push('(');
                left.print(names, out);
                out.push(' ');
                out.push_str(operator.sign());
                out.push(' ');
                right.print(names, out);
                out.push(')');
            }
            Self::Call(function, arguments) => {
                out.push_str(function.name());
                out.push('(');
                for (index, argument) in arguments.iter().enumerate() {
                    out.push_str(if index == 0 { "" } else { ", " });
                    argument.print(names, out);
                }
                out.push(')');
            }
        }
    }
}

pub(super) fn overflow() -> String {
    "integer overflow".into()
}

#[cfg(test)]
mod tests {
    use super::super::draft::Known;
    use super::super::grammar::parse;
    use super::*;

    fn value(text: &str) -> Result<Value, String> {
        let names = ["x".to_owned()];
        let known = Known::new(&names, &[true]);
        let expression = parse(text, known).map_err(|(_, problem)| problem.0)?;
        expression.evaluate(&[Value::Int(7)], &mut Random::new(1, 1))
    }

    /// The character before which an expression is refused, counted from 0.
    fn refused_at(text: &str) -> usize {
        let names = ["x".to_owned()];
        parse(text, Known::new(&names, &[true])).unwrap_err().0
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
            ("abs(-:x) + greatest(1, 5, 3) + least(4, 2)", Value::Int(14)),
            ("greatest(1, 2.0, 3)", Value::Float(3.0)),
            ("int(5.4 + 3.8) + int(-2.5)", Value::Int(7)),
            ("mod(54, 32) * double(2)", Value::Float(44.0)),
            (
                "sqrt(2.25) + pow(2, 3) + POWER(2.0, -1)",
                Value::Float(10.0),
            ),
            (
                "int(1000 * pi()) + int(exp(0)) + int(ln(1))",
                Value::Int(3143),
            ),
            ("permute(3, 1)", Value::Int(0)),
        ] {
            assert_eq!(value(text), Ok(result), "{text}");
        }
    }

    #[test]
    fn conditions_are_1_or_0() {
        for (text, result) in [
            ("1 < 2", 1),
            ("2.0 = 2", 1),
            ("1 <> 1 or 3 >= 4", 0),
            ("1 = 1 AND NOT 2 != 2", 1),
            ("not :x = 7", 0),
            ("NOT 0 AND 0", 0),
            ("1 or 0 and 0", 1),
            ("1 + 1 = 2 and 3 <= :x and :x > 6", 1),
            ("TRUE and not false", 1),
            ("0 and 1 / 0", 0),
            ("1 or 1 / 0", 1),
            ("3 and 2", 1),
        ] {
            assert_eq!(value(text), Ok(Value::Int(result)), "{text}");
        }
    }

    #[test]
    fn errors_know_where_they_are() {
        for (text, at) in [
            ("1 + :y", 4),
            ("1 + nope(2)", 4),
            ("1 2", 2),
            ("(1 + 2", 6),
            ("mod(1)", 0),
            ("1 * 99999999999999999999", 4),
            ("", 0),
        ] {
            assert_eq!(refused_at(text), at, "{text}");
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
            ("abs()", "takes 1 argument, not 0"),
            ("permute(1)", "takes 2 to 3 arguments, not 1"),
            ("least(1,1,1,1,1,1,1,1,1)", "takes 1 to 8 arguments, not 9"),
            ("permute(1, 0)", "above 0"),
            ("ln(0)", "not a number"),
            ("sqrt(-1)", "not a number"),
            ("int(1e300)", "64 bits"),
            ("mod(1.5, 2)", "not an integer"),
            ("mod(1, 0)", "division by zero"),
            ("case when 1 then 2 end", "unexpected word case"),
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
            value(&"not ".repeat(100_000))
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
