//! Answers to commands, taken out of what has arrived.

use super::message;
use crate::wire::{Column, Done, Inbound, ServerError, Statement, Step, WireError};

/// Reads the answers of one connection, in the order of its commands.
///
/// Every command ends with Sync or is a Query, so that every answer ends with ReadyForQuery.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    answer: Answer,
    statements: u64,
}

/// What is known of the answer that is being read.
#[derive(Debug, Default)]
struct Answer {
    error: Option<ServerError>,
    affected: u64,
    /// Only a simple query describes its rows as they come, and they come as text.
    text_rows: bool,
    params: Option<Box<[u32]>>,
    columns: Option<Box<[Column]>>,
}

impl Answers {
    /// Goes on to the next row, or to the end of the command.
    ///
    /// Rows of a simple query are text, which [`super::text_fields`] reads and [`super::row`] does not.
    ///
    /// # Errors
    /// - [`WireError::Server`]: the command was refused. Its answer is complete then, and the next
    ///   step belongs to the next command, unless the error is fatal.
    /// - [`WireError::Protocol`]: nothing can be told any more of what follows. COPY from or to
    ///   the client is such a case: it is not supported.
    pub(crate) fn step(&mut self, inbound: &mut Inbound) -> Result<Step, WireError> {
        loop {
            let Some((kind, body)) = message::first(inbound.unread())? else {
                return Ok(Step::More);
            };
            let end = body.end;
            let row = inbound.range(body.clone());
            let taken = self.answer.take(kind, &inbound.unread()[body]);
            inbound.consume(end);
            // CommandComplete.
            self.statements += u64::from(kind == b'C');
            match taken? {
                Taken::Passed => {}
                Taken::Row => return Ok(Step::Row(row)),
                Taken::TextRow => return Ok(Step::TextRow(row)),
                Taken::Ready { in_transaction } => {
                    let answer = std::mem::take(&mut self.answer);
                    return match answer.error {
                        Some(error) => Err(error.into()),
                        None => Ok(Step::Done(Done {
                            affected: answer.affected,
                            in_transaction,
                        })),
                    };
                }
            }
        }
    }

    /// Statements that have succeeded.
    pub(crate) fn statements(&self) -> u64 {
        self.statements
    }

    /// The answer to [`super::prepare`]; none while more bytes are needed.
    ///
    /// # Errors
    /// Those of [`Self::step`].
    pub(crate) fn prepared(
        &mut self,
        inbound: &mut Inbound,
        id: u32,
    ) -> Result<Option<Statement>, WireError> {
        loop {
            let Some((kind, body)) = message::first(inbound.unread())? else {
                return Ok(None);
            };
            let end = body.end;
            let taken = self.answer.describe(kind, &inbound.unread()[body]);
            inbound.consume(end);
            if taken? == Described::Completely {
                let answer = std::mem::take(&mut self.answer);
                return answer.into_statement(id).map(Some);
            }
        }
    }
}

enum Taken {
    Passed,
    Row,
    TextRow,
    Ready { in_transaction: bool },
}

#[derive(PartialEq, Eq)]
enum Described {
    Partly,
    Completely,
}

impl Answer {
    #[inline]
    fn take(&mut self, kind: u8, body: &[u8]) -> Result<Taken, WireError> {
        match kind {
            b'D' if !self.text_rows => return Ok(Taken::Row),
            b'D' => return Ok(Taken::TextRow),
            b'C' => {
                self.affected = self.affected.saturating_add(message::affected(body)?);
                self.text_rows = false;
            }
            b'Z' => {
                let in_transaction = message::in_transaction(body)?;
                return Ok(Taken::Ready { in_transaction });
            }
            b'T' => self.text_rows = true,
            // BindComplete, EmptyQueryResponse, PortalSuspended.
            b'2' | b'I' | b's' => {}
            b'G' | b'H' | b'W' => {
                return Err(WireError::protocol(
                    "COPY from or to the client is not supported here",
                ));
            }
            _ => self.pass(kind, body)?,
        }
        Ok(Taken::Passed)
    }

    fn describe(&mut self, kind: u8, body: &[u8]) -> Result<Described, WireError> {
        match kind {
            b't' => self.params = Some(message::params(body)?),
            b'T' => self.columns = Some(message::columns(body)?),
            b'n' => self.columns = Some(Box::default()),
            b'Z' => {
                message::in_transaction(body)?;
                return Ok(Described::Completely);
            }
            _ => self.pass(kind, body)?,
        }
        Ok(Described::Partly)
    }

    /// What may come within any answer.
    fn pass(&mut self, kind: u8, body: &[u8]) -> Result<(), WireError> {
        match kind {
            b'E' => {
                let error = message::server_error(body)?;
                if error.fatal {
                    return Err(error.into());
                }
                if self.error.is_none() {
                    self.error = Some(error);
                }
                Ok(())
            }
            // ParseComplete, CloseComplete, NoData, NoticeResponse, ParameterStatus,
            // NotificationResponse.
            b'1' | b'3' | b'n' | b'N' | b'S' | b'A' => Ok(()),
            _ => Err(message::unexpected(kind)),
        }
    }

    fn into_statement(self, id: u32) -> Result<Statement, WireError> {
        match (self.error, self.params, self.columns) {
            (Some(error), ..) => Err(error.into()),
            (None, Some(params), Some(columns)) => Ok(Statement {
                id,
                params,
                columns,
            }),
            _ => Err(WireError::protocol(
                "the server did not describe the statement that it prepared",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::message::{built, refusal};
    use super::*;

    const READY: &[u8] = b"Z\0\0\0\x05I";
    const BOUND: &[u8] = b"2\0\0\0\x04";
    const SELECTED_2: &[u8] = b"C\0\0\0\x0dSELECT 2\0";
    const NOTICE: &[u8] = b"N\0\0\0\x17SNOTICE\0Mlook out\0\0";
    /// One column, `x`, of type integer.
    const ONE_INTEGER: &[u8] =
        b"T\0\0\0\x1a\0\x01x\0\0\0\0\0\0\0\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0";

    fn arrived(parts: &[&[u8]]) -> Inbound {
        let mut inbound = Inbound::default();
        inbound.extend(&parts.concat());
        inbound
    }

    fn row(value: u8) -> Vec<u8> {
        built(b'D', &[0, 1, 0, 0, 0, 1, value])
    }

    /// Bodies of the rows, then how the command ended.
    fn read(
        answers: &mut Answers,
        inbound: &mut Inbound,
    ) -> (Vec<Vec<u8>>, Result<Step, WireError>) {
        let mut rows = Vec::new();
        loop {
            match answers.step(inbound) {
                Ok(Step::Row(range)) => rows.push(inbound.slice(range).to_vec()),
                end => return (rows, end),
            }
        }
    }

    fn done(affected: u64, in_transaction: bool) -> Step {
        Step::Done(Done {
            affected,
            in_transaction,
        })
    }

    fn server(result: Result<Step, WireError>) -> ServerError {
        match result {
            Err(WireError::Server(error)) => *error,
            other => panic!("not the server's error: {other:?}"),
        }
    }

    fn prepare_answer() -> Vec<u8> {
        let params = b"t\0\0\0\x0e\0\x02\0\0\0\x17\0\0\x06\xa4";
        [&b"1\0\0\0\x04"[..], params, ONE_INTEGER, READY].concat()
    }

    fn assert_prepared(statement: &Statement) {
        assert_eq!(statement.id, 7);
        assert_eq!(*statement.params, [23, 1700]);
        let integer = Column {
            kind: 23,
            unsigned: false,
        };
        assert_eq!(*statement.columns, [integer]);
    }

    #[test]
    fn a_statement_is_described() {
        let mut inbound = arrived(&[&prepare_answer(), READY]);
        let mut answers = Answers::default();
        let statement = answers.prepared(&mut inbound, 7).unwrap();
        assert_prepared(&statement.expect("all of it is there"));
        assert_eq!(inbound.unread(), READY);
    }

    #[test]
    fn a_statement_is_described_byte_by_byte() {
        let answer = prepare_answer();
        let mut inbound = Inbound::default();
        let mut answers = Answers::default();
        let (last, others) = answer.split_last().unwrap();
        for byte in others {
            inbound.extend(&[*byte]);
            assert!(answers.prepared(&mut inbound, 7).unwrap().is_none());
        }
        inbound.extend(&[*last]);
        let statement = answers.prepared(&mut inbound, 7).unwrap();
        assert_prepared(&statement.expect("all of it is there"));
    }

    #[test]
    fn a_statement_without_rows_has_no_columns() {
        let parts = [&b"1\0\0\0\x04t\0\0\0\x06\0\0n\0\0\0\x04"[..], READY];
        let mut inbound = arrived(&parts);
        let statement = Answers::default().prepared(&mut inbound, 1).unwrap();
        let statement = statement.expect("all of it is there");
        assert!(statement.params.is_empty() && statement.columns.is_empty());
    }

    #[test]
    fn a_statement_that_is_refused_leaves_the_next_one_alone() {
        let error = refusal("ERROR", "42P01", "relation \"x\" does not exist");
        let mut inbound = arrived(&[&error, READY, &prepare_answer(), READY]);
        let mut answers = Answers::default();
        let refused = answers.prepared(&mut inbound, 6).unwrap_err();
        assert!(matches!(refused, WireError::Server(error) if error.sqlstate == "42P01"));
        let statement = answers.prepared(&mut inbound, 7).unwrap();
        assert_prepared(&statement.expect("all of it is there"));
        let described_by_none = answers.prepared(&mut inbound, 8);
        assert!(matches!(described_by_none, Err(WireError::Protocol(_))));
    }

    #[test]
    fn rows_come_one_by_one_with_notices_between_them() {
        let status = built(b'S', b"TimeZone\0UTC\0");
        let told = built(b'A', b"\0\0\0\x01channel\0payload\0");
        let parts = [BOUND, NOTICE, &row(1), &status, &row(2), &told, SELECTED_2];
        let mut inbound = arrived(&parts);
        inbound.extend(b"Z\0\0\0\x05T");
        let (rows, end) = read(&mut Answers::default(), &mut inbound);
        assert_eq!(rows, [&row(1)[5..], &row(2)[5..]]);
        assert_eq!(end.unwrap(), done(2, true));
        assert!(inbound.unread().is_empty());
    }

    #[test]
    fn half_a_message_stays_where_it_is() {
        let row = row(9);
        let mut inbound = arrived(&[BOUND, &row[..8]]);
        let mut answers = Answers::default();
        assert_eq!(answers.step(&mut inbound).unwrap(), Step::More);
        assert_eq!(inbound.unread(), &row[..8]);
        inbound.extend(&row[8..]);
        let (rows, end) = read(&mut answers, &mut inbound);
        assert_eq!(rows, [&row[5..]]);
        assert_eq!(end.unwrap(), Step::More);
    }

    #[test]
    fn an_error_ends_its_command_and_no_other() {
        let error = refusal("ERROR", "23505", "duplicate key");
        let failed = b"Z\0\0\0\x05E";
        let parts = [
            BOUND,
            &row(1),
            &error,
            failed,
            BOUND,
            &row(2),
            SELECTED_2,
            READY,
        ];
        let mut inbound = arrived(&parts);
        let mut answers = Answers::default();
        let (rows, end) = read(&mut answers, &mut inbound);
        assert_eq!(rows.len(), 1);
        let error = server(end);
        assert_eq!(error.sqlstate, "23505");
        assert!(!error.fatal);
        let (rows, end) = read(&mut answers, &mut inbound);
        assert_eq!(rows, [&row(2)[5..]]);
        assert_eq!(end.unwrap(), done(2, false));
    }

    #[test]
    fn an_error_is_held_back_until_the_server_is_ready() {
        let mut inbound = arrived(&[&refusal("ERROR", "40001", "again")]);
        let mut answers = Answers::default();
        assert_eq!(answers.step(&mut inbound).unwrap(), Step::More);
        inbound.extend(READY);
        assert_eq!(server(answers.step(&mut inbound)).sqlstate, "40001");
    }

    #[test]
    fn a_fatal_error_is_told_at_once() {
        for severity in ["FATAL", "PANIC"] {
            let mut inbound = arrived(&[&refusal(severity, "57P01", "shutting down")]);
            assert!(server(Answers::default().step(&mut inbound)).fatal);
        }
    }

    #[test]
    fn a_simple_query_sums_up_and_shows_its_rows_as_text() {
        let inserted = built(b'C', b"INSERT 0 3\0");
        let begun = built(b'C', b"BEGIN\0");
        let empty = built(b'I', b"");
        let parts = [
            &begun[..],
            ONE_INTEGER,
            &row(1),
            SELECTED_2,
            &inserted,
            &empty,
            READY,
        ];
        let mut inbound = arrived(&parts);
        let mut answers = Answers::default();
        let Step::TextRow(range) = answers.step(&mut inbound).unwrap() else {
            panic!("no row");
        };
        assert_eq!(inbound.slice(range), &row(1)[5..]);
        assert_eq!(answers.step(&mut inbound).unwrap(), done(5, false));

        let mut inbound = arrived(&[&row(1), SELECTED_2, READY]);
        let (rows, end) = read(&mut answers, &mut inbound);
        assert_eq!(rows.len(), 1);
        assert_eq!(end.unwrap(), done(2, false));
    }

    #[test]
    fn what_has_no_place_in_an_answer_is_an_error() {
        let cases = [
            (built(b'G', b"\0\0\0"), "COPY"),
            (built(b'H', b"\0\0\0"), "COPY"),
            (built(b'R', b"\0\0\0\0"), "type 'R'"),
            (built(b'Z', b""), "unknown state"),
            (built(b'C', b"SELECT 1"), "ends before"),
            (b"D\0\0\0\x03".to_vec(), "3 bytes"),
        ];
        for (bytes, part) in cases {
            let error = Answers::default().step(&mut arrived(&[&bytes]));
            let Err(WireError::Protocol(message)) = &error else {
                panic!("{bytes:?} was taken for {error:?}");
            };
            assert!(message.contains(part), "{message}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(
            raw in prop::collection::vec(any::<u8>(), 0..60),
            messages in prop::collection::vec((prop::sample::select(b"123ACDEGINSTZnst".to_vec()), prop::collection::vec(any::<u8>(), 0..30)), 0..8),
            prepared in any::<bool>(),
        ) {
            let framed: Vec<u8> = messages.iter().flat_map(|(kind, body)| built(*kind, body)).collect();
            let mut inbound = arrived(&[&framed, &raw]);
            let mut answers = Answers::default();
            let ended = (0..=messages.len() + raw.len()).any(|_| {
                if prepared {
                    !matches!(answers.prepared(&mut inbound, 0), Ok(Some(_)))
                } else {
                    matches!(answers.step(&mut inbound), Ok(Step::More) | Err(WireError::Protocol(_)))
                }
            });
            prop_assert!(ended, "the bytes were read more than once");
        }
    }
}
