//! Which of the server's types a script's variable can stand for, and how it is sent as one.

use std::fmt::{self, Write as _};

use super::expression::Value;
use crate::wire::Params;
use crate::wire::postgres::types as oid;

/// Whether a variable can stand where the server expects this type.
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

/// As the type that the server inferred for its place.
pub(super) fn put(params: &mut Params<'_>, kind: u32, value: Value) {
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

    #[test]
    fn dates_are_left_to_the_server() {
        assert!(accepts(oid::INT2) && accepts(oid::TEXT) && accepts(oid::NUMERIC));
        assert!(!accepts(oid::DATE) && !accepts(oid::JSONB));
    }
}
