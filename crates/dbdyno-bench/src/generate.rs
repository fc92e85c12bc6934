//! The rows of a load, generated and encoded as its loader does, and sent nowhere.
//!
//! What a load takes at least, and whether it is the server that it waits for.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::tpcc::shift::{Meter, Shift};
use crate::tpcc::{LoadError, Progress};

/// What was encoded.
#[derive(Debug, Clone, PartialEq)]
pub struct Generated {
    /// By their names.
    pub tables: Vec<TableBytes>,
    pub seconds: f64,
}

/// Of one table, or of all where a workload has several alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableBytes {
    pub table: String,
    pub rows: u64,
    /// As they are sent, but for the frames of the protocol.
    pub bytes: u64,
}

impl Generated {
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.tables.iter().map(|table| table.rows).sum()
    }

    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.tables.iter().map(|table| table.bytes).sum()
    }
}

/// Of one unit, or of several.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Encoded {
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
}

/// How many threads encode, and whom they tell and obey.
pub(crate) struct Generator<'a> {
    pub(crate) threads: usize,
    pub(crate) progress: &'a (dyn Fn(Progress) + Sync),
    pub(crate) stop: &'a AtomicBool,
}

impl Generator<'_> {
    /// Encodes the units, which have so many rows together.
    pub(crate) fn generate<Unit: Sync>(
        &self,
        units: &[Unit],
        rows: u64,
        table: &(dyn Fn(&Unit) -> &'static str + Sync),
        encode: &(dyn Fn(&Unit, &Meter<'_>) -> Result<Encoded, LoadError> + Sync),
    ) -> Result<Generated, LoadError> {
        let clock = Instant::now();
        let encoded = Mutex::<BTreeMap<&'static str, Encoded>>::default();
        let shift = Shift {
            phase: "rows",
            threads: self.threads.max(1),
            total: rows,
            progress: self.progress,
            stop: self.stop,
            cancel: &|| {},
        };
        shift.work(&|| Ok(()), units, &|(), unit, meter| {
            let more = encode(unit, meter)?;
            let mut encoded = encoded.lock().unwrap_or_else(PoisonError::into_inner);
            let all = encoded.entry(table(unit)).or_default();
            all.rows += more.rows;
            all.bytes += more.bytes;
            Ok(())
        })?;
        let encoded = encoded.into_inner();
        let tables = encoded.unwrap_or_else(PoisonError::into_inner).into_iter();
        Ok(Generated {
            tables: tables
                .map(|(table, Encoded { rows, bytes })| TableBytes {
                    table: table.to_owned(),
                    rows,
                    bytes,
                })
                .collect(),
            seconds: clock.elapsed().as_secs_f64(),
        })
    }
}
