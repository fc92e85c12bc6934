//! MySQL's client/server protocol, with binary rows and parameters.
//!
//! Commands are appended to a buffer; [`Answers`] takes what comes back apart, in the order of the
//! commands. MySQL 8.0 and later and MariaDB 10.6 and later are spoken to; [`Login`] finds out
//! which of them it is, and what both sides can do.

mod answers;
mod auth;
mod handshake;
mod login;
mod numeric;
mod packet;
mod params;
mod prepared;
mod response;
mod row;
#[cfg(test)]
mod testing;
mod types;

use super::params::Writer;
use super::{Column, Statement, WireError};

pub(crate) use answers::Answers;
pub use handshake::{Flavour, Server};
pub(crate) use login::{Login, Tls};
pub(crate) use params::Params;
pub(crate) use row::{Row, text_fields};

const COM_QUIT: u8 = 0x01;
const COM_QUERY: u8 = 0x03;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;

/// Longest packet of a file, far below what any server takes at once.
const FILE_PACKET: usize = 64 * 1024;

/// Asks for a statement, which [`Answers::prepared`] takes. Placeholders are `?`.
pub(crate) fn prepare(out: &mut Vec<u8>, sql: &str) {
    command(out, COM_STMT_PREPARE, sql.as_bytes());
}

/// Appends one execution of a statement.
///
/// # Errors
/// The parameters are not those of the statement. Nothing is appended then.
pub(crate) fn execute(
    out: &mut Vec<u8>,
    statement: &Statement,
    fill: impl FnOnce(&mut super::Params<'_>),
) -> Result<(), WireError> {
    const CURSOR_TYPE_NO_CURSOR: u8 = 0;
    const ITERATION_COUNT: u32 = 1;
    let start = packet::begin(out);
    out.push(COM_STMT_EXECUTE);
    out.extend_from_slice(&statement.id.to_le_bytes());
    out.push(CURSOR_TYPE_NO_CURSOR);
    out.extend_from_slice(&ITERATION_COUNT.to_le_bytes());
    let params = Params::new(out, statement.params.len());
    let mut params = super::Params(Writer::MySql(params));
    fill(&mut params);
    if let Err(error) = params.finish() {
        out.truncate(start);
        return Err(error);
    }
    packet::finish(out, start, 0);
    Ok(())
}

/// Appends one or several statements as text.
pub(crate) fn query(out: &mut Vec<u8>, sql: &str) {
    command(out, COM_QUERY, sql.as_bytes());
}

/// Says good-bye. The server does not answer but closes the connection.
pub(crate) fn quit(out: &mut Vec<u8>) {
    command(out, COM_QUIT, &[]);
}

/// What another connection has to send in order to stop the statement that this one runs.
pub(crate) fn kill_query_sql(connection_id: u32) -> String {
    format!("KILL QUERY {connection_id}")
}

/// Appends a part of the file that [`Step::SendFile`](super::Step::SendFile) asks for. `sequence`
/// is [`Answers::file_sequence`] for the first part, and counted up here.
pub(crate) fn file_chunk(out: &mut Vec<u8>, sequence: &mut u8, data: &[u8]) {
    for part in data.chunks(FILE_PACKET) {
        *sequence = packet::append(out, *sequence, |out| out.extend_from_slice(part));
    }
}

/// Ends the file.
pub(crate) fn file_end(out: &mut Vec<u8>, sequence: &mut u8) {
    *sequence = packet::append(out, *sequence, |_| {});
}

/// A row that [`Answers::step`] has found, of the columns that [`Answers::columns`] tells.
///
/// # Errors
/// It ends before its values begin, or is not in binary form.
pub(crate) fn row<'a>(payload: &'a [u8], columns: &'a [Column]) -> Result<Row<'a>, WireError> {
    Row::new(payload, columns)
}

fn command(out: &mut Vec<u8>, code: u8, body: &[u8]) {
    packet::append(out, 0, |out| {
        out.push(code);
        out.extend_from_slice(body);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statement(params: usize) -> Statement {
        Statement {
            id: 0x0102_0304,
            params: vec![0; params].into_boxed_slice(),
            columns: Box::default(),
        }
    }

    #[test]
    fn commands_are_packets() {
        let mut out = Vec::new();
        prepare(&mut out, "SELECT ?");
        query(&mut out, "BEGIN");
        quit(&mut out);
        let expected = [
            &b"\x09\0\0\0\x16SELECT ?"[..],
            b"\x06\0\0\0\x03BEGIN",
            b"\x01\0\0\0\x01",
        ];
        assert_eq!(out, expected.concat());
        assert_eq!(kill_query_sql(7), "KILL QUERY 7");
    }

    #[test]
    fn an_execution_with_parameters() {
        let mut out = vec![0xee];
        execute(&mut out, &statement(2), |params| {
            params.null().text("ab");
        })
        .unwrap();
        let expected = [
            &b"\xee\x13\0\0\0"[..],
            b"\x17\x04\x03\x02\x01\0\x01\0\0\0",
            b"\x01\x01\x06\0\xfd\0\x02ab",
        ];
        assert_eq!(out, expected.concat());
    }

    #[test]
    fn an_execution_without_parameters_says_nothing_of_them() {
        let mut out = Vec::new();
        execute(&mut out, &statement(0), |_| {}).unwrap();
        assert_eq!(out, b"\x0a\0\0\0\x17\x04\x03\x02\x01\0\x01\0\0\0");
    }

    #[test]
    fn an_execution_that_fails_leaves_nothing_behind() {
        let mut out = vec![1, 2, 3];
        let few = execute(&mut out, &statement(2), |params| {
            params.int(1);
        });
        assert!(matches!(few, Err(WireError::Type(_))));
        let array = execute(&mut out, &statement(1), |params| {
            params.ints([1].into_iter());
        });
        assert!(matches!(array, Err(WireError::Type(_))));
        assert_eq!(out, [1, 2, 3]);
    }

    #[test]
    fn a_file_is_sent_in_parts() {
        let mut out = Vec::new();
        let mut sequence = 2;
        file_chunk(&mut out, &mut sequence, &vec![b'x'; FILE_PACKET + 1]);
        file_chunk(&mut out, &mut sequence, b"");
        file_chunk(&mut out, &mut sequence, b"yz");
        file_end(&mut out, &mut sequence);
        assert_eq!(sequence, 6);
        assert_eq!(out[..5], [0, 0, 1, 2, b'x']);
        let rest = b"\x01\0\0\x03x\x02\0\0\x04yz\0\0\0\x05";
        assert_eq!(out[packet::HEADER + FILE_PACKET..], *rest);
    }
}
