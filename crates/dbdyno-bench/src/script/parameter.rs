//! How a script's variable is sent, and for which of the server's types it can stand.

use std::fmt::{self, Write as _};

use super::expression::{Problem, Value};
use crate::wire::postgres::types as oid;
use crate::wire::{Engine, Params};

/// Whether a variable can stand where PostgreSQL expects this type.
pub(super) fn accepts(kind: u32) -> bool {
    is_text(kind)
        || matches!(
            kind,
            oid::INT2
                | oid::INT4
                | oid::INT8
                | oid::OID
                | oid::BOOL
                | oid::FLOAT4
                | oid::FLOAT8
                | oid::NUMERIC
        )
}

fn is_text(kind: u32) -> bool {
    matches!(
        kind,
        oid::TEXT | oid::VARCHAR | oid::BPCHAR | oid::NAME | oid::UNKNOWN
    )
}

/// What is wrong with a variable that stands for another type.
pub(super) fn misplaced(name: &str, kind: u32) -> Problem {
    let kind = oid::name(kind);
    let kind = kind.trim_start_matches("type ");
    let message = format!("variable :{name} stands where the server expects a {kind}");
    let hint = format!("let the server compute it, as in date '2024-01-01' + :{name}::integer");
    (message, Some(hint))
}

/// Appends a value as the engine wants it.
pub(super) fn put(params: &mut Params<'_>, engine: Engine, kind: u32, value: Value) {
    match engine {
        Engine::Postgres => put_as(params, kind, value),
        Engine::MySql => put_plain(params, value),
    }
}

/// MySQL is told the type with the value. It is the one that the same number would have in the text
/// of a statement: decimal, or double where it takes an exponent.
fn put_plain(params: &mut Params<'_>, value: Value) {
    match value {
        Value::Int(int) => params.int(int),
        Value::Float(float) => {
            let digits = Digits::of(format_args!("{value}"));
            match digits.text().contains('e') {
                true => params.float(float),
                false => params.decimal(digits.text()),
            }
        }
    };
}

/// As the type that PostgreSQL inferred for its place.
fn put_as(params: &mut Params<'_>, kind: u32, value: Value) {
    match (kind, value) {
        (oid::BOOL, value) => params.int((value.as_f64() != 0.0).into()),
        (kind, value) if is_text(kind) => params.text(Digits::of(format_args!("{value}")).text()),
        // `{}` never writes an exponent.
        (oid::NUMERIC, Value::Float(float)) => {
            params.decimal(Digits::of(format_args!("{float}")).text())
        }
        (_, Value::Int(int)) => params.int(int),
        (oid::FLOAT4 | oid::FLOAT8, Value::Float(float)) => params.float(float),
        (_, Value::Float(float)) => match value.as_i64() {
            Some(int) => params.int(int),
            None => params.float(float),
        },
    };
}

/// A fixed buffer, so that no number allocates. The longest float, -2.2250738585072014e-308 written out,
/// has 326 characters.
struct Digits {
    bytes: [u8; 400],
    length: usize,
}

impl Digits {
    fn of(number: fmt::Arguments<'_>) -> Self {
        let mut digits = Self {
            bytes: [0; 400],
            length: 0,
        };
        // It always fits.
        let _ = digits.write_fmt(number);
        digits
    }

    fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }
}

impl fmt::Write for Digits {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.length + text.len();
        self.bytes
            .get_mut(self.length..end)
            .ok_or(fmt::Error)?
            .copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Statement, mysql};

    #[test]
    fn the_longest_numbers_fit() {
        for float in [
            f64::MIN_POSITIVE,
            -f64::MIN_POSITIVE,
            f64::MAX,
            f64::MIN,
            5e-324,
        ] {
            let text = format!("{float}");
            assert_eq!(Digits::of(format_args!("{float}")).text(), text);
        }
    }

    /// An execution with one parameter.
    fn sent(fill: impl FnOnce(&mut Params<'_>)) -> Vec<u8> {
        let statement = Statement {
            id: 1,
            params: Box::new([0]),
            columns: Box::default(),
        };
        let mut out = Vec::new();
        mysql::execute(&mut out, &statement, fill).unwrap();
        out
    }

    #[test]
    fn mysql_is_sent_what_a_literal_would_be() {
        let value = |value| sent(|params| put(params, Engine::MySql, 0, value));
        let int = sent(|params| {
            params.int(-5);
        });
        assert_eq!(value(Value::Int(-5)), int);
        for (float, text) in [
            (1.0, "1.0"),
            (-0.25, "-0.25"),
            (1e15 + 0.5, "1000000000000000.5"),
        ] {
            let decimal = sent(|params| {
                params.decimal(text);
            });
            assert_eq!(value(Value::Float(float)), decimal, "{text}");
        }
        for float in [1e300, -5e-324, 1e-9] {
            let double = sent(|params| {
                params.float(float);
            });
            assert_eq!(value(Value::Float(float)), double, "{float}");
        }
    }

    #[test]
    fn dates_are_left_to_the_server() {
        assert!(accepts(oid::INT2) && accepts(oid::TEXT) && accepts(oid::NUMERIC));
        assert!(!accepts(oid::DATE) && !accepts(oid::JSONB));
    }
}
