//! Names and texts that need not be UTF-8: those of SQL_ASCII, and those that databases share.

use std::fmt::Display;

use ::postgres::row::RowIndex;
use ::postgres::types::{FromSql, Type};
use ::postgres::{Error, Row};

/// Text in which a replacement character stands for what is not UTF-8: one odd byte must not cost a
/// whole subject.
struct Lossy(String);

impl<'a> FromSql<'a> for Lossy {
    fn from_sql(
        _ty: &Type,
        raw: &'a [u8],
    ) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Self(String::from_utf8_lossy(raw).into_owned()))
    }

    fn accepts(ty: &Type) -> bool {
        <&str as FromSql>::accepts(ty)
    }
}

pub(super) fn text(row: &Row, column: impl RowIndex + Display) -> Result<String, Error> {
    let Lossy(text): Lossy = row.try_get(column)?;
    Ok(text)
}

pub(super) fn text_or_none(
    row: &Row,
    column: impl RowIndex + Display,
) -> Result<Option<String>, Error> {
    let found: Option<Lossy> = row.try_get(column)?;
    Ok(found.map(|Lossy(text)| text))
}

/// An array; none counts as empty.
pub(super) fn texts(row: &Row, column: impl RowIndex + Display) -> Result<Vec<String>, Error> {
    let found: Option<Vec<Lossy>> = row.try_get(column)?;
    let found = found.unwrap_or_default();
    Ok(found.into_iter().map(|Lossy(text)| text).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_utf8_is_replaced_and_the_rest_kept() {
        let read = |raw: &[u8]| Lossy::from_sql(&Type::TEXT, raw).unwrap().0;
        assert_eq!(read("größe".as_bytes()), "größe");
        assert_eq!(read(b"gr\xf6\xdfe"), "gr\u{fffd}\u{fffd}e");
        assert!(Lossy::accepts(&Type::NAME) && !Lossy::accepts(&Type::INT4));
    }
}
