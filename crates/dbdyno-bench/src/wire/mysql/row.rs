//! A row of the binary protocol, read column by column.

use super::numeric;
use super::packet::Cursor;
use super::types::{
    self, DECIMAL, DOUBLE, FLOAT, INT24, LONG, LONGLONG, NEWDECIMAL, SHORT, TINY, YEAR,
};
use crate::wire::{Column, WireError};

/// Bits of the NULL bitmap before that of the first column.
const NULLS_OFFSET: usize = 2;

/// Reads the columns of one row in order. Each method takes the next, none for NULL.
#[derive(Debug)]
pub(crate) struct Row<'a> {
    columns: &'a [Column],
    nulls: &'a [u8],
    values: Cursor<'a>,
    taken: usize,
}

impl<'a> Row<'a> {
    pub(super) fn new(payload: &'a [u8], columns: &'a [Column]) -> Result<Self, WireError> {
        let mut values = Cursor::new(payload);
        if values.u8()? != 0 {
            return Err(WireError::protocol(
                "the server sent a row that is not in binary form",
            ));
        }
        let nulls = values.bytes((columns.len() + NULLS_OFFSET).div_ceil(8))?;
        Ok(Self {
            columns,
            nulls,
            values,
            taken: 0,
        })
    }

    pub(crate) fn skip(&mut self) -> Result<(), WireError> {
        self.take().map(drop)
    }

    pub(crate) fn try_int(&mut self) -> Result<Option<i64>, WireError> {
        self.read(|column, bytes| match column.kind {
            DECIMAL | NEWDECIMAL => numeric::parse(bytes, 0),
            _ => {
                let value = integer(column, bytes).ok_or_else(|| mismatch(column, "an integer"))?;
                i64::try_from(value).map_err(|_| too_large(value))
            }
        })
    }

    pub(crate) fn try_float(&mut self) -> Result<Option<f64>, WireError> {
        self.read(|column, bytes| match column.kind {
            FLOAT => exact(bytes).map(|bytes| f32::from_le_bytes(bytes).into()),
            DOUBLE => exact(bytes).map(f64::from_le_bytes),
            DECIMAL | NEWDECIMAL => numeric::float(bytes),
            _ => integer(column, bytes)
                .map(|value| value as f64)
                .ok_or_else(|| mismatch(column, "a number")),
        })
    }

    pub(crate) fn try_fixed(&mut self, scale: u8) -> Result<Option<i64>, WireError> {
        self.read(|column, bytes| match column.kind {
            DECIMAL | NEWDECIMAL => numeric::parse(bytes, scale),
            _ => {
                let value =
                    integer(column, bytes).ok_or_else(|| mismatch(column, "an exact number"))?;
                numeric::scaled(value, scale).ok_or_else(|| too_large(value))
            }
        })
    }

    pub(crate) fn try_text(&mut self) -> Result<Option<&'a str>, WireError> {
        self.read(|column, bytes| {
            if !types::is_text(column.kind) {
                return Err(mismatch(column, "text"));
            }
            std::str::from_utf8(bytes)
                .map_err(|_| WireError::Type("a column was read as text, and is not UTF-8".into()))
        })
    }

    pub(crate) fn try_bytes(&mut self) -> Result<Option<&'a [u8]>, WireError> {
        self.read(|_, bytes| Ok(bytes))
    }

    fn read<T>(
        &mut self,
        value: impl FnOnce(Column, &'a [u8]) -> Result<T, WireError>,
    ) -> Result<Option<T>, WireError> {
        match self.take()? {
            Some((column, bytes)) => value(column, bytes).map(Some),
            None => Ok(None),
        }
    }

    fn take(&mut self) -> Result<Option<(Column, &'a [u8])>, WireError> {
        let index = self.taken;
        let Some(&column) = self.columns.get(index) else {
            return Err(WireError::Type(format!(
                "a row has {index} columns, and one more was read"
            )));
        };
        self.taken += 1;
        let bit = index + NULLS_OFFSET;
        if (self.nulls[bit / 8] >> (bit % 8)) & 1 == 1 {
            return Ok(None);
        }
        let bytes = types::value(column.kind, &mut self.values)?;
        Ok(Some((column, bytes)))
    }
}

/// The fields of a row of the text protocol; none for NULL.
///
/// # Errors
/// It ends within a field.
pub(crate) fn text_fields(payload: &[u8]) -> Result<Vec<Option<String>>, WireError> {
    const NULL: u8 = 0xfb;
    let mut values = Cursor::new(payload);
    let mut fields = Vec::new();
    while let Some(&first) = values.rest().first() {
        fields.push(if first == NULL {
            values.u8()?;
            None
        } else {
            let text = String::from_utf8_lossy(values.lenenc_bytes()?);
            Some(text.into_owned())
        });
    }
    Ok(fields)
}

/// Wide enough for BIGINT UNSIGNED. None if the column is of another type.
fn integer(column: Column, bytes: &[u8]) -> Option<i128> {
    Some(match (column.kind, column.unsigned) {
        (TINY, false) => i8::from_le_bytes(bytes.try_into().ok()?).into(),
        (TINY, true) => u8::from_le_bytes(bytes.try_into().ok()?).into(),
        (SHORT | YEAR, false) => i16::from_le_bytes(bytes.try_into().ok()?).into(),
        (SHORT | YEAR, true) => u16::from_le_bytes(bytes.try_into().ok()?).into(),
        (LONG | INT24, false) => i32::from_le_bytes(bytes.try_into().ok()?).into(),
        (LONG | INT24, true) => u32::from_le_bytes(bytes.try_into().ok()?).into(),
        (LONGLONG, false) => i64::from_le_bytes(bytes.try_into().ok()?).into(),
        (LONGLONG, true) => u64::from_le_bytes(bytes.try_into().ok()?).into(),
        _ => return None,
    })
}

fn exact<const N: usize>(bytes: &[u8]) -> Result<[u8; N], WireError> {
    Cursor::new(bytes).array()
}

fn mismatch(column: Column, wanted: &str) -> WireError {
    let name = types::name(column.kind);
    WireError::Type(format!("a column of type {name} was read as {wanted}"))
}

fn too_large(value: i128) -> WireError {
    WireError::Type(format!("the number {value} is too large for 64 bits"))
}

#[cfg(test)]
mod tests {
    use super::super::types::*;
    use super::*;
    use proptest::prelude::*;

    fn column(kind: u32) -> Column {
        Column {
            kind,
            unsigned: false,
        }
    }

    fn unsigned(kind: u32) -> Column {
        Column {
            kind,
            unsigned: true,
        }
    }

    /// A row of one column that is not NULL.
    fn one<T>(
        column: Column,
        value: &[u8],
        read: impl for<'a> FnOnce(&mut Row<'a>) -> Result<Option<T>, WireError>,
    ) -> Result<T, WireError> {
        let payload = [&[0_u8, 0][..], value].concat();
        let columns = [column];
        let mut row = Row::new(&payload, &columns)?;
        read(&mut row).map(|value| value.expect("not NULL"))
    }

    fn int(column: Column, value: &[u8]) -> Result<i64, WireError> {
        one(column, value, |row| row.try_int())
    }

    fn is_type_error<T>(result: Result<T, WireError>, words: &str) -> bool {
        matches!(result, Err(WireError::Type(text)) if text.contains(words))
    }

    #[test]
    fn integers_of_every_width() {
        for (kind, bytes, signed, without_sign) in [
            (TINY, &[0xfe_u8][..], -2, 0xfe),
            (SHORT, &[0xfe, 0xff], -2, 0xfffe),
            (YEAR, &[0xea, 0x07], 2026, 2026),
            (LONG, &[0xfe, 0xff, 0xff, 0xff], -2, 0xffff_fffe),
            (INT24, &[0xfe, 0xff, 0xff, 0xff], -2, 0xffff_fffe),
            (LONGLONG, &[7, 0, 0, 0, 0, 0, 0, 0x80], i64::MIN + 7, 0),
        ] {
            assert_eq!(int(column(kind), bytes).unwrap(), signed, "{kind}");
            if kind != LONGLONG {
                let value = int(unsigned(kind), bytes).unwrap();
                assert_eq!(value, without_sign, "{kind}");
            }
        }
        let large = int(unsigned(LONGLONG), &[0, 0, 0, 0, 0, 0, 0, 0x80]);
        assert!(is_type_error(large, "9223372036854775808"));
        assert_eq!(int(column(NEWDECIMAL), b"\x0212").unwrap(), 12);
        let fraction = int(column(NEWDECIMAL), b"\x0412.5");
        assert!(is_type_error(fraction, "more decimals"));
    }

    #[test]
    fn floats_of_every_number_type() {
        let float = |column, value: &[u8]| one(column, value, |row| row.try_float()).unwrap();
        assert_eq!(float(column(FLOAT), &[0, 0, 0, 0xbf]), -0.5);
        let half = [0, 0, 0, 0, 0, 0, 0xe0, 0x3f];
        assert_eq!(float(column(DOUBLE), &half), 0.5);
        assert_eq!(float(column(NEWDECIMAL), b"\x05-1.25"), -1.25);
        assert_eq!(float(column(TINY), &[0xff]), -1.0);
        let large = float(unsigned(LONGLONG), &[0, 0, 0, 0, 0, 0, 0, 0x80]);
        assert_eq!(large, 9_223_372_036_854_775_808.0);
    }

    #[test]
    fn exact_numbers_are_scaled() {
        let fixed = |column, value: &[u8]| one(column, value, |row| row.try_fixed(2));
        assert_eq!(fixed(column(NEWDECIMAL), b"\x0512.34").unwrap(), 1234);
        assert_eq!(fixed(column(SHORT), &[3, 0]).unwrap(), 300);
        let large = fixed(column(LONGLONG), &i64::MAX.to_le_bytes());
        assert!(is_type_error(large, "too large"));
        let float = fixed(column(DOUBLE), &[0; 8]);
        assert!(is_type_error(float, "DOUBLE"));
    }

    #[test]
    fn other_types_are_told() {
        let date = [4, 0xea, 0x07, 1, 2];
        assert!(is_type_error(int(column(DATE), &date), "DATE"));
        let text = one(column(DATETIME), &[0], |row| {
            row.try_text().map(|_| Some(()))
        });
        assert!(is_type_error(text, "DATETIME"));
        assert!(is_type_error(int(column(VAR_STRING), b"\x011"), "VARCHAR"));
        let text = one(column(BLOB), b"\x01\xff", |row| {
            row.try_text().map(|_| Some(()))
        });
        assert!(is_type_error(text, "UTF-8"));
        let bit = one(column(BIT), b"\x01\x01", |row| row.try_float());
        assert!(is_type_error(bit, "BIT"));
    }

    /// Ten columns, the ninth NULL: its bit is the third of the second byte.
    #[test]
    fn columns_come_in_order() {
        let kinds = [
            TINY, VAR_STRING, DATETIME, TIME, BLOB, NEWDECIMAL, BIT, FLOAT, LONG, ENUM,
        ];
        let columns = kinds.map(column);
        let payload = [
            &[0_u8, 0b0000_0000, 0b0000_0100][..],
            &[5],
            b"\x03n\xc3\xa9",
            &[7, 0xea, 7, 1, 2, 3, 4, 5],
            &[0],
            b"\x02\x00\xff",
            b"\x041.50",
            b"\x01\x01",
            &[0, 0, 0x80, 0x3f],
            b"\x03big",
        ]
        .concat();
        let mut row = Row::new(&payload, &columns).unwrap();
        assert_eq!(row.try_int().unwrap(), Some(5));
        assert_eq!(row.try_text().unwrap(), Some("né"));
        row.skip().unwrap();
        row.skip().unwrap();
        assert_eq!(row.try_bytes().unwrap(), Some(&[0, 255][..]));
        assert_eq!(row.try_fixed(3).unwrap(), Some(1500));
        assert_eq!(row.try_bytes().unwrap(), Some(&[1][..]));
        assert_eq!(row.try_float().unwrap(), Some(1.0));
        assert_eq!(row.try_int().unwrap(), None);
        assert_eq!(row.try_text().unwrap(), Some("big"));
        assert!(is_type_error(row.try_int(), "10 columns"));
    }

    #[test]
    fn text_has_its_own_null() {
        let fields = text_fields(b"\x03n\xc3\xa9\xfb\x00\x02\xff1").unwrap();
        let expected = [Some("n\u{e9}"), None, Some(""), Some("\u{fffd}1")];
        assert_eq!(fields, expected.map(|field| field.map(str::to_owned)));
        assert!(text_fields(b"").unwrap().is_empty());
        let short = text_fields(b"\x011\x05ab");
        assert!(matches!(short, Err(WireError::Protocol(_))));
    }

    #[test]
    fn a_short_row_is_told() {
        let columns = [column(LONG), column(VAR_STRING)];
        let payload = [0, 0, 1, 0, 0, 0, 2, b'o', b'k'];
        for length in 0..payload.len() {
            let read = Row::new(&payload[..length], &columns)
                .and_then(|mut row| row.skip().and_then(|()| row.skip()));
            assert!(matches!(read, Err(WireError::Protocol(_))), "{length}");
        }
        let mut row = Row::new(&payload, &columns).unwrap();
        assert!(row.skip().and_then(|()| row.skip()).is_ok());
        let text = Row::new(&[1, 0, 0], &columns[..1]);
        assert!(matches!(text, Err(WireError::Protocol(_))));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(
            payload in prop::collection::vec(any::<u8>(), 0..60),
            columns in prop::collection::vec((any::<u8>(), any::<bool>()), 0..12),
            reads in prop::collection::vec(0_u8..6, 0..14),
        ) {
            let columns: Vec<Column> = columns
                .into_iter()
                .map(|(kind, unsigned)| Column { kind: kind.into(), unsigned })
                .collect();
            let _ = text_fields(&payload);
            let payload = [&[0_u8][..], &payload[..]].concat();
            let Ok(mut row) = Row::new(&payload, &columns) else {
                return Ok(());
            };
            for (index, read) in reads.into_iter().enumerate() {
                let result = match read {
                    0 => row.skip(),
                    1 => row.try_int().map(drop),
                    2 => row.try_float().map(drop),
                    3 => row.try_fixed(4).map(drop),
                    4 => row.try_text().map(drop),
                    _ => row.try_bytes().map(drop),
                };
                prop_assert!(index < columns.len() || result.is_err());
            }
        }
    }
}
