//! Type bytes of columns and parameters, and where a value of each ends in the binary protocol.

use super::packet::Cursor;
use crate::wire::WireError;

pub(super) const DECIMAL: u32 = 0x00;
pub(super) const TINY: u32 = 0x01;
pub(super) const SHORT: u32 = 0x02;
pub(super) const LONG: u32 = 0x03;
pub(super) const FLOAT: u32 = 0x04;
pub(super) const DOUBLE: u32 = 0x05;
pub(super) const NULL: u32 = 0x06;
pub(super) const TIMESTAMP: u32 = 0x07;
pub(super) const LONGLONG: u32 = 0x08;
pub(super) const INT24: u32 = 0x09;
pub(super) const DATE: u32 = 0x0a;
pub(super) const TIME: u32 = 0x0b;
pub(super) const DATETIME: u32 = 0x0c;
pub(super) const YEAR: u32 = 0x0d;
pub(super) const VARCHAR: u32 = 0x0f;
pub(super) const BIT: u32 = 0x10;
pub(super) const VECTOR: u32 = 0xf2;
pub(super) const JSON: u32 = 0xf5;
pub(super) const NEWDECIMAL: u32 = 0xf6;
pub(super) const ENUM: u32 = 0xf7;
pub(super) const SET: u32 = 0xf8;
pub(super) const TINY_BLOB: u32 = 0xf9;
pub(super) const MEDIUM_BLOB: u32 = 0xfa;
pub(super) const LONG_BLOB: u32 = 0xfb;
pub(super) const BLOB: u32 = 0xfc;
pub(super) const VAR_STRING: u32 = 0xfd;
pub(super) const STRING: u32 = 0xfe;
pub(super) const GEOMETRY: u32 = 0xff;

/// TEXT columns come as BLOB, JSON ones as themselves or, on MariaDB, as BLOB.
pub(super) fn is_text(kind: u32) -> bool {
    matches!(
        kind,
        VARCHAR
            | JSON
            | ENUM
            | SET
            | TINY_BLOB
            | MEDIUM_BLOB
            | LONG_BLOB
            | BLOB
            | VAR_STRING
            | STRING
    )
}

/// Takes one value that is not NULL, without the length that may precede it.
///
/// # Errors
/// The type is not known, or the value ends too early.
pub(super) fn value<'a>(kind: u32, values: &mut Cursor<'a>) -> Result<&'a [u8], WireError> {
    match kind {
        NULL => Ok(&[]),
        TINY => values.bytes(1),
        SHORT | YEAR => values.bytes(2),
        LONG | INT24 | FLOAT => values.bytes(4),
        LONGLONG | DOUBLE => values.bytes(8),
        DATE | DATETIME | TIMESTAMP => temporal(values, &[0, 4, 7, 11]),
        TIME => temporal(values, &[0, 8, 12]),
        DECIMAL | NEWDECIMAL | BIT | VECTOR | GEOMETRY => values.lenenc_bytes(),
        _ if is_text(kind) => values.lenenc_bytes(),
        _ => Err(WireError::protocol(format!(
            "a column has type {kind:#04x}, which is not known here"
        ))),
    }
}

fn temporal<'a>(values: &mut Cursor<'a>, lengths: &[u8]) -> Result<&'a [u8], WireError> {
    let length = values.u8()?;
    if !lengths.contains(&length) {
        return Err(WireError::protocol(format!(
            "the server sent a date or time of {length} bytes"
        )));
    }
    values.bytes(length.into())
}

/// As SQL calls it, for messages.
pub(super) fn name(kind: u32) -> &'static str {
    match kind {
        DECIMAL | NEWDECIMAL => "DECIMAL",
        TINY => "TINYINT",
        SHORT => "SMALLINT",
        LONG => "INT",
        FLOAT => "FLOAT",
        DOUBLE => "DOUBLE",
        NULL => "NULL",
        TIMESTAMP => "TIMESTAMP",
        LONGLONG => "BIGINT",
        INT24 => "MEDIUMINT",
        DATE => "DATE",
        TIME => "TIME",
        DATETIME => "DATETIME",
        YEAR => "YEAR",
        VARCHAR | VAR_STRING => "VARCHAR",
        BIT => "BIT",
        VECTOR => "VECTOR",
        JSON => "JSON",
        ENUM => "ENUM",
        SET => "SET",
        TINY_BLOB | MEDIUM_BLOB | LONG_BLOB | BLOB => "BLOB or TEXT",
        STRING => "CHAR",
        GEOMETRY => "GEOMETRY",
        _ => "an unknown type",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_end_where_the_next_begins() {
        for (kind, bytes, expected) in [
            (NULL, &b"x"[..], &b""[..]),
            (TINY, b"ax", b"a"),
            (YEAR, b"abx", b"ab"),
            (INT24, b"abcdx", b"abcd"),
            (DOUBLE, b"abcdefghx", b"abcdefgh"),
            (DATE, b"\0x", b""),
            (DATE, b"\x04abcdx", b"abcd"),
            (DATETIME, b"\x07abcdefgx", b"abcdefg"),
            (TIMESTAMP, b"\x0babcdefghijkx", b"abcdefghijk"),
            (TIME, b"\x08abcdefghx", b"abcdefgh"),
            (TIME, b"\x0cabcdefghijklx", b"abcdefghijkl"),
            (BIT, b"\x01ax", b"a"),
            (VECTOR, b"\x02abx", b"ab"),
            (VAR_STRING, b"\x03abcx", b"abc"),
        ] {
            let mut values = Cursor::new(bytes);
            assert_eq!(value(kind, &mut values).unwrap(), expected, "{kind:#x}");
            assert_eq!(values.rest(), b"x", "{kind:#x}");
        }
    }

    #[test]
    fn what_is_odd_is_refused() {
        for (kind, bytes) in [
            (DATE, &b"\x05abcdefgh"[..]),
            (TIME, b"\x04abcdefgh"),
            (TIME, b"\x08abc"),
            (0x12, b"\x01a"),
            (0x1fd, b"\x01a"),
            (LONGLONG, b"abcdefg"),
        ] {
            let error = value(kind, &mut Cursor::new(bytes)).unwrap_err();
            assert!(matches!(error, WireError::Protocol(_)), "{kind:#x}");
        }
    }
}
