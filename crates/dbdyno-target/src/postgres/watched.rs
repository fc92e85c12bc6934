//! Counters of transactions and statements at both ends of the window.

use std::time::Instant;

use dbdyno_model::Fact;
use dbdyno_model::postgres::{Postgres, TransactionIds};

use super::error::CollectError;
use super::reader::Reader;
use super::{sampled, statements, transactions};

/// What the first reading left for the second.
pub(super) struct Opening {
    ids: (Fact<TransactionIds>, Instant),
    statements: statements::Opening,
}

pub(super) fn open(reader: &mut Reader<'_>) -> Result<Opening, CollectError> {
    Ok(Opening {
        ids: reader.read_at(&transactions::IDS, transactions::read_ids)?,
        statements: statements::open(reader)?,
    })
}

pub(super) fn close(
    reader: &mut Reader<'_>,
    opening: Opening,
    is_window: bool,
    postgres: &mut Postgres,
) -> Result<(), CollectError> {
    let after = if is_window {
        Some(reader.read_at(&transactions::IDS, transactions::read_ids)?)
    } else {
        None
    };
    postgres.transaction_ids = sampled(opening.ids, after);
    postgres.statements = statements::close(reader, opening.statements, is_window)?;
    Ok(())
}
