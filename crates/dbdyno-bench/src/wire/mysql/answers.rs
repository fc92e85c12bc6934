//! Takes the answers to commands apart, one row or one command's end at a time.

use std::collections::{HashMap, VecDeque};
use std::mem;
use std::ops::Range;

use super::packet::{self, Cursor};
use super::prepared::column_definition;
use super::response::{self, End};
use crate::wire::{Column, Done, Inbound, Statement, Step, WireError};

/// What was agreed on at login, as far as it shapes the answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Capabilities {
    /// CLIENT_DEPRECATE_EOF: no EOF packets, and OK at the end of a result set.
    pub(crate) deprecate_eof: bool,
    /// MARIADB_CLIENT_CACHE_METADATA: column definitions come only where they differ from the last
    /// ones of the statement.
    pub(crate) cache_metadata: bool,
}

/// The decoder of answers.
///
/// Commands may be pipelined: [`Self::expect`] is told of each one, in the order in which they are
/// sent, and [`Self::step`] goes through their answers in that order. Not told of are commands
/// without an answer ([`super::close`], [`super::quit`]) and [`super::prepare`], whose answer
/// [`Self::prepared`] takes when it is the next one in the buffer.
///
/// Nothing is allocated for an answer once as many commands were outstanding, and as many columns
/// wide, as ever will be.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    pub(super) capabilities: Capabilities,
    /// For each command whose answer has not ended, the id of the statement that it executes.
    expected: VecDeque<Option<u32>>,
    phase: Phase,
    affected: u64,
    /// Definitions of the current result set, if they are not those of the statement.
    columns: Vec<Column>,
    defined: bool,
    /// Where the server leaves definitions out: the last ones that it sent with an answer.
    last: HashMap<u32, Vec<Column>>,
    file_sequence: u8,
    statements: u64,
}

/// Which packet comes next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Phase {
    /// OK, LOCAL INFILE, or the number of columns.
    #[default]
    Response,
    Definitions {
        left: u64,
    },
    DefinitionsEnd,
    Rows,
}

impl Answers {
    pub(crate) fn new(capabilities: Capabilities) -> Self {
        Self {
            capabilities,
            ..Self::default()
        }
    }

    /// A command was queued: the execution of a statement, or one whose rows, if there are any, come
    /// as text.
    pub(crate) fn expect(&mut self, statement: Option<&Statement>) {
        self.expected.push_back(statement.map(|it| it.id));
    }

    /// Takes at most one row or one command's end.
    ///
    /// A row's columns are those of [`Self::columns`].
    ///
    /// # Errors
    /// The server refuses the command, whose answer ends with it; or it sends what is not
    /// understood here, after which nothing else will be.
    pub(crate) fn step(&mut self, inbound: &mut Inbound) -> Result<Step, WireError> {
        loop {
            let Some(packet) = packet::take(inbound)? else {
                return Ok(Step::More);
            };
            let payload = inbound.slice(packet.payload.clone());
            let Some(&first) = payload.first() else {
                return Err(WireError::protocol("the server sent an empty packet"));
            };
            // Neither a row nor a column definition begins like this.
            if first == response::ERR {
                return Err(self.failed(payload));
            }
            let Some(&statement) = self.expected.front() else {
                return Err(WireError::protocol(
                    "the server answered where nothing was asked",
                ));
            };
            let step = match self.phase {
                Phase::Response => self.response(statement, payload, packet.sequence)?,
                Phase::Definitions { left } => self.definition(statement, payload, left)?,
                Phase::DefinitionsEnd => self.definitions_end(payload)?,
                Phase::Rows => self.row(statement, payload, packet.payload)?,
            };
            if let Some(step) = step {
                return Ok(step);
            }
        }
    }

    /// Columns of the rows that [`Self::step`] hands out, until it is called again. Mostly they are
    /// those of the statement; but a server may make up its mind about types when it sees the
    /// parameters, and what a procedure returns it knows no earlier.
    pub(crate) fn columns<'a>(&'a self, statement: &'a Statement) -> &'a [Column] {
        if self.defined {
            &self.columns
        } else {
            &statement.columns
        }
    }

    /// Number of the first packet of a file, after [`Step::SendFile`].
    pub(crate) fn file_sequence(&self) -> u8 {
        self.file_sequence
    }

    fn response(
        &mut self,
        statement: Option<u32>,
        payload: &[u8],
        sequence: u8,
    ) -> Result<Option<Step>, WireError> {
        match payload[0] {
            response::OK => Ok(self.end(response::ok(payload)?)),
            response::LOCAL_INFILE => {
                self.file_sequence = sequence.wrapping_add(1);
                Ok(Some(Step::SendFile))
            }
            _ => {
                self.column_count(statement, payload)?;
                Ok(None)
            }
        }
    }

    fn column_count(&mut self, statement: Option<u32>, payload: &[u8]) -> Result<(), WireError> {
        let mut cursor = Cursor::new(payload);
        let left = cursor.lenenc()?;
        if left == 0 {
            return Err(WireError::protocol("the server sent rows without columns"));
        }
        self.columns.clear();
        self.defined = !self.capabilities.cache_metadata || cursor.u8()? != 0;
        if self.defined {
            self.phase = Phase::Definitions { left };
            return Ok(());
        }
        if let Some(last) = statement.and_then(|id| self.last.get(&id)) {
            self.columns.extend_from_slice(last);
            self.defined = true;
        }
        self.phase = self.after_definitions();
        Ok(())
    }

    fn definition(
        &mut self,
        statement: Option<u32>,
        payload: &[u8],
        left: u64,
    ) -> Result<Option<Step>, WireError> {
        if let Some(id) = statement {
            self.columns.push(column_definition(payload)?);
            if left == 1 && self.capabilities.cache_metadata {
                let last = self.last.entry(id).or_default();
                last.clear();
                last.extend_from_slice(&self.columns);
            }
        }
        self.phase = if left > 1 {
            Phase::Definitions { left: left - 1 }
        } else {
            self.after_definitions()
        };
        Ok(None)
    }

    fn after_definitions(&self) -> Phase {
        if self.capabilities.deprecate_eof {
            Phase::Rows
        } else {
            Phase::DefinitionsEnd
        }
    }

    fn definitions_end(&mut self, payload: &[u8]) -> Result<Option<Step>, WireError> {
        if payload[0] != response::EOF {
            return Err(WireError::protocol(
                "the server sent something other than EOF after column definitions",
            ));
        }
        self.phase = Phase::Rows;
        Ok(None)
    }

    fn row(
        &mut self,
        statement: Option<u32>,
        payload: &[u8],
        range: Range<usize>,
    ) -> Result<Option<Step>, WireError> {
        // A text row that begins like this has 16 MiB, and does not come as far as this.
        if payload[0] == response::EOF {
            let end = if self.capabilities.deprecate_eof {
                response::ok(payload)?
            } else {
                response::eof(payload)?
            };
            return Ok(self.end(end));
        }
        match statement {
            None => Ok(Some(Step::TextRow(range))),
            Some(_) if payload[0] == 0 => Ok(Some(Step::Row(range))),
            Some(_) => Err(WireError::protocol(
                "the server sent a row that is not in binary form",
            )),
        }
    }

    /// Statements that have succeeded, each one of a text counted.
    pub(crate) fn statements(&self) -> u64 {
        self.statements
    }

    /// A result set has ended, and with it the answer unless another follows.
    fn end(&mut self, end: End) -> Option<Step> {
        self.affected = self.affected.saturating_add(end.affected);
        // A prepared statement is one, however many result sets a procedure makes of it.
        let text = matches!(self.expected.front(), Some(None));
        self.statements += u64::from(text || !end.more_results());
        self.phase = Phase::Response;
        if end.more_results() {
            return None;
        }
        self.expected.pop_front();
        Some(Step::Done(Done {
            affected: mem::take(&mut self.affected),
            in_transaction: end.in_transaction(),
        }))
    }

    /// An error that answers no command is a server's last word.
    fn failed(&mut self, payload: &[u8]) -> WireError {
        self.affected = 0;
        self.phase = Phase::Response;
        let unasked = self.expected.pop_front().is_none();
        match response::err(payload) {
            Ok(mut error) => {
                error.fatal |= unasked;
                error.into()
            }
            Err(error) => error,
        }
    }
}

#[cfg(test)]
#[path = "answers_tests.rs"]
mod tests;
