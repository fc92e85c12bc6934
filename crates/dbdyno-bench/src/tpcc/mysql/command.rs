//! Several statements as one command, of which the server runs nothing behind the first that fails.

use std::fmt;

use crate::wire::{Done, Session, WireError};

/// Runs statements that end a transaction, and undoes what they had done where one of them fails.
///
/// The ROLLBACK is sent from here, because nobody else knows that it is needed: what a server says of
/// its transaction comes with an answer that is no error, and the last of those was given before.
pub(super) async fn run(session: &mut Session, sql: &str) -> Result<Done, WireError> {
    session.queue_text(sql);
    let ended = session.done().await;
    if let Err(WireError::Server(error)) = &ended
        && !error.fatal
    {
        session.queue_text("ROLLBACK");
        session.done().await?;
    }
    ended
}

/// The same within a transaction whose locks the statements rely on.
///
/// # Errors
/// There is none any more: each statement would be a transaction of its own.
pub(super) async fn run_within(session: &mut Session, sql: &str) -> Result<Done, WireError> {
    if !session.in_transaction() {
        return Err(WireError::protocol(
            "the server has ended a transaction by itself",
        ));
    }
    run(session, sql).await
}

/// An amount that is not negative.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cents(pub(super) i64);

impl fmt::Display for Cents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:02}", self.0 / 100, self.0 % 100)
    }
}

/// A text as SQL reads it, whatever sql_mode says of backslashes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Literal<'a>(pub(super) &'a str);

impl fmt::Display for Literal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.contains(['\'', '\\']) {
            return write!(f, "'{}'", self.0);
        }
        f.write_str("_utf8mb4 X'")?;
        for byte in self.0.bytes() {
            write!(f, "{byte:02X}")?;
        }
        f.write_str("'")
    }
}

/// Items with commas between them.
#[derive(Debug, Clone, Copy)]
pub(super) struct List<I>(pub(super) I);

impl<I: Iterator<Item: fmt::Display> + Clone> fmt::Display for List<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, item) in self.0.clone().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            write!(f, "{comma}{item}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_mean_themselves() {
        assert_eq!(Literal("BARBARBAR").to_string(), "'BARBARBAR'");
        assert_eq!(Literal("").to_string(), "''");
        assert_eq!(Literal("a'b").to_string(), "_utf8mb4 X'612762'");
        assert_eq!(Literal("\\").to_string(), "_utf8mb4 X'5C'");
    }

    #[test]
    fn amounts_and_lists_are_written_out() {
        assert_eq!(Cents(100).to_string(), "1.00");
        assert_eq!(Cents(7).to_string(), "0.07");
        assert_eq!(List([1, 20].iter()).to_string(), "1, 20");
        assert_eq!(List([0; 0].iter()).to_string(), "");
    }
}
