//! Messages of the server: where one ends, and the fields within it.

use std::ops::Range;

use crate::wire::{Column, ServerError, WireError};

/// In bytes. PostgreSQL allocates no more for a message, in either direction.
pub(super) const LONGEST: usize = 1 << 30;

/// Type of the first message in `bytes` and where its body lies; none until all of it is there.
///
/// # Errors
/// Its length is absurd, so that what follows cannot be told from it.
pub(super) fn first(bytes: &[u8]) -> Result<Option<(u8, Range<usize>)>, WireError> {
    let Some((&[kind, a, b, c, d], _)) = bytes.split_first_chunk::<5>() else {
        return Ok(None);
    };
    let stated = i32::from_be_bytes([a, b, c, d]);
    let length = usize::try_from(stated)
        .ok()
        .filter(|length| (4..=LONGEST).contains(length))
        .ok_or_else(|| {
            WireError::protocol(format!("the server announced a message of {stated} bytes"))
        })?;
    Ok((bytes.len() > length).then_some((kind, 5..length + 1)))
}

/// For a message that has no place where it came.
pub(super) fn unexpected(kind: u8) -> WireError {
    WireError::protocol(format!(
        "the server sent an unexpected message of type '{}'",
        kind.escape_ascii()
    ))
}

/// What an ErrorResponse says. Its message is the primary one, without detail.
pub(super) fn server_error(body: &[u8]) -> Result<ServerError, WireError> {
    let mut error = ServerError {
        sqlstate: String::new(),
        number: None,
        message: String::new(),
        hint: None,
        fatal: false,
    };
    let mut fields = Fields(body);
    loop {
        let kind = fields.u8()?;
        if kind == 0 {
            return Ok(error);
        }
        let value = fields.string()?;
        match kind {
            // The first is in the server's language, the second came with 9.6.
            b'S' | b'V' => error.fatal |= matches!(value, b"FATAL" | b"PANIC"),
            b'C' => error.sqlstate = String::from_utf8_lossy(value).into_owned(),
            b'M' => error.message = String::from_utf8_lossy(value).into_owned(),
            b'H' => error.hint = Some(String::from_utf8_lossy(value).into_owned()),
            _ => {}
        }
    }
}

/// The number that a CommandComplete's tag ends with; without one, as of BEGIN, no row was.
pub(super) fn affected(body: &[u8]) -> Result<u64, WireError> {
    let tag = Fields(body).string()?;
    let digits = tag.iter().rev().take_while(|byte| byte.is_ascii_digit());
    let digits = &tag[tag.len() - digits.count()..];
    Ok(digits.iter().fold(0_u64, |sum, digit| {
        sum.saturating_mul(10)
            .saturating_add(u64::from(digit - b'0'))
    }))
}

/// What a ReadyForQuery says. A failed transaction is one until it is rolled back.
pub(super) fn in_transaction(body: &[u8]) -> Result<bool, WireError> {
    match body {
        b"I" => Ok(false),
        b"T" | b"E" => Ok(true),
        _ => Err(WireError::protocol(
            "the server is ready in an unknown state",
        )),
    }
}

/// The types that a ParameterDescription names.
pub(super) fn params(body: &[u8]) -> Result<Box<[u32]>, WireError> {
    let mut fields = Fields(body);
    let count = fields.u16()?;
    let params = (0..count).map(|_| fields.u32()).collect::<Result<_, _>>()?;
    fields.end()?;
    Ok(params)
}

/// The types that a RowDescription names.
pub(super) fn columns(body: &[u8]) -> Result<Box<[Column]>, WireError> {
    let mut fields = Fields(body);
    let count = fields.u16()?;
    let columns = (0..count)
        .map(|_| column(&mut fields))
        .collect::<Result<_, _>>()?;
    fields.end()?;
    Ok(columns)
}

fn column(fields: &mut Fields<'_>) -> Result<Column, WireError> {
    let _name = fields.string()?;
    let _table_and_attribute = fields.bytes(6)?;
    let kind = fields.u32()?;
    let _size_modifier_and_format = fields.bytes(8)?;
    Ok(Column {
        kind,
        unsigned: false,
    })
}

/// What is left of a body, taken field by field.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Fields<'a> {
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        let (field, rest) = self.0.split_first_chunk::<N>().ok_or_else(short)?;
        self.0 = rest;
        Ok(*field)
    }

    pub(super) fn u8(&mut self) -> Result<u8, WireError> {
        self.array().map(u8::from_be_bytes)
    }

    pub(super) fn u16(&mut self) -> Result<u16, WireError> {
        self.array().map(u16::from_be_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, WireError> {
        self.array().map(u32::from_be_bytes)
    }

    pub(super) fn i32(&mut self) -> Result<i32, WireError> {
        self.array().map(i32::from_be_bytes)
    }

    pub(super) fn bytes(&mut self, length: usize) -> Result<&'a [u8], WireError> {
        let (field, rest) = self.0.split_at_checked(length).ok_or_else(short)?;
        self.0 = rest;
        Ok(field)
    }

    /// Up to a zero byte, which is passed over.
    pub(super) fn string(&mut self) -> Result<&'a [u8], WireError> {
        let length = self.0.iter().position(|&byte| byte == 0);
        let string = self.bytes(length.ok_or_else(short)?)?;
        self.u8()?;
        Ok(string)
    }

    pub(super) fn end(self) -> Result<(), WireError> {
        if self.0.is_empty() {
            return Ok(());
        }
        Err(WireError::protocol(
            "a message of the server goes on after its last field",
        ))
    }
}

fn short() -> WireError {
    WireError::protocol("a message of the server ends before its last field")
}

/// A message as a server would send it.
#[cfg(test)]
pub(super) fn built(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).expect("short in tests");
    [&[kind][..], &length.to_be_bytes(), body].concat()
}

/// An ErrorResponse of these fields.
#[cfg(test)]
pub(super) fn refusal(severity: &str, code: &str, message: &str) -> Vec<u8> {
    let body = format!("S{severity}\0V{severity}\0C{code}\0M{message}\0Fpostgres.c\0\0");
    built(b'E', body.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_found_once_all_of_it_is_there() {
        let ready = b"Z\0\0\0\x05Irest";
        for length in 0..6 {
            assert_eq!(first(&ready[..length]).unwrap(), None, "{length} bytes");
        }
        assert_eq!(first(&ready[..6]).unwrap(), Some((b'Z', 5..6)));
        assert_eq!(first(ready).unwrap(), Some((b'Z', 5..6)));
        assert_eq!(first(b"1\0\0\0\x04").unwrap(), Some((b'1', 5..5)));
    }

    #[test]
    fn absurd_lengths_are_refused_before_they_are_waited_for() {
        for length in [i32::MIN, -1, 0, 3, (1 << 30) + 1, i32::MAX] {
            let bytes = [&b"D"[..], &length.to_be_bytes()].concat();
            let error = first(&bytes).unwrap_err();
            assert!(
                matches!(error, WireError::Protocol(_)),
                "{length}: {error:?}"
            );
        }
        let longest = [&b"D"[..], &(1_i32 << 30).to_be_bytes()].concat();
        assert_eq!(first(&longest).unwrap(), None);
    }

    #[test]
    fn an_error_has_its_code_and_its_severity() {
        let bytes = refusal("ERROR", "40P01", "deadlock detected");
        let error = server_error(&bytes[5..]).unwrap();
        assert_eq!(error.sqlstate, "40P01");
        assert_eq!(error.number, None);
        assert_eq!(error.message, "deadlock detected");
        assert!(!error.fatal);

        let translated = b"SFATALE\0VFATAL\0C57P01\0Mterminato\0\0";
        assert!(server_error(translated).unwrap().fatal);
        let old = b"SPANIC\0CXX000\0Mlost\0\0";
        assert!(server_error(old).unwrap().fatal);
    }

    #[test]
    fn an_error_without_an_end_is_refused() {
        for body in [&b""[..], b"M", b"Mtext", b"Mtext\0"] {
            let error = server_error(body).unwrap_err();
            assert!(matches!(error, WireError::Protocol(_)), "{error:?}");
        }
    }

    #[test]
    fn a_tag_ends_with_what_was_affected() {
        let cases = [
            ("BEGIN", 0),
            ("SELECT 12", 12),
            ("INSERT 0 1", 1),
            ("UPDATE 0", 0),
            ("DELETE 99999999999999999999", u64::MAX),
        ];
        for (tag, count) in cases {
            assert_eq!(affected(format!("{tag}\0").as_bytes()).unwrap(), count);
        }
        assert!(affected(b"SELECT 1").is_err());
    }

    #[test]
    fn descriptions_end_where_they_say() {
        assert_eq!(*params(b"\0\x01\0\0\0\x17").unwrap(), [23]);
        assert!(params(b"\0\x02\0\0\0\x17").is_err());
        assert!(params(b"\0\0\0\0\0\x17").is_err());
        assert!(columns(b"\0\0").unwrap().is_empty());
        assert!(columns(b"\0\x01x\0").is_err());
        assert!(columns(b"\0\0x").is_err());
    }

    #[test]
    fn fields_are_taken_in_order_and_none_is_left() {
        let mut fields = Fields(b"\0\x02name\0\xff\xff\xff\xffxy");
        assert_eq!(fields.u16().unwrap(), 2);
        assert_eq!(fields.string().unwrap(), b"name");
        assert_eq!(fields.i32().unwrap(), -1);
        assert!(fields.end().is_err());
        assert!(fields.bytes(3).is_err());
        assert_eq!(fields.bytes(2).unwrap(), b"xy");
        assert!(fields.u8().is_err());
        fields.end().unwrap();
    }
}
