//! Sends a script's value as whatever type the server inferred for its place.

use std::error::Error;
use std::fmt::Write as _;

use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use super::expression::Value;

type Refused = Box<dyn Error + Sync + Send>;

/// Whether a variable can stand where the server expects this type.
pub(super) fn accepts(ty: &Type) -> bool {
    matches!(
        *ty,
        Type::INT2
            | Type::INT4
            | Type::INT8
            | Type::OID
            | Type::BOOL
            | Type::FLOAT4
            | Type::FLOAT8
            | Type::NUMERIC
            | Type::TEXT
            | Type::VARCHAR
            | Type::BPCHAR
            | Type::NAME
            | Type::UNKNOWN
    )
}

impl ToSql for Value {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Refused> {
        match *ty {
            Type::INT2 => out.extend_from_slice(&integer::<i16>(self, ty)?.to_be_bytes()),
            Type::INT4 => out.extend_from_slice(&integer::<i32>(self, ty)?.to_be_bytes()),
            Type::INT8 => out.extend_from_slice(&integer::<i64>(self, ty)?.to_be_bytes()),
            Type::OID => out.extend_from_slice(&integer::<u32>(self, ty)?.to_be_bytes()),
            Type::BOOL => out.extend_from_slice(&[u8::from(self.as_f64() != 0.0)]),
            Type::FLOAT4 => out.extend_from_slice(&(self.as_f64() as f32).to_be_bytes()),
            Type::FLOAT8 => out.extend_from_slice(&self.as_f64().to_be_bytes()),
            Type::NUMERIC => numeric(self, out)?,
            _ => write!(out, "{self}")?,
        }
        Ok(IsNull::No)
    }

    fn accepts(ty: &Type) -> bool {
        accepts(ty)
    }

    to_sql_checked!();
}

fn integer<T: TryFrom<i64>>(value: &Value, ty: &Type) -> Result<T, Refused> {
    let fits = value.as_i64().and_then(|int| T::try_from(int).ok());
    fits.ok_or_else(|| format!("{value} does not fit the server's type {ty}").into())
}

/// A fixed buffer, so that no number allocates. The longest float, -2.2250738585072014e-308 written out,
/// has 326 characters.
struct Digits {
    bytes: [u8; 400],
    length: usize,
}

impl std::fmt::Write for Digits {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let end = self.length + text.len();
        self.bytes
            .get_mut(self.length..end)
            .ok_or(std::fmt::Error)?
            .copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

/// PostgreSQL's binary numeric: groups of four decimal digits, the place of the first, sign, scale.
fn numeric(value: &Value, out: &mut BytesMut) -> Result<(), Refused> {
    let mut digits = Digits {
        bytes: [0; 400],
        length: 0,
    };
    match value {
        Value::Int(int) => write!(digits, "{int}")?,
        // `{}` never writes an exponent.
        Value::Float(float) => write!(digits, "{float}")?,
    }
    let text = &digits.bytes[..digits.length];
    let (negative, text) = match text.split_first() {
        Some((b'-', rest)) => (true, rest),
        _ => (false, text),
    };
    let point = text
        .iter()
        .position(|&byte| byte == b'.')
        .unwrap_or(text.len());
    let (whole, fraction) = (&text[..point], text.get(point + 1..).unwrap_or_default());
    let whole_groups = whole.len().div_ceil(4);
    // Digit `at` of the number padded on both sides to full groups.
    let lead = whole_groups * 4 - whole.len();
    let digit = |at: usize| -> i16 {
        let found = match at.checked_sub(lead) {
            None => None,
            Some(at) if at < whole.len() => whole.get(at),
            Some(at) => fraction.get(at - whole.len()),
        };
        found.map_or(0, |byte| i16::from(byte - b'0'))
    };
    let groups = whole_groups + fraction.len().div_ceil(4);
    let group = |at: usize| (0..4).fold(0, |sum, place| sum * 10 + digit(at * 4 + place));
    let first = (0..groups).find(|&at| group(at) != 0).unwrap_or(groups);
    let last = (first..groups)
        .rev()
        .find(|&at| group(at) != 0)
        .map_or(first, |at| at + 1);
    let weight = if first == last {
        0
    } else {
        i16::try_from(whole_groups)? - 1 - i16::try_from(first)?
    };
    out.extend_from_slice(&i16::try_from(last - first)?.to_be_bytes());
    out.extend_from_slice(&weight.to_be_bytes());
    let sign: u16 = if negative { 0x4000 } else { 0 };
    out.extend_from_slice(&sign.to_be_bytes());
    out.extend_from_slice(&u16::try_from(fraction.len())?.to_be_bytes());
    for at in first..last {
        out.extend_from_slice(&group(at).to_be_bytes());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sent(value: Value, ty: Type) -> Result<Vec<u8>, String> {
        let mut out = BytesMut::new();
        value
            .to_sql_checked(&ty, &mut out)
            .map_err(|error| error.to_string())?;
        Ok(out.to_vec())
    }

    #[test]
    fn integers_are_checked_against_the_servers_type() {
        assert_eq!(sent(Value::Int(-2), Type::INT2), Ok(vec![255, 254]));
        assert_eq!(sent(Value::Float(3.0), Type::INT4), Ok(vec![0, 0, 0, 3]));
        assert!(
            sent(Value::Int(40_000), Type::INT2)
                .unwrap_err()
                .contains("40000")
        );
        assert!(
            sent(Value::Float(0.5), Type::INT8)
                .unwrap_err()
                .contains("0.5")
        );
        assert_eq!(sent(Value::Int(12), Type::TEXT), Ok(b"12".to_vec()));
        assert!(sent(Value::Int(12), Type::DATE).is_err());
    }

    /// The value of a binary numeric, and its scale.
    fn decode(bytes: &[u8]) -> (f64, u16) {
        let word = |at: usize| u16::from_be_bytes([bytes[at * 2], bytes[at * 2 + 1]]);
        assert_eq!(bytes.len(), 8 + 2 * usize::from(word(0)));
        let weight = i32::from(word(1) as i16);
        let sum: f64 = (0..word(0))
            .map(|at| {
                f64::from(word(4 + usize::from(at))) * 10_000_f64.powi(weight - i32::from(at))
            })
            .sum();
        (if word(2) == 0x4000 { -sum } else { sum }, word(3))
    }

    #[test]
    fn numerics_by_hand() {
        for (value, groups) in [
            (Value::Int(0), vec![0, 0, 0, 0]),
            (Value::Int(12_345), vec![2, 1, 0, 0, 1, 2345]),
            (Value::Int(-10_000), vec![1, 1, 0x4000, 0, 1]),
            (Value::Float(0.05), vec![1, -1, 0, 2, 500]),
            (Value::Float(12.5), vec![2, 0, 0, 1, 12, 5000]),
        ] {
            let expected: Vec<u8> = groups
                .iter()
                .flat_map(|word: &i16| word.to_be_bytes())
                .collect();
            assert_eq!(sent(value, Type::NUMERIC), Ok(expected), "{value}");
        }
        assert!(sent(Value::Float(-2.225_073_858_507_201_4e-308), Type::NUMERIC).is_ok());
        assert!(sent(Value::Float(f64::MAX), Type::NUMERIC).is_ok());
    }

    proptest! {
        #[test]
        fn numerics_keep_their_value(int: i64, float in -1e12_f64..1e12) {
            let (back, scale) = decode(&sent(Value::Int(int), Type::NUMERIC).unwrap());
            prop_assert!((back - int as f64).abs() <= int.unsigned_abs() as f64 * 1e-15);
            prop_assert_eq!(scale, 0);
            let (back, _) = decode(&sent(Value::Float(float), Type::NUMERIC).unwrap());
            prop_assert!((back - float).abs() <= float.abs() * 1e-14);
        }
    }
}
