//! The time as documents and file names write it.

use jiff::Timestamp;

/// RFC 3339 in UTC, to the second.
pub(crate) fn now() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Four characters that no other trial of the same second has.
pub(crate) fn suffix() -> String {
    use std::hash::{BuildHasher, Hasher};
    // The standard library seeds each of these from the system's random numbers.
    let mut random = std::hash::RandomState::new().build_hasher().finish();
    let alphabet = b"abcdefghijkmnpqrstuvwxyz23456789";
    (0..4)
        .map(|_| {
            let character = alphabet[(random % 32) as usize];
            random /= 32;
            char::from(character)
        })
        .collect()
}

/// The same without characters that file names dislike.
pub(crate) fn file_stamp() -> String {
    Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string()
}
