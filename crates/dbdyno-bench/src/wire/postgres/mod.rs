//! PostgreSQL's protocol 3.0, of which the extended query carries all values in binary.
//!
//! The functions here append commands, [`Answers`] reads what comes back. Every command but
//! [`terminate`] is answered up to one ReadyForQuery, so that any number can be under way.

mod answers;
mod authentication;
mod decode;
mod encode;
mod login;
mod message;
pub(crate) mod numeric;
mod numeric_text;
mod params;
mod row;
pub(crate) mod types;

pub(crate) use answers::Answers;
pub(crate) use login::{Login, Tls};
pub(crate) use params::Params;
pub(crate) use row::{Row, row, text_fields};

use super::params::Writer;
use super::{Statement, WireError};

const SYNC: &[u8] = b"S\0\0\0\x04";

/// Runs the unnamed portal to its end.
const EXECUTE: &[u8] = b"E\0\0\0\x09\0\0\0\0\0";

/// One format code, binary, for however many values there are.
const ALL_BINARY: &[u8] = b"\0\x01\0\x01";

const CANCEL_REQUEST: i32 = 80_877_102;

/// Prepares a statement with placeholders `$1`, `$2` and so on, for [`Answers::prepared`]. Of text
/// with a zero byte in it the server refuses the message.
pub(crate) fn prepare(out: &mut Vec<u8>, id: u32, sql: &str) {
    tagged(out, b'P', |out| {
        name(out, id);
        string(out, sql);
        // No types are prescribed.
        out.extend_from_slice(&[0, 0]);
    });
    tagged(out, b'D', |out| {
        out.push(b'S');
        name(out, id);
    });
    out.extend_from_slice(SYNC);
}

/// Executes a statement with the parameters that `fill` gives.
///
/// # Errors
/// [`WireError::Type`]: a parameter does not fit its type, or their number or size is wrong. `out`
/// is then as it was.
pub(crate) fn execute(
    out: &mut Vec<u8>,
    statement: &Statement,
    fill: impl FnOnce(&mut super::Params<'_>),
) -> Result<(), WireError> {
    let start = out.len();
    let bound = tagged(out, b'B', |out| bind(out, statement, fill));
    let bound = bound.and_then(|()| bounded(out.len() - start));
    if bound.is_ok() {
        out.extend_from_slice(EXECUTE);
        out.extend_from_slice(SYNC);
    } else {
        out.truncate(start);
    }
    bound
}

fn bind(
    out: &mut Vec<u8>,
    statement: &Statement,
    fill: impl FnOnce(&mut super::Params<'_>),
) -> Result<(), WireError> {
    let count = u16::try_from(statement.params.len())
        .map_err(|_| WireError::Type("a statement has more than 65535 parameters".to_owned()))?;
    // The unnamed portal.
    out.push(0);
    name(out, statement.id);
    out.extend_from_slice(ALL_BINARY);
    out.extend_from_slice(&count.to_be_bytes());
    let params = Params::new(out, &statement.params);
    let mut params = super::Params(Writer::Postgres(params));
    fill(&mut params);
    params.finish()?;
    out.extend_from_slice(ALL_BINARY);
    Ok(())
}

/// The server would close the connection over a message that is longer.
fn bounded(length: usize) -> Result<(), WireError> {
    if length <= message::LONGEST {
        return Ok(());
    }
    Err(WireError::Type(format!(
        "parameters of {length} bytes are more than one execution can carry"
    )))
}

/// Runs statements as text, as which their rows come back.
pub(crate) fn query(out: &mut Vec<u8>, sql: &str) {
    tagged(out, b'Q', |out| string(out, sql));
}

/// Says goodbye. The server closes the connection without an answer.
pub(crate) fn terminate(out: &mut Vec<u8>) {
    out.extend_from_slice(b"X\0\0\0\x04");
}

/// What to send on a connection of its own, first and last, with the key of [`Login::key`].
pub(crate) fn cancel_request(pid: i32, secret: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(12 + secret.len());
    framed(&mut out, |out| {
        out.extend_from_slice(&CANCEL_REQUEST.to_be_bytes());
        out.extend_from_slice(&pid.to_be_bytes());
        out.extend_from_slice(secret);
    });
    out
}

/// Appends a message with its type and its length.
fn tagged<T>(out: &mut Vec<u8>, kind: u8, body: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    out.push(kind);
    framed(out, body)
}

/// Appends what `body` appends, and before that its length, which counts itself.
fn framed<T>(out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    let result = body(out);
    // A length that the field cannot hold is one that the server refuses anyway.
    let length = i32::try_from(out.len() - start).unwrap_or(i32::MAX);
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    result
}

fn string(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}

/// `s` and the number, as a string of the protocol.
fn name(out: &mut Vec<u8>, id: u32) {
    let mut digits = [0; 10];
    let mut first = digits.len();
    let mut rest = id;
    loop {
        first -= 1;
        digits[first] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.push(b's');
    out.extend_from_slice(&digits[first..]);
    out.push(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statement(id: u32, params: &[u32]) -> Statement {
        Statement {
            id,
            params: params.into(),
            columns: Box::default(),
        }
    }

    #[test]
    fn preparing_parses_and_describes() {
        let mut out = b"before".to_vec();
        prepare(&mut out, 3, "SELECT $1");
        let expected = b"beforeP\0\0\0\x13s3\0SELECT $1\0\0\0D\0\0\0\x08Ss3\0S\0\0\0\x04";
        assert_eq!(out, expected);
    }

    #[test]
    fn executing_binds_in_binary() {
        let mut out = b"before".to_vec();
        let statement = statement(12, &[23]);
        execute(&mut out, &statement, |params| {
            params.int(1);
        })
        .unwrap();
        let expected = [
            &b"beforeB\0\0\0\x1b\0s12\0\0\x01\0\x01\0\x01\0\0\0\x04\0\0\0\x01\0\x01\0\x01"[..],
            b"E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04",
        ];
        assert_eq!(out, expected.concat());
    }

    #[test]
    fn executing_needs_no_parameters() {
        let mut out = Vec::new();
        execute(&mut out, &statement(0, &[]), |_| {}).unwrap();
        let expected = [
            &b"B\0\0\0\x12\0s0\0\0\x01\0\x01\0\0\0\x01\0\x01"[..],
            EXECUTE,
            SYNC,
        ];
        assert_eq!(out, expected.concat());
    }

    #[test]
    fn what_cannot_be_executed_leaves_nothing_behind() {
        let mut out = b"before".to_vec();
        let refused = execute(&mut out, &statement(1, &[21, 21]), |params| {
            params.int(1).int(70_000);
        });
        let error = refused.unwrap_err().to_string();
        assert_eq!(
            error,
            "parameter 2 is of type smallint, which 70000 does not fit"
        );
        assert_eq!(out, b"before");

        let refused = execute(&mut out, &statement(1, &[21, 21]), |params| {
            params.int(1);
        });
        assert!(matches!(refused, Err(WireError::Type(_))));
        assert_eq!(out, b"before");
    }

    #[test]
    fn more_than_a_message_holds_is_refused() {
        assert!(bounded(1 << 30).is_ok());
        assert!(matches!(bounded((1 << 30) + 1), Err(WireError::Type(_))));
    }

    #[test]
    fn the_other_commands_are_as_documented() {
        let mut out = Vec::new();
        query(&mut out, "BEGIN; SELECT 1");
        terminate(&mut out);
        let expected = [&b"Q\0\0\0\x14BEGIN; SELECT 1\0"[..], b"X\0\0\0\x04"];
        assert_eq!(out, expected.concat());
    }

    #[test]
    fn cancelling_sends_the_whole_key() {
        let request = cancel_request(258, b"secret!");
        assert_eq!(request, b"\0\0\0\x13\x04\xd2\x16\x2e\0\0\x01\x02secret!");
    }
}
