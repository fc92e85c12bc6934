//! The answer to COM_STMT_PREPARE: a statement with its parameters and columns.

use super::answers::Answers;
use super::packet::{self, Cursor, HEADER, Split};
use super::response;
use crate::wire::{Column, Inbound, Statement, WireError};

const UNSIGNED_FLAG: u16 = 0x0020;

impl Answers {
    /// The statement that was prepared; none as long as the answer has not come whole, of which
    /// nothing is consumed until then.
    ///
    /// # Errors
    /// The server refuses the statement, or sends what is not understood here.
    pub(crate) fn prepared(&self, inbound: &mut Inbound) -> Result<Option<Statement>, WireError> {
        let unread = inbound.unread();
        let length = unread.len();
        let Some(head) = packet::split(unread)? else {
            return Ok(None);
        };
        match head.payload.first() {
            Some(&response::OK) => {}
            Some(&response::ERR) => {
                let error = response::err(head.payload)?;
                let end = HEADER + head.payload.len();
                inbound.consume(end);
                return Err(error.into());
            }
            _ => {
                return Err(WireError::protocol(
                    "the server sent neither a statement nor an error",
                ));
            }
        }
        let Some((statement, rest)) = self.statement(head)? else {
            return Ok(None);
        };
        let end = length - rest.len();
        inbound.consume(end);
        Ok(Some(statement))
    }

    /// With what follows the answer.
    fn statement<'a>(&self, head: Split<'a>) -> Result<Option<(Statement, &'a [u8])>, WireError> {
        let mut cursor = Cursor::new(head.payload);
        cursor.u8()?;
        let id = cursor.u32()?;
        let num_columns = cursor.u16()?;
        let num_params = cursor.u16()?;
        let Some(rest) = self.definitions(head.rest, num_params, |_| Ok(()))? else {
            return Ok(None);
        };
        let mut columns = Vec::with_capacity(num_columns.into());
        let rest = self.definitions(rest, num_columns, |payload| {
            columns.push(column_definition(payload)?);
            Ok(())
        })?;
        let Some(rest) = rest else {
            return Ok(None);
        };
        let statement = Statement {
            id,
            params: vec![0; num_params.into()].into_boxed_slice(),
            columns: columns.into_boxed_slice(),
        };
        Ok(Some((statement, rest)))
    }

    /// Goes through so many definitions and their EOF, and returns what follows.
    fn definitions<'a>(
        &self,
        mut rest: &'a [u8],
        count: u16,
        mut each: impl FnMut(&[u8]) -> Result<(), WireError>,
    ) -> Result<Option<&'a [u8]>, WireError> {
        for _ in 0..count {
            let Some(packet) = packet::split(rest)? else {
                return Ok(None);
            };
            each(packet.payload)?;
            rest = packet.rest;
        }
        if count > 0 && !self.capabilities.deprecate_eof {
            let Some(packet) = packet::split(rest)? else {
                return Ok(None);
            };
            if packet.payload.first() != Some(&response::EOF) {
                return Err(WireError::protocol(
                    "the server sent something other than EOF after definitions",
                ));
            }
            rest = packet.rest;
        }
        Ok(Some(rest))
    }
}

pub(super) fn column_definition(payload: &[u8]) -> Result<Column, WireError> {
    let mut cursor = Cursor::new(payload);
    for _name in [
        "catalog",
        "schema",
        "table",
        "org_table",
        "name",
        "org_name",
    ] {
        cursor.lenenc_bytes()?;
    }
    let _length_of_fixed_fields = cursor.lenenc()?;
    let _character_set = cursor.u16()?;
    let _column_length = cursor.u32()?;
    let kind = cursor.u8()?;
    let flags = cursor.u16()?;
    Ok(Column {
        kind: kind.into(),
        unsigned: flags & UNSIGNED_FLAG != 0,
    })
}

#[cfg(test)]
mod tests {
    use super::super::answers::Capabilities;
    use super::super::testing::{definition, packet, packets};
    use super::super::types;
    use super::*;
    use proptest::prelude::*;

    const NO_EOF: Capabilities = Capabilities {
        deprecate_eof: true,
        cache_metadata: false,
    };

    /// Statement 0x0102 of two columns and one parameter.
    const PREPARE_OK: [u8; 12] = [0, 2, 1, 0, 0, 2, 0, 1, 0, 0, 0, 0];
    const EOF: [u8; 5] = [0xfe, 0, 0, 2, 0];

    fn columns() -> [Column; 2] {
        [
            Column {
                kind: types::LONGLONG,
                unsigned: true,
            },
            Column {
                kind: types::VAR_STRING,
                unsigned: false,
            },
        ]
    }

    /// The statement, with how many bytes had to come before it was known.
    fn byte_by_byte(answers: &Answers, bytes: &[u8]) -> (Statement, usize) {
        let mut inbound = Inbound::default();
        for (index, byte) in bytes.iter().enumerate() {
            inbound.extend(&[*byte]);
            if let Some(statement) = answers.prepared(&mut inbound).unwrap() {
                assert_eq!(inbound.unread(), b"");
                return (statement, index + 1);
            }
            assert_eq!(inbound.unread().len(), index + 1, "nothing is consumed");
        }
        panic!("no statement in {} bytes", bytes.len());
    }

    #[test]
    fn a_statement_comes_byte_by_byte() {
        let int = definition(0x08, 0x0021);
        let text = definition(0xfd, 0);
        let bytes = packets(&[&PREPARE_OK, &definition(0xfd, 0), &int, &text]);
        let (statement, needed) = byte_by_byte(&Answers::new(NO_EOF), &bytes);
        assert_eq!(needed, bytes.len());
        assert_eq!(statement.id, 0x0102);
        assert_eq!(*statement.params, [0]);
        assert_eq!(*statement.columns, columns());
    }

    #[test]
    fn definitions_end_with_eof_where_it_is_not_deprecated() {
        let int = definition(0x08, 0x0021);
        let text = definition(0xfd, 0);
        let bytes = packets(&[&PREPARE_OK, &definition(0xfd, 0), &EOF, &int, &text, &EOF]);
        let (statement, needed) = byte_by_byte(&Answers::default(), &bytes);
        assert_eq!(needed, bytes.len());
        assert_eq!(*statement.columns, columns());
        let mut inbound = Inbound::default();
        inbound.extend(&bytes);
        let error = Answers::new(NO_EOF).prepared(&mut inbound).unwrap_err();
        assert!(matches!(error, WireError::Protocol(_)), "EOF is no column");
    }

    #[test]
    fn a_statement_may_have_neither_parameters_nor_columns() {
        let bytes = packet(1, &[0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        let (statement, needed) = byte_by_byte(&Answers::default(), &bytes);
        assert_eq!(needed, bytes.len());
        assert_eq!(statement.id, 9);
        assert!(statement.params.is_empty() && statement.columns.is_empty());
    }

    #[test]
    fn what_follows_is_left_alone() {
        let mut inbound = Inbound::default();
        inbound.extend(&packet(1, &[0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]));
        inbound.extend(b"next");
        let answers = Answers::default();
        assert!(answers.prepared(&mut inbound).unwrap().is_some());
        assert_eq!(inbound.unread(), b"next");
    }

    #[test]
    fn a_refusal_is_consumed() {
        let mut inbound = Inbound::default();
        inbound.extend(&packet(1, b"\xff\x28\x04#42000You have an error"));
        inbound.extend(b"next");
        let error = Answers::default().prepared(&mut inbound).unwrap_err();
        let WireError::Server(error) = error else {
            panic!("{error:?}");
        };
        assert_eq!((error.number, error.fatal), (Some(1064), false));
        assert_eq!(inbound.unread(), b"next");
    }

    proptest! {
        #[test]
        fn no_bytes_panic(
            payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..6),
            starts_well in any::<bool>(),
            deprecate_eof in any::<bool>(),
        ) {
            let mut inbound = Inbound::default();
            if starts_well {
                inbound.extend(&packet(0, &PREPARE_OK));
            }
            for payload in &payloads {
                inbound.extend(&packet(0, payload));
            }
            let answers = Answers::new(Capabilities { deprecate_eof, cache_metadata: false });
            let before = inbound.unread().len();
            if let Ok(Some(_)) = answers.prepared(&mut inbound) {
                prop_assert!(inbound.unread().len() < before);
            }
        }
    }
}
