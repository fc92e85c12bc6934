//! Values in binary, read from the type that a column has.

use super::numeric;
use super::types::{
    BOOL, BPCHAR, CHAR, DATE, EPOCH_DAYS, EPOCH_MICROS, FLOAT4, FLOAT8, INT2, INT4, INT8, JSON,
    JSONB, JSONB_VERSION, NAME, NUMERIC, OID, TEXT, TIME, TIMESTAMP, TIMESTAMPTZ, UNKNOWN, VARCHAR,
};

/// Why a value cannot be read as what it was wanted as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unreadable {
    /// It is not what its own type makes.
    Malformed,
    OtherType,
    /// NaN, or an infinity of numbers or of time.
    NotFinite,
    /// More than the scale has room for.
    Decimals,
    TooLarge,
}

/// Timestamps in microseconds, and dates in days, from the Unix epoch; a time in microseconds
/// from midnight.
pub(super) fn int(oid: u32, raw: &[u8]) -> Result<i64, Unreadable> {
    match oid {
        BOOL => array(raw).map(|[byte]: [u8; 1]| i64::from(byte != 0)),
        NUMERIC => numeric::decode(raw, 0),
        TIME => array(raw).map(i64::from_be_bytes),
        TIMESTAMP | TIMESTAMPTZ => match array(raw).map(i64::from_be_bytes)? {
            i64::MIN | i64::MAX => Err(Unreadable::NotFinite),
            micros => {
                let micros = micros.checked_add(EPOCH_MICROS);
                micros.ok_or(Unreadable::TooLarge)
            }
        },
        DATE => match array(raw).map(i32::from_be_bytes)? {
            i32::MIN | i32::MAX => Err(Unreadable::NotFinite),
            days => Ok(i64::from(days) + EPOCH_DAYS),
        },
        _ => integer(oid, raw),
    }
}

pub(super) fn float(oid: u32, raw: &[u8]) -> Result<f64, Unreadable> {
    match oid {
        FLOAT8 => array(raw).map(f64::from_be_bytes),
        FLOAT4 => array(raw).map(|bytes| f64::from(f32::from_be_bytes(bytes))),
        NUMERIC => numeric::to_float(raw),
        _ => integer(oid, raw).map(|value| value as f64),
    }
}

/// Times 10^`scale`.
pub(super) fn fixed(oid: u32, raw: &[u8], scale: u8) -> Result<i64, Unreadable> {
    if oid == NUMERIC {
        return numeric::decode(raw, scale);
    }
    let value = integer(oid, raw)?;
    let one = 10_i64.checked_pow(u32::from(scale));
    let scaled = one.and_then(|one| value.checked_mul(one));
    scaled.ok_or(Unreadable::TooLarge)
}

pub(super) fn text(oid: u32, raw: &[u8]) -> Result<&str, Unreadable> {
    let text = match oid {
        TEXT | VARCHAR | BPCHAR | NAME | CHAR | UNKNOWN | JSON => raw,
        JSONB => raw
            .strip_prefix(&[JSONB_VERSION])
            .ok_or(Unreadable::Malformed)?,
        _ => return Err(Unreadable::OtherType),
    };
    str::from_utf8(text).map_err(|_| Unreadable::Malformed)
}

fn integer(oid: u32, raw: &[u8]) -> Result<i64, Unreadable> {
    match oid {
        INT8 => array(raw).map(i64::from_be_bytes),
        INT4 => array(raw).map(|bytes| i64::from(i32::from_be_bytes(bytes))),
        INT2 => array(raw).map(|bytes| i64::from(i16::from_be_bytes(bytes))),
        OID => array(raw).map(|bytes| i64::from(u32::from_be_bytes(bytes))),
        _ => Err(Unreadable::OtherType),
    }
}

fn array<const N: usize>(raw: &[u8]) -> Result<[u8; N], Unreadable> {
    raw.try_into().map_err(|_| Unreadable::Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::postgres::types::{BYTEA, UUID};

    const DOZEN: [u8; 10] = [0, 1, 0, 0, 0, 0, 0, 0, 0, 12];
    const QUARTER: [u8; 10] = [0, 1, 0xff, 0xff, 0, 0, 0, 2, 0x09, 0xc4];
    const NAN: [u8; 8] = [0, 0, 0, 0, 0xc0, 0, 0, 0];

    #[test]
    fn integers_are_read_from_every_type_that_counts() {
        let cases: [(u32, &[u8], i64); 8] = [
            (BOOL, &[1], 1),
            (BOOL, &[0], 0),
            (INT2, &[0xff, 0xfe], -2),
            (INT4, &[0, 0, 1, 2], 258),
            (INT8, &[0xff; 8], -1),
            (OID, &[0xee, 0x6b, 0x28, 0], 4_000_000_000),
            (NUMERIC, &DOZEN, 12),
            (TIME, &[0, 0, 0, 0, 0, 0, 0, 9], 9),
        ];
        for (oid, raw, value) in cases {
            assert_eq!(int(oid, raw), Ok(value), "type {oid}");
        }
        assert_eq!(int(NUMERIC, &QUARTER), Err(Unreadable::Decimals));
        assert_eq!(int(NUMERIC, &NAN), Err(Unreadable::NotFinite));
        assert_eq!(int(TEXT, b"1"), Err(Unreadable::OtherType));
        assert_eq!(int(FLOAT8, &[0; 8]), Err(Unreadable::OtherType));
    }

    #[test]
    fn times_count_from_the_unix_epoch() {
        let second = 1_000_000_i64.to_be_bytes();
        assert_eq!(int(TIMESTAMPTZ, &second), Ok(946_684_801_000_000));
        assert_eq!(int(TIMESTAMP, &[0; 8]), Ok(946_684_800_000_000));
        assert_eq!(int(DATE, &[0xff; 4]), Ok(10_956));
    }

    #[test]
    fn endless_times_are_no_integers() {
        for micros in [i64::MIN, i64::MAX] {
            let read = int(TIMESTAMPTZ, &micros.to_be_bytes());
            assert_eq!(read, Err(Unreadable::NotFinite));
        }
        for days in [i32::MIN, i32::MAX] {
            let read = int(DATE, &days.to_be_bytes());
            assert_eq!(read, Err(Unreadable::NotFinite));
        }
        let late = (i64::MAX - 1).to_be_bytes();
        assert_eq!(int(TIMESTAMP, &late), Err(Unreadable::TooLarge));
    }

    #[test]
    fn floats_are_read_from_every_number() {
        assert_eq!(float(FLOAT8, &0.1_f64.to_be_bytes()), Ok(0.1));
        assert_eq!(float(FLOAT4, &0.5_f32.to_be_bytes()), Ok(0.5));
        assert_eq!(float(NUMERIC, &QUARTER), Ok(0.25));
        assert_eq!(float(INT2, &[0, 3]), Ok(3.0));
        assert!(float(NUMERIC, &NAN).unwrap().is_nan());
        assert_eq!(float(TEXT, b"1"), Err(Unreadable::OtherType));
        assert_eq!(float(BOOL, &[1]), Err(Unreadable::OtherType));
    }

    #[test]
    fn a_fixed_is_exact_or_an_error() {
        assert_eq!(fixed(NUMERIC, &QUARTER, 2), Ok(25));
        assert_eq!(fixed(NUMERIC, &QUARTER, 4), Ok(2_500));
        assert_eq!(fixed(NUMERIC, &QUARTER, 1), Err(Unreadable::Decimals));
        assert_eq!(fixed(INT4, &[0, 0, 0, 3], 2), Ok(300));
        assert_eq!(fixed(INT8, &[0x7f; 8], 1), Err(Unreadable::TooLarge));
        assert_eq!(fixed(INT2, &[0, 1], 19), Err(Unreadable::TooLarge));
        assert_eq!(fixed(FLOAT8, &[0; 8], 2), Err(Unreadable::OtherType));
    }

    #[test]
    fn text_is_read_from_every_text_type() {
        for oid in [TEXT, VARCHAR, BPCHAR, NAME, CHAR, UNKNOWN, JSON] {
            assert_eq!(text(oid, b"{}"), Ok("{}"), "type {oid}");
        }
        assert_eq!(text(JSONB, b"\x01{}"), Ok("{}"));
        assert_eq!(text(JSONB, b"\x02{}"), Err(Unreadable::Malformed));
        assert_eq!(text(TEXT, b"\xff"), Err(Unreadable::Malformed));
        for oid in [INT4, UUID, BYTEA] {
            assert_eq!(text(oid, b"abcd"), Err(Unreadable::OtherType));
        }
    }

    #[test]
    fn a_wrong_length_is_malformed() {
        for oid in [BOOL, INT2, INT4, INT8, OID, DATE, TIME, TIMESTAMP] {
            assert_eq!(int(oid, &[0; 3]), Err(Unreadable::Malformed), "type {oid}");
            assert_eq!(int(oid, &[]), Err(Unreadable::Malformed), "type {oid}");
        }
        assert_eq!(float(FLOAT4, &[0; 8]), Err(Unreadable::Malformed));
        assert_eq!(float(FLOAT8, &[0; 4]), Err(Unreadable::Malformed));
    }
}
