//! Values in binary, as the type that a parameter has.

use std::fmt::Display;

use super::numeric;
use super::numeric_text;
use super::types::{
    BOOL, BPCHAR, BYTEA, CHAR, DATE, EPOCH_DAYS, EPOCH_MICROS, FLOAT4, FLOAT8, INT2, INT4, INT8,
    JSON, JSONB, JSONB_VERSION, NAME, NUMERIC, OID, TEXT, TIME, TIMESTAMP, TIMESTAMPTZ, UNKNOWN,
    UUID, VARCHAR, element,
};

/// Which value does not fit a type, as the end of a sentence.
pub(super) type Misfit = String;

pub(super) fn misfit(value: impl Display) -> Misfit {
    format!("{value} does not fit")
}

/// Appends what `encode` appends, and its length before that.
pub(super) fn sized(
    out: &mut Vec<u8>,
    encode: impl FnOnce(&mut Vec<u8>) -> Result<(), Misfit>,
) -> Result<(), Misfit> {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    encode(out)?;
    let taken = out.len() - start - 4;
    let length = i32::try_from(taken).map_err(|_| misfit(format!("a value of {taken} bytes")))?;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

/// Timestamps count microseconds, and dates days, from the Unix epoch; a time counts microseconds
/// from midnight.
pub(super) fn int(out: &mut Vec<u8>, oid: u32, value: i64) -> Result<(), Misfit> {
    match oid {
        INT8 | TIME => out.extend_from_slice(&value.to_be_bytes()),
        INT4 => out.extend_from_slice(&narrowed::<i32>(value)?.to_be_bytes()),
        INT2 => out.extend_from_slice(&narrowed::<i16>(value)?.to_be_bytes()),
        OID => out.extend_from_slice(&narrowed::<u32>(value)?.to_be_bytes()),
        BOOL if matches!(value, 0 | 1) => out.push(u8::from(value == 1)),
        FLOAT8 => out.extend_from_slice(&(value as f64).to_be_bytes()),
        FLOAT4 => out.extend_from_slice(&(value as f32).to_be_bytes()),
        NUMERIC => numeric::encode(out, value, 0),
        TIMESTAMP | TIMESTAMPTZ => {
            let micros = timestamp(value).ok_or_else(|| misfit(value))?;
            out.extend_from_slice(&micros.to_be_bytes());
        }
        DATE => {
            let days = date(value).ok_or_else(|| misfit(value))?;
            out.extend_from_slice(&days.to_be_bytes());
        }
        _ => return Err(misfit(value)),
    }
    Ok(())
}

fn narrowed<T: TryFrom<i64>>(value: i64) -> Result<T, Misfit> {
    T::try_from(value).map_err(|_| misfit(value))
}

/// The least stands for minus infinity.
fn timestamp(micros: i64) -> Option<i64> {
    let micros = micros.checked_sub(EPOCH_MICROS)?;
    (micros > i64::MIN).then_some(micros)
}

/// The least and the greatest stand for the infinities.
fn date(days: i64) -> Option<i32> {
    let days = i32::try_from(days.checked_sub(EPOCH_DAYS)?).ok()?;
    (i32::MIN + 1..i32::MAX).contains(&days).then_some(days)
}

pub(super) fn float(out: &mut Vec<u8>, oid: u32, value: f64) -> Result<(), Misfit> {
    match oid {
        FLOAT8 => out.extend_from_slice(&value.to_be_bytes()),
        FLOAT4 if (value as f32).is_finite() || !value.is_finite() => {
            out.extend_from_slice(&(value as f32).to_be_bytes());
        }
        _ => return Err(misfit(value)),
    }
    Ok(())
}

/// `value` / 10^`scale`: exactly, but for the rounding that floating-point types bring along.
pub(super) fn fixed(out: &mut Vec<u8>, oid: u32, value: i64, scale: u8) -> Result<(), Misfit> {
    if scale > numeric::MAX_SCALE {
        return Err(misfit(format!("{value} with {scale} decimals")));
    }
    let one = 10_i64.pow(u32::from(scale));
    match oid {
        NUMERIC => numeric::encode(out, value, scale),
        FLOAT8 => out.extend_from_slice(&(value as f64 / one as f64).to_be_bytes()),
        FLOAT4 => out.extend_from_slice(&((value as f64 / one as f64) as f32).to_be_bytes()),
        INT2 | INT4 | INT8 | OID if value % one == 0 => int(out, oid, value / one)?,
        _ => return Err(misfit(decimal(value, one, scale))),
    }
    Ok(())
}

fn decimal(value: i64, one: i64, scale: u8) -> String {
    let sign = if value < 0 { "-" } else { "" };
    let (magnitude, one) = (value.unsigned_abs(), one.unsigned_abs());
    let places = usize::from(scale);
    match places {
        0 => format!("{sign}{magnitude}"),
        _ => format!("{sign}{}.{:0>places$}", magnitude / one, magnitude % one),
    }
}

pub(super) fn decimal_text(out: &mut Vec<u8>, oid: u32, value: &str) -> Result<(), Misfit> {
    if oid == NUMERIC && numeric_text::encode(out, value) {
        return Ok(());
    }
    Err(misfit(value))
}

pub(super) fn text(out: &mut Vec<u8>, oid: u32, value: &str) -> Result<(), Misfit> {
    match oid {
        TEXT | VARCHAR | BPCHAR | NAME | CHAR | UNKNOWN | JSON => {
            out.extend_from_slice(value.as_bytes());
        }
        JSONB => {
            out.push(JSONB_VERSION);
            out.extend_from_slice(value.as_bytes());
        }
        UUID => {
            let uuid = parse_uuid(value.as_bytes());
            out.extend_from_slice(&uuid.ok_or_else(|| misfit(format!("'{value}'")))?);
        }
        DATE | TIME | TIMESTAMP | TIMESTAMPTZ => {
            return Err(misfit("text") + ": have the server compute it, as by a cast from text");
        }
        _ => return Err(misfit("text")),
    }
    Ok(())
}

/// 32 hexadecimal digits, with hyphens as 8-4-4-4-12 or without.
fn parse_uuid(text: &[u8]) -> Option<[u8; 16]> {
    let hyphens = match text.len() {
        32 => false,
        36 => true,
        _ => return None,
    };
    let mut uuid = [0; 16];
    let mut rest = text;
    for (index, byte) in uuid.iter_mut().enumerate() {
        if hyphens && matches!(index, 4 | 6 | 8 | 10) {
            rest = rest.strip_prefix(b"-")?;
        }
        let [high, low, behind @ ..] = rest else {
            return None;
        };
        *byte = (hex(*high)? << 4) | hex(*low)?;
        rest = behind;
    }
    Some(uuid)
}

fn hex(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

pub(super) fn bytes(out: &mut Vec<u8>, oid: u32, value: &[u8]) -> Result<(), Misfit> {
    if oid != BYTEA && (oid != UUID || value.len() != 16) {
        return Err(misfit(format!("a value of {} bytes", value.len())));
    }
    out.extend_from_slice(value);
    Ok(())
}

/// One dimension, counted from 1, no NULL.
pub(super) fn array<T>(
    out: &mut Vec<u8>,
    oid: u32,
    values: impl ExactSizeIterator<Item = T>,
    encode: impl Fn(&mut Vec<u8>, u32, T) -> Result<(), Misfit>,
) -> Result<(), Misfit> {
    let element = element(oid).ok_or_else(|| misfit("an array"))?;
    let count = values.len();
    let length = i32::try_from(count).map_err(|_| misfit(format!("an array of {count}")))?;
    out.extend_from_slice(&i32::from(length > 0).to_be_bytes());
    out.extend_from_slice(&0_i32.to_be_bytes());
    out.extend_from_slice(&element.to_be_bytes());
    if length > 0 {
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(&1_i32.to_be_bytes());
    }
    for value in values {
        sized(out, |out| encode(out, element, value))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::postgres::types::{INT2_ARRAY, INT4_ARRAY, NUMERIC_ARRAY, TEXT_ARRAY};

    fn encoded(encode: impl FnOnce(&mut Vec<u8>) -> Result<(), Misfit>) -> Result<Vec<u8>, Misfit> {
        let mut out = Vec::new();
        encode(&mut out).map(|()| out)
    }

    fn encoded_int(oid: u32, value: i64) -> Result<Vec<u8>, Misfit> {
        encoded(|out| int(out, oid, value))
    }

    #[test]
    fn an_integer_takes_the_form_of_its_type() {
        let cases: [(u32, i64, &[u8]); 9] = [
            (BOOL, 1, &[1]),
            (BOOL, 0, &[0]),
            (INT2, -2, &[0xff, 0xfe]),
            (INT4, 258, &[0, 0, 1, 2]),
            (INT8, -1, &[0xff; 8]),
            (OID, 4_000_000_000, &[0xee, 0x6b, 0x28, 0]),
            (FLOAT4, 1, &[0x3f, 0x80, 0, 0]),
            (FLOAT8, -2, &[0xc0, 0, 0, 0, 0, 0, 0, 0]),
            (NUMERIC, 7, &[0, 1, 0, 0, 0, 0, 0, 0, 0, 7]),
        ];
        for (oid, value, form) in cases {
            assert_eq!(encoded_int(oid, value).unwrap(), form, "{value} as {oid}");
        }
    }

    #[test]
    fn an_integer_out_of_range_does_not_fit() {
        let cases = [
            (INT2, 32_768),
            (INT2, -32_769),
            (INT4, 1 << 31),
            (INT4, -(1 << 31) - 1),
            (OID, -1),
            (OID, 1 << 32),
            (BOOL, 2),
            (TEXT, 1),
            (UUID, 1),
        ];
        for (oid, value) in cases {
            let expected = format!("{value} does not fit");
            assert_eq!(encoded_int(oid, value), Err(expected), "type {oid}");
        }
        assert!(encoded_int(INT2, 32_767).is_ok());
        assert!(encoded_int(INT4, -(1 << 31)).is_ok());
        assert!(encoded_int(OID, (1 << 32) - 1).is_ok());
    }

    #[test]
    fn times_count_from_the_unix_epoch() {
        // 2000-01-01 00:00:01 and 1999-12-31.
        let second = encoded_int(TIMESTAMPTZ, 946_684_801_000_000).unwrap();
        assert_eq!(second, 1_000_000_i64.to_be_bytes());
        assert_eq!(encoded_int(TIMESTAMP, 946_684_800_000_000).unwrap(), [0; 8]);
        assert_eq!(encoded_int(DATE, 10_956).unwrap(), [0xff; 4]);
        assert_eq!(encoded_int(TIME, 1).unwrap(), 1_i64.to_be_bytes());
    }

    #[test]
    fn no_date_turns_into_an_infinite_one() {
        assert!(encoded_int(TIMESTAMP, i64::MIN).is_err());
        assert!(encoded_int(TIMESTAMP, i64::MIN + EPOCH_MICROS).is_err());
        assert!(encoded_int(TIMESTAMP, i64::MIN + EPOCH_MICROS + 1).is_ok());
        assert!(encoded_int(DATE, i64::from(i32::MAX) + EPOCH_DAYS).is_err());
        assert!(encoded_int(DATE, i64::from(i32::MAX) + EPOCH_DAYS - 1).is_ok());
        assert!(encoded_int(DATE, i64::from(i32::MIN) + EPOCH_DAYS).is_err());
        assert!(encoded_int(DATE, i64::from(i32::MIN) + EPOCH_DAYS + 1).is_ok());
        assert!(encoded_int(DATE, i64::MIN).is_err());
    }

    #[test]
    fn a_float_fits_floats_alone() {
        let half = encoded(|out| float(out, FLOAT8, 0.5)).unwrap();
        assert_eq!(half, 0.5_f64.to_be_bytes());
        let half = encoded(|out| float(out, FLOAT4, 0.5)).unwrap();
        assert_eq!(half, 0.5_f32.to_be_bytes());
        assert!(encoded(|out| float(out, FLOAT4, f64::INFINITY)).is_ok());
        assert!(encoded(|out| float(out, FLOAT4, 1e300)).is_err());
        for oid in [NUMERIC, INT4, TEXT] {
            assert!(encoded(|out| float(out, oid, 0.5)).is_err(), "type {oid}");
        }
    }

    #[test]
    fn a_fixed_is_exact_or_does_not_fit() {
        let cents = |oid, value| encoded(|out| fixed(out, oid, value, 2));
        assert_eq!(cents(FLOAT8, 1_234).unwrap(), 12.34_f64.to_be_bytes());
        assert_eq!(cents(FLOAT4, 1_250).unwrap(), 12.5_f32.to_be_bytes());
        assert_eq!(cents(INT4, -300).unwrap(), (-3_i32).to_be_bytes());
        let quarter = [0, 1, 0xff, 0xff, 0, 0, 0, 2, 0x09, 0xc4];
        assert_eq!(cents(NUMERIC, 25).unwrap(), quarter);
        assert_eq!(cents(INT4, -1_205), Err("-12.05 does not fit".to_owned()));
        assert_eq!(cents(INT2, 7_000_000), Err("70000 does not fit".to_owned()));
        assert!(cents(TEXT, 100).is_err());
        let beyond = encoded(|out| fixed(out, NUMERIC, 1, 19));
        assert_eq!(beyond, Err("1 with 19 decimals does not fit".to_owned()));
        assert!(encoded(|out| fixed(out, NUMERIC, i64::MIN, 18)).is_ok());
    }

    #[test]
    fn text_is_sent_as_it_is() {
        for oid in [TEXT, VARCHAR, BPCHAR, NAME, CHAR, UNKNOWN, JSON] {
            let sent = encoded(|out| text(out, oid, "{}")).unwrap();
            assert_eq!(sent, b"{}", "type {oid}");
        }
        let jsonb = encoded(|out| text(out, JSONB, "{}")).unwrap();
        assert_eq!(jsonb, b"\x01{}");
        let number = encoded(|out| text(out, INT4, "1"));
        assert_eq!(number, Err("text does not fit".to_owned()));
        for oid in [DATE, TIME, TIMESTAMP, TIMESTAMPTZ] {
            let refused = encoded(|out| text(out, oid, "now")).unwrap_err();
            assert!(refused.contains("have the server compute it"), "{refused}");
        }
    }

    #[test]
    fn a_uuid_is_text_or_sixteen_bytes() {
        let uuid = |value| encoded(|out| text(out, UUID, value));
        let plain = uuid("00112233445566778899aabbccddeeff").unwrap();
        assert_eq!(plain, (0..16).map(|i| i * 0x11).collect::<Vec<u8>>());
        assert_eq!(uuid("00112233-4455-6677-8899-AABBCCDDEEFF").unwrap(), plain);
        for wrong in [
            "",
            "0011223344556677-8899-aabbccddee-ff-",
            "00112233-4455-6677-8899-aabbccddeefg",
            "00112233445566778899aabbccddee\u{e9}",
        ] {
            let expected = format!("'{wrong}' does not fit");
            assert_eq!(uuid(wrong), Err(expected));
        }
        assert_eq!(encoded(|out| bytes(out, UUID, &plain)).unwrap(), plain);
        assert!(encoded(|out| bytes(out, UUID, &plain[1..])).is_err());
        assert_eq!(encoded(|out| bytes(out, BYTEA, b"\0a")).unwrap(), b"\0a");
        assert!(encoded(|out| bytes(out, TEXT, b"a")).is_err());
    }

    #[test]
    fn an_array_has_its_header_and_a_length_before_each_element() {
        let ints =
            |oid, values: &[i64]| encoded(|out| array(out, oid, values.iter().copied(), int));
        let header = [
            0_u8, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 21, 0, 0, 0, 2, 0, 0, 0, 1,
        ];
        let elements = [0, 0, 0, 2, 0, 3, 0, 0, 0, 2, 0xff, 0xff];
        let expected = [&header[..], &elements].concat();
        assert_eq!(ints(INT2_ARRAY, &[3, -1]).unwrap(), expected);
        let empty = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 23];
        assert_eq!(ints(INT4_ARRAY, &[]).unwrap(), empty);
        let beyond = ints(INT2_ARRAY, &[1, 70_000]);
        assert_eq!(beyond, Err("70000 does not fit".to_owned()));
        let scalar = ints(INT4, &[1]);
        assert_eq!(scalar, Err("an array does not fit".to_owned()));
    }

    #[test]
    fn arrays_hold_text_and_numerics() {
        let texts = encoded(|out| array(out, TEXT_ARRAY, ["ab", ""].into_iter(), text)).unwrap();
        assert_eq!(texts[8..12], [0, 0, 0, 25]);
        assert_eq!(texts[20..], [0, 0, 0, 2, b'a', b'b', 0, 0, 0, 0]);
        let cents = |out: &mut Vec<u8>, oid, value| fixed(out, oid, value, 2);
        let values = [25_i64].into_iter();
        let numerics = encoded(|out| array(out, NUMERIC_ARRAY, values, cents)).unwrap();
        assert_eq!(numerics[8..12], 1700_u32.to_be_bytes());
        let quarter = [0, 0, 0, 10, 0, 1, 0xff, 0xff, 0, 0, 0, 2, 0x09, 0xc4];
        assert_eq!(numerics[20..], quarter);
    }
}
