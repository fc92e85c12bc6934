//! What the connected database is made of, and who is at work in it, by few statements a subject.

use std::collections::BTreeSet;

use dbdyno_model::Fact;
use dbdyno_model::postgres::Postgres;

use super::error::CollectError;
use super::reader::Reader;
use super::widths::{self, Widths};
use super::{foreign_keys, indexes, locks, sequences, tables, transactions};

pub(super) fn read(reader: &mut Reader<'_>, postgres: &mut Postgres) -> Result<(), CollectError> {
    let tables = tables::read(reader)?;
    let indexes = indexes::read(reader)?;
    let oids: BTreeSet<u32> = tables
        .value()
        .into_iter()
        .flat_map(tables::Found::oids)
        .chain(indexes.value().into_iter().flat_map(indexes::Found::tables))
        .collect();
    let oids: Vec<u32> = oids.into_iter().collect();
    let widths = reader.read(&widths::SUBJECT, |client, _| widths::read(client, &oids))?;
    let none = Widths::default();
    let widths = widths.value().unwrap_or(&none);
    (postgres.tables, postgres.table_totals) = split(tables.map(|found| found.with(widths)));
    postgres.indexes = indexes.map(|found| found.with(widths));
    postgres.foreign_keys = reader.read(&foreign_keys::SUBJECT, foreign_keys::read)?;
    postgres.sequences = reader.read(&sequences::SUBJECT, sequences::read)?;
    postgres.open_transactions = transactions::read_open(reader)?;
    postgres.xmin_holders = transactions::read_holders(reader)?;
    postgres.lock_waits = locks::read(reader)?;
    Ok(())
}

/// Two facts that were read at once.
fn split<A, B>(fact: Fact<(A, B)>) -> (Fact<A>, Fact<B>) {
    let mut second = None;
    let first = fact.map(|(a, b)| {
        second = Some(b);
        a
    });
    let origin = first.origin.clone();
    let second = match second {
        Some(value) => Fact::known(value, origin),
        None => Fact::unknown(first.why_unknown().unwrap_or("unknown"), origin),
    };
    (first, second)
}
