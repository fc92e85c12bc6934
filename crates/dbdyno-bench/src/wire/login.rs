//! From an open socket to a session that takes commands, as a protocol without I/O.

use super::{Inbound, WireError};

/// What the caller has to do before the next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoginStep {
    /// Read more.
    More,
    /// Send what was appended to the buffer, then step again.
    Send,
    /// Send what was appended, speak TLS from here on, then step again.
    StartTls,
    Ready,
}

/// A login under way: [`super::postgres::Login`] or [`super::mysql::Login`].
pub(crate) trait Login {
    /// Takes what has arrived and appends what is to be sent.
    ///
    /// # Errors
    /// The server refuses, or asks for what is not spoken here.
    fn step(&mut self, inbound: &mut Inbound, out: &mut Vec<u8>) -> Result<LoginStep, WireError>;
}
