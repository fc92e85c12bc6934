//! A row in binary, column after column.

use super::decode::{self, Unreadable};
use super::message::Fields;
use super::types;
use crate::wire::{Column, WireError};

/// What is left of a row; each call takes the next column.
#[derive(Debug)]
pub(crate) struct Row<'a> {
    rest: Fields<'a>,
    columns: &'a [Column],
    taken: usize,
}

/// Reads the body of a DataRow that answers a prepared statement with these columns.
///
/// # Errors
/// The row has another number of columns.
pub(crate) fn row<'a>(body: &'a [u8], columns: &'a [Column]) -> Result<Row<'a>, WireError> {
    let mut rest = Fields(body);
    let count = usize::from(rest.u16()?);
    if count != columns.len() {
        return Err(WireError::protocol(format!(
            "a row has {count} columns where {} were announced",
            columns.len()
        )));
    }
    Ok(Row {
        rest,
        columns,
        taken: 0,
    })
}

/// Reads the body of a DataRow that answers a simple query; none for NULL.
///
/// # Errors
/// It ends before its last field.
pub(crate) fn text_fields(body: &[u8]) -> Result<Vec<Option<String>>, WireError> {
    let mut rest = Fields(body);
    let count = rest.u16()?;
    let mut fields = Vec::new();
    for _ in 0..count {
        let raw = value(&mut rest)?;
        fields.push(raw.map(|raw| String::from_utf8_lossy(raw).into_owned()));
    }
    Ok(fields)
}

/// The next value; none for NULL.
fn value<'a>(rest: &mut Fields<'a>) -> Result<Option<&'a [u8]>, WireError> {
    match rest.i32()? {
        -1 => Ok(None),
        stated => {
            let absurd = |_| WireError::protocol(format!("a column takes {stated} bytes"));
            let length = usize::try_from(stated).map_err(absurd)?;
            rest.bytes(length).map(Some)
        }
    }
}

impl<'a> Row<'a> {
    pub(crate) fn skip(&mut self) -> Result<(), WireError> {
        self.take().map(|_| ())
    }

    /// From integers, oid, boolean and a numeric without a fraction; of a timestamp the
    /// microseconds and of a date the days since the Unix epoch; of a time the microseconds since
    /// midnight.
    pub(crate) fn try_int(&mut self) -> Result<Option<i64>, WireError> {
        self.read("an integer", decode::int)
    }

    /// From floats, numeric, integers and oid.
    pub(crate) fn try_float(&mut self) -> Result<Option<f64>, WireError> {
        self.read("a float", decode::float)
    }

    /// Times 10^`scale`, from numeric, integers and oid.
    pub(crate) fn try_fixed(&mut self, scale: u8) -> Result<Option<i64>, WireError> {
        let decode = |oid, raw: &'a [u8]| decode::fixed(oid, raw, scale);
        self.read("a scaled integer", decode)
    }

    /// From any text type, json and jsonb.
    pub(crate) fn try_text(&mut self) -> Result<Option<&'a str>, WireError> {
        self.read("text", decode::text)
    }

    /// The binary form of any type: the value itself for bytea and uuid.
    pub(crate) fn try_bytes(&mut self) -> Result<Option<&'a [u8]>, WireError> {
        self.read("bytes", |_, raw| Ok(raw))
    }

    fn read<T>(
        &mut self,
        wanted: &'static str,
        decode: impl FnOnce(u32, &'a [u8]) -> Result<T, Unreadable>,
    ) -> Result<Option<T>, WireError> {
        let (column, raw) = self.take()?;
        let Some(raw) = raw else { return Ok(None) };
        decode(column.kind, raw)
            .map(Some)
            .map_err(|reason| explain(reason, self.taken, column, wanted))
    }

    fn take(&mut self) -> Result<(Column, Option<&'a [u8]>), WireError> {
        let column = self.columns.get(self.taken).copied();
        let column = column.ok_or_else(|| {
            WireError::protocol(format!("a row was read past its {} columns", self.taken))
        })?;
        self.taken += 1;
        let raw = value(&mut self.rest)?;
        Ok((column, raw))
    }
}

#[cold]
fn explain(reason: Unreadable, number: usize, column: Column, wanted: &str) -> WireError {
    let column = format!("column {number} of {}", types::name(column.kind));
    let message = match reason {
        Unreadable::Malformed => return WireError::protocol(column + " is malformed"),
        Unreadable::OtherType => format!("{column} cannot be read as {wanted}"),
        Unreadable::NotFinite => format!("{column} is not finite, unlike {wanted}"),
        Unreadable::Decimals => format!("{column} has too many decimals for {wanted}"),
        Unreadable::TooLarge => format!("{column} is too large for {wanted}"),
    };
    WireError::Type(message)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::types::{BYTEA, INT2, INT4, NUMERIC, TEXT, UUID};
    use super::*;

    fn columns(oids: &[u32]) -> Vec<Column> {
        let column = |&kind| Column {
            kind,
            unsigned: false,
        };
        oids.iter().map(column).collect()
    }

    fn type_error<T: std::fmt::Debug>(result: Result<T, WireError>) -> String {
        match result.unwrap_err() {
            WireError::Type(message) => message,
            error => panic!("not an error of types: {error:?}"),
        }
    }

    fn is_protocol<T>(result: Result<T, WireError>) -> bool {
        matches!(result, Err(WireError::Protocol(_)))
    }

    #[test]
    fn columns_are_read_in_order() {
        let body = b"\0\x06\0\0\0\x04\0\0\0\x07\0\0\0\x02ab\xff\xff\xff\xff\0\0\0\0\
            \0\0\0\x0a\0\x01\0\0\0\0\0\x01\0\x05\0\0\0\x01x";
        let columns = columns(&[INT4, TEXT, INT4, TEXT, NUMERIC, BYTEA]);
        let mut row = row(body, &columns).unwrap();
        assert_eq!(row.try_int().unwrap(), Some(7));
        assert_eq!(row.try_text().unwrap(), Some("ab"));
        assert_eq!(row.try_int().unwrap(), None);
        assert_eq!(row.try_text().unwrap(), Some(""));
        assert_eq!(row.try_fixed(2).unwrap(), Some(500));
        assert_eq!(row.try_bytes().unwrap(), Some(&b"x"[..]));
        assert!(is_protocol(row.try_int()));
    }

    #[test]
    fn what_is_skipped_is_not_looked_at() {
        let body = b"\0\x03\0\0\0\x03abc\xff\xff\xff\xff\0\0\0\x02\0\x09";
        let columns = columns(&[INT4, INT4, INT2]);
        let mut row = row(body, &columns).unwrap();
        row.skip().unwrap();
        row.skip().unwrap();
        assert_eq!(row.try_float().unwrap(), Some(9.0));
        assert!(is_protocol(row.skip()));
    }

    #[test]
    fn a_misfit_is_told_with_its_column_and_type() {
        let body = b"\0\x03\0\0\0\x01x\0\0\0\x01x\0\0\0\x0a\0\x01\xff\xff\0\0\0\x02\0\x01";
        let columns = columns(&[UUID, TEXT, NUMERIC]);
        let mut row = row(body, &columns).unwrap();
        let error = type_error(row.try_text());
        assert_eq!(error, "column 1 of type uuid cannot be read as text");
        let error = type_error(row.try_int());
        assert_eq!(error, "column 2 of type text cannot be read as an integer");
        let error = type_error(row.try_fixed(2));
        let expected = "column 3 of type numeric has too many decimals for a scaled integer";
        assert_eq!(error, expected);
    }

    #[test]
    fn text_is_read_as_it_comes() {
        let body = b"\0\x03\0\0\0\x02-1\xff\xff\xff\xff\0\0\0\0";
        let fields = text_fields(body).unwrap();
        let expected = [Some("-1"), None, Some("")];
        assert_eq!(fields, expected.map(|field| field.map(str::to_owned)));
        for length in 0..body.len() {
            assert!(is_protocol(text_fields(&body[..length])), "{length}");
        }
    }

    #[test]
    fn a_row_that_is_not_what_it_says_is_refused() {
        let one = columns(&[INT4]);
        for body in [
            &b""[..],
            b"\0",
            b"\0\0",
            b"\0\x02\xff\xff\xff\xff\xff\xff\xff\xff",
        ] {
            assert!(is_protocol(row(body, &one)), "{body:?}");
        }
        for body in [
            &b"\0\x01"[..],
            b"\0\x01\0\0\0",
            b"\0\x01\0\0\0\x04abc",
            b"\0\x01\xff\xff\xff\xfe",
            b"\0\x01\x7f\xff\xff\xff",
            b"\0\x01\0\0\0\x03abc",
        ] {
            let mut row = row(body, &one).unwrap();
            assert!(is_protocol(row.try_int()), "{body:?}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(
            body in prop::collection::vec(any::<u8>(), 0..60),
            values in prop::collection::vec(prop::option::of(prop::collection::vec(any::<u8>(), 0..14)), 0..6),
            honest in any::<bool>(),
            oids in prop::collection::vec(prop::sample::select(vec![16_u32, 17, 20, 21, 23, 25, 26, 600, 700, 701, 1082, 1083, 1114, 1700, 2950, 3802]), 6),
            calls in prop::collection::vec((0_u8..6, any::<u8>()), 0..10),
        ) {
            let mut framed = u16::try_from(values.len()).unwrap().to_be_bytes().to_vec();
            for value in &values {
                let length = value.as_ref().map_or(-1, |bytes| i32::try_from(bytes.len()).unwrap());
                framed.extend_from_slice(&length.to_be_bytes());
                framed.extend_from_slice(value.as_deref().unwrap_or_default());
            }
            let columns = columns(&oids[..values.len()]);
            let body = if honest { &framed } else { &body };
            let read = row(body, &columns);
            prop_assert!(read.is_ok() || !honest);
            let _ = text_fields(body);
            let Ok(mut row) = read else { return Ok(()) };
            for (call, scale) in calls {
                match call {
                    0 => drop(row.skip()),
                    1 => drop(row.try_int()),
                    2 => drop(row.try_float()),
                    3 => drop(row.try_fixed(scale)),
                    4 => drop(row.try_text()),
                    _ => drop(row.try_bytes()),
                }
            }
        }
    }
}
