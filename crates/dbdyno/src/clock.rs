//! The time as documents and file names write it.

use jiff::Timestamp;

/// RFC 3339 in UTC, to the second.
pub(crate) fn now() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The same without characters that file names dislike.
pub(crate) fn file_stamp() -> String {
    Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string()
}
