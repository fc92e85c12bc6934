//! The protocol's generic response packets: OK, EOF and ERR.

use super::packet::Cursor;
use crate::wire::{ServerError, WireError};

/// First bytes of a response.
pub(super) const OK: u8 = 0x00;
pub(super) const LOCAL_INFILE: u8 = 0xfb;
/// Of OK too, where it ends a result set.
pub(super) const EOF: u8 = 0xfe;
pub(super) const ERR: u8 = 0xff;

const SERVER_STATUS_IN_TRANS: u16 = 0x0001;
const SERVER_MORE_RESULTS_EXISTS: u16 = 0x0008;

/// What comes before a handshake has no SQLSTATE.
const GENERAL_ERROR: &[u8] = b"HY000";

/// What OK and EOF tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct End {
    pub(super) affected: u64,
    status: u16,
}

impl End {
    pub(super) fn more_results(self) -> bool {
        self.status & SERVER_MORE_RESULTS_EXISTS != 0
    }

    pub(super) fn in_transaction(self) -> bool {
        self.status & SERVER_STATUS_IN_TRANS != 0
    }
}

pub(super) fn ok(payload: &[u8]) -> Result<End, WireError> {
    let mut cursor = Cursor::new(payload);
    cursor.u8()?;
    let affected = cursor.lenenc()?;
    let _last_insert_id = cursor.lenenc()?;
    let status = cursor.u16()?;
    Ok(End { affected, status })
}

pub(super) fn eof(payload: &[u8]) -> Result<End, WireError> {
    let mut cursor = Cursor::new(payload);
    cursor.u8()?;
    let _warnings = cursor.u16()?;
    let status = cursor.u16()?;
    Ok(End {
        affected: 0,
        status,
    })
}

pub(super) fn err(payload: &[u8]) -> Result<ServerError, WireError> {
    let mut cursor = Cursor::new(payload);
    cursor.u8()?;
    let number = cursor.u16()?;
    let (sqlstate, message) = match cursor.rest() {
        [b'#', rest @ ..] if rest.len() >= 5 => rest.split_at(5),
        rest => (GENERAL_ERROR, rest),
    };
    Ok(ServerError {
        sqlstate: String::from_utf8_lossy(sqlstate).into_owned(),
        number: Some(number),
        message: String::from_utf8_lossy(message).into_owned(),
        hint: None,
        fatal: ends_connection(number),
    })
}

fn ends_connection(number: u16) -> bool {
    const SERVER_SHUTDOWN: u16 = 1053;
    const ABORTING_CONNECTION: u16 = 1152;
    const NET_WRITE_INTERRUPTED: u16 = 1161;
    // MariaDB's, and MySQL's.
    const CONNECTION_KILLED: u16 = 1927;
    const SESSION_WAS_KILLED: u16 = 3169;
    const CLIENT_INTERACTION_TIMEOUT: u16 = 4031;
    matches!(
        number,
        SERVER_SHUTDOWN | ABORTING_CONNECTION
            ..=NET_WRITE_INTERRUPTED
                | CONNECTION_KILLED
                | SESSION_WAS_KILLED
                | CLIENT_INTERACTION_TIMEOUT
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ok_tells_rows_and_status() {
        // 300 rows, last id 7, more results within a transaction, two warnings, a message.
        let end = ok(b"\x00\xfc\x2c\x01\x07\x09\x00\x02\x00Rows matched").unwrap();
        assert_eq!(end.affected, 300);
        assert!(end.more_results() && end.in_transaction());
        let end = ok(&[0xfe, 0, 0, 2, 0, 0, 0]).unwrap();
        assert!(!end.more_results() && !end.in_transaction());
        assert!(ok(&[0, 0, 0, 2]).is_err());
    }

    #[test]
    fn eof_has_warnings_before_its_status() {
        let end = eof(&[0xfe, 9, 0, 1, 0]).unwrap();
        assert!(end.in_transaction() && !end.more_results());
        assert!(eof(&[0xfe, 9, 0, 1]).is_err());
    }

    #[test]
    fn err_has_number_state_and_message() {
        let error = err(b"\xff\x26\x04#23000Duplicate entry").unwrap();
        assert_eq!(error.number, Some(1062));
        assert_eq!(error.sqlstate, "23000");
        assert_eq!(error.message, "Duplicate entry");
        assert!(!error.fatal);
        let early = err(b"\xff\x10\x04Too many connections").unwrap();
        assert_eq!(early.number, Some(1040));
        assert_eq!(early.sqlstate, "HY000");
        assert_eq!(early.message, "Too many connections");
        assert_eq!(err(b"\xff\x10\x04#230").unwrap().message, "#230");
        assert!(err(b"\xff\x10").is_err());
    }

    #[test]
    fn some_errors_end_the_connection() {
        let fatal = |number: u16| {
            let [low, high] = number.to_le_bytes();
            err(&[0xff, low, high]).unwrap().fatal
        };
        for number in [1053, 1152, 1158, 1161, 1927, 3169, 4031] {
            assert!(fatal(number), "{number}");
        }
        for number in [1052, 1151, 1162, 1205, 1213, 1317, 3168, 4032] {
            assert!(!fatal(number), "{number}");
        }
    }
}
