//! What stands between two values of an expression.

use std::cmp::Ordering;

use super::expression::{Value, overflow};
use super::grammar::is_word;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Or,
    And,
    Equal,
    Unequal,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

/// How strongly NOT binds: below what compares, above AND.
pub(super) const NOT: u8 = 3;

/// What each is written as, and how strongly it binds. Longer signs stand before those that they
/// begin with; of two for one operator the first is printed.
const SIGNS: [(Operator, &str, u8); 14] = [
    (Operator::Or, "OR", 1),
    (Operator::And, "AND", 2),
    (Operator::Unequal, "<>", 4),
    (Operator::Unequal, "!=", 4),
    (Operator::LessEqual, "<=", 4),
    (Operator::GreaterEqual, ">=", 4),
    (Operator::Equal, "=", 4),
    (Operator::Less, "<", 4),
    (Operator::Greater, ">", 4),
    (Operator::Add, "+", 5),
    (Operator::Subtract, "-", 5),
    (Operator::Multiply, "*", 6),
    (Operator::Divide, "/", 6),
    (Operator::Remainder, "%", 6),
];

impl Operator {
    /// The one that a text begins with, its length, and how strongly it binds.
    pub(super) fn of(text: &str) -> Option<(Self, usize, u8)> {
        let begins = |sign: &str| match sign.starts_with(|c: char| c.is_ascii_alphabetic()) {
            true => is_word(text, sign),
            false => text.starts_with(sign),
        };
        let found = SIGNS.into_iter().find(|(_, sign, _)| begins(sign));
        found.map(|(operator, sign, strength)| (operator, sign.len(), strength))
    }

    pub(super) fn sign(self) -> &'static str {
        let found = SIGNS.into_iter().find(|(operator, ..)| *operator == self);
        found.map_or("", |(_, sign, _)| sign)
    }

    pub(super) fn apply(self, left: Value, right: Value) -> Result<Value, String> {
        let order = match (left, right) {
            (Value::Int(a), Value::Int(b)) => Some(a.cmp(&b)),
            _ => left.as_f64().partial_cmp(&right.as_f64()),
        };
        let is = |wanted: Ordering| order == Some(wanted);
        Ok(Value::of_truth(match self {
            Self::Or => left.is_true() || right.is_true(),
            Self::And => left.is_true() && right.is_true(),
            Self::Equal => is(Ordering::Equal),
            Self::Unequal => !is(Ordering::Equal),
            Self::Less => is(Ordering::Less),
            Self::LessEqual => !is(Ordering::Greater),
            Self::Greater => is(Ordering::Greater),
            Self::GreaterEqual => !is(Ordering::Less),
            Self::Add | Self::Subtract | Self::Multiply | Self::Divide | Self::Remainder => {
                return self.compute(left, right);
            }
        }))
    }

    fn compute(self, left: Value, right: Value) -> Result<Value, String> {
        if let (Value::Int(a), Value::Int(b)) = (left, right) {
            if b == 0 && matches!(self, Self::Divide | Self::Remainder) {
                return Err("division by zero".into());
            }
            let result = match self {
                Self::Subtract => a.checked_sub(b),
                Self::Multiply => a.checked_mul(b),
                Self::Divide => a.checked_div(b),
                Self::Remainder => a.checked_rem(b),
                _ => a.checked_add(b),
            };
            return result.map(Value::Int).ok_or_else(overflow);
        }
        let (a, b) = (left.as_f64(), right.as_f64());
        let result = match self {
            Self::Subtract => a - b,
            Self::Multiply => a * b,
            Self::Divide => a / b,
            Self::Remainder => a % b,
            _ => a + b,
        };
        if result.is_finite() {
            Ok(Value::Float(result))
        } else {
            Err("division by zero or overflow".into())
        }
    }
}
