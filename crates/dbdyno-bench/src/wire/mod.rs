//! PostgreSQL's and MySQL's protocols, as thin as the driver's hot path needs them.
//!
//! The protocols ([`postgres`], [`mysql`]) do no I/O: they append commands to a buffer and take
//! answers out of one, so that both can be tested and fuzzed on bytes alone. A [`Session`] joins
//! one of them with a socket. Commands are queued, sent together and answered in order, so that a
//! caller decides by itself what shares a round trip.
//!
//! Nothing is allocated for a command or a row once the buffers have grown to their size.

mod cancel;
mod decode;
mod error;
mod inbound;
mod isolation;
mod link;
mod login;
pub mod mysql;
mod opening;
mod params;
pub mod postgres;
mod read_only;
mod row;
mod session;
mod stream;
mod target;
mod tls;

use std::ops::Range;

#[doc(hidden)]
pub use decode::decode;
pub use error::{ServerError, WireError};
pub use isolation::Isolation;
pub use link::Link;
pub use params::Params;
pub use read_only::{is_read_only, read_only_hint, refused_as_read_only};
pub use row::Row;
pub use session::{Sent, Session};
pub use stream::Endpoint;
pub use target::{Engine, Target, Tls};

pub(crate) use cancel::Cancel;
pub(crate) use inbound::Inbound;
pub(crate) use login::{Login, LoginStep};
pub(crate) use row::TextRow;

/// A statement that one connection has prepared.
#[derive(Debug)]
pub struct Statement {
    /// PostgreSQL's name is `s` with this number behind it; MySQL's own id.
    pub(crate) id: u32,
    /// PostgreSQL's type oids; MySQL says only how many there are.
    pub(crate) params: Box<[u32]>,
    pub(crate) columns: Box<[Column]>,
}

impl Statement {
    /// PostgreSQL's oids of its parameters' types.
    pub(crate) fn parameter_types(&self) -> impl Iterator<Item = u32> {
        self.params.iter().copied()
    }
}

/// Type of a column: an oid of PostgreSQL, or a type byte of MySQL with its flags.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) kind: u32,
    pub(crate) unsigned: bool,
}

/// What the answer in the buffer comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// More bytes are needed.
    More,
    /// A row lies there, until the buffer is next read into.
    Row(Range<usize>),
    /// The same as text, where the command was sent as text.
    TextRow(Range<usize>),
    /// The command has ended, and what follows belongs to the next.
    Done(Done),
    /// MySQL asks for the data of LOAD DATA LOCAL.
    SendFile,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Done {
    /// Rows inserted, updated, deleted or, on PostgreSQL, selected.
    pub affected: u64,
    /// Whether the connection is within a transaction now.
    pub in_transaction: bool,
}
