//! Whether the tables hold what a load left and a run may have made of it.
//!
//! Every row is sent here and looked at, a range of ids after the other on a few connections: regular
//! expressions in the server took PostgreSQL 22 s for 400,000 rows.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use dbdyno_model::connection::Connection;
use dbdyno_model::run::Check;

use super::rows::{C, Pad};
use super::{Config, Kind, tables};
use crate::share::{connections, share};
use crate::tpcc::conditions::Violations;
use crate::tpcc::{ClientError, When};
use crate::wire::{Link, WireError};

/// Names and what they demand.
const ROWS: &str = "as many rows in each table as the transactions leave there";
const IDS: &str = "ids from 1 to the number of rows";
const SHAPE: &str = "c of ten groups of eleven digits, pad of five";
const INDEX: &str = "an index of k on each table";

/// Ids of one question: enough that asking it does not count.
const RANGE: u64 = 100_000;

/// Reads all tables. Blocks, and must not be called from within an async runtime.
///
/// A run that inserts leaves at least the rows that were loaded, with ids of any size; one that
/// deletes, at most those.
pub fn check(connect: &Connection, config: &Config, when: When) -> Result<Vec<Check>, ClientError> {
    let mut link = tables::open(connect)?;
    let present = tables::columns(&mut link, connect.engine)?;
    let indexed = tables::indexed(&mut link, connect.engine)?;
    drop(link);
    let there = (1..=config.tables).filter(|table| present.contains_key(&tables::name(*table)));
    let ranges = ranges(config.table_size);
    let questions: Vec<(u32, &str)> = there
        .flat_map(|table| ranges.iter().map(move |range| (table, range.as_str())))
        .collect();
    let answers = share(
        connections(),
        &questions,
        &|| tables::open(connect),
        &|link: &mut Link, &(table, range): &(u32, &str)| {
            Ok(Found::read(link, &tables::name(table), range)?)
        },
    )?;
    let mut found = BTreeMap::<u32, Found>::new();
    for ((table, _), answer) in questions.iter().zip(answers) {
        *found.entry(*table).or_default() += answer;
    }
    let [mut rows, mut ids, mut shape, mut index] = [(); 4].map(|()| Violations::default());
    for number in 1..=config.tables {
        let table = tables::name(number);
        let Some(found) = found.get(&number) else {
            rows.add(|| format!("{table} is not there"));
            continue;
        };
        if !indexed.contains(&table) {
            index.add(|| format!("{table} has none"));
        }
        if !found.rows_fit(config, when) {
            let expected = config.table_size;
            rows.add(|| format!("{table} has {} of {expected} rows", found.rows));
        }
        if let Some((lowest, highest)) = found.ids
            && !found.ids_fit(config, when)
        {
            ids.add(|| format!("{table} has ids from {lowest} to {highest}"));
        }
        if found.misshapen > 0 {
            shape.add(|| format!("{table} has {} rows of another shape", found.misshapen));
        }
    }
    Ok(vec![
        rows.into_check("rows", ROWS),
        ids.into_check("ids", IDS),
        shape.into_check("shape", SHAPE),
        index.into_check("index", INDEX),
    ])
}

/// Conditions of which each id meets one, whatever it is.
fn ranges(table_size: u64) -> Vec<String> {
    let bounds: Vec<u64> = (1..table_size.div_ceil(RANGE))
        .map(|range| range * RANGE)
        .collect();
    let Some((first, last)) = bounds.first().zip(bounds.last()) else {
        return vec!["id IS NOT NULL".to_owned()];
    };
    let inner = bounds.windows(2).map(|pair| {
        let (from, to) = (pair[0], pair[1]);
        format!("id > {from} AND id <= {to}")
    });
    let mut ranges = vec![format!("id <= {first}")];
    ranges.extend(inner);
    ranges.push(format!("id > {last}"));
    ranges
}

/// What is to be known of one table, or of a part of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Found {
    rows: u64,
    /// The lowest and the highest, where there are any.
    ids: Option<(i64, i64)>,
    misshapen: u64,
}

impl AddAssign for Found {
    fn add_assign(&mut self, more: Self) {
        self.rows += more.rows;
        self.misshapen += more.misshapen;
        self.ids = match (self.ids, more.ids) {
            (Some((low, high)), Some((lower, higher))) => Some((low.min(lower), high.max(higher))),
            (ids, None) | (None, ids) => ids,
        };
    }
}

impl Found {
    fn read(link: &mut Link, table: &str, range: &str) -> Result<Self, WireError> {
        let mut found = Self::default();
        let sql = format!("SELECT id, c, pad FROM {table} WHERE {range}");
        link.rows(&sql, |mut row| {
            let id = row.int()?;
            let c = row.try_bytes()?.is_some_and(C::fit);
            let pad = row.try_bytes()?.is_some_and(Pad::fit);
            found += Self {
                rows: 1,
                ids: Some((id, id)),
                misshapen: u64::from(!c || !pad),
            };
            Ok(())
        })?;
        Ok(found)
    }

    fn rows_fit(&self, config: &Config, when: When) -> bool {
        match (when, config.kind) {
            (When::AfterRun, Kind::Insert) => self.rows >= config.table_size,
            (When::AfterRun, Kind::Delete) => self.rows <= config.table_size,
            _ => self.rows == config.table_size,
        }
    }

    fn ids_fit(&self, config: &Config, when: When) -> bool {
        let grows = when == When::AfterRun && config.kind == Kind::Insert;
        let last = if grows {
            i64::MAX
        } else {
            config.table_size as i64
        };
        self.ids
            .is_none_or(|(lowest, highest)| lowest >= 1 && highest <= last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_inserts_and_deletes_change_the_number_of_rows() {
        let found = |rows| Found {
            rows,
            ids: Some((1, 10_001)),
            misshapen: 0,
        };
        for kind in Kind::ALL {
            let config = Config::new(kind);
            let fit = [9_999, 10_000, 10_001].map(|rows| {
                let found = found(rows);
                assert_eq!(found.rows_fit(&config, When::AfterLoad), rows == 10_000);
                found.rows_fit(&config, When::AfterRun)
            });
            let expected = match kind {
                Kind::Insert => [false, true, true],
                Kind::Delete => [true, true, false],
                _ => [false, true, false],
            };
            assert_eq!(fit, expected, "{kind:?}");
            let grows = found(10_001).ids_fit(&config, When::AfterRun);
            assert_eq!(grows, kind == Kind::Insert);
            assert!(!found(10_001).ids_fit(&config, When::AfterLoad));
        }
    }

    #[test]
    fn ranges_follow_each_other_and_have_no_ends() {
        assert_eq!(ranges(1), ["id IS NOT NULL"]);
        assert_eq!(ranges(100_000), ["id IS NOT NULL"]);
        assert_eq!(ranges(100_001), ["id <= 100000", "id > 100000"]);
        let three = [
            "id <= 100000",
            "id > 100000 AND id <= 200000",
            "id > 200000",
        ];
        assert_eq!(ranges(300_000), three);
    }

    #[test]
    fn parts_are_added_up() {
        let part = |rows, ids, misshapen| Found {
            rows,
            ids,
            misshapen,
        };
        let mut all = Found::default();
        all += part(0, None, 0);
        assert_eq!(all, Found::default());
        for more in [
            part(3, Some((4, 9)), 1),
            part(0, None, 0),
            part(2, Some((1, 2)), 2),
        ] {
            all += more;
        }
        assert_eq!(all, part(5, Some((1, 9)), 3));
    }
}
