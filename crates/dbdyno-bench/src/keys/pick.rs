//! Which rows a run selects.

use super::config::{Config, Order};
use super::stream;
use super::value::{LoadedKeys, Value};
use crate::tables::numbers::below;
use crate::tpcc::random::Random;

/// The rows of one connection.
#[derive(Debug)]
pub(super) struct Pick {
    keys: LoadedKeys,
    order: Order,
    rows: u64,
    /// The next to be taken in order of arrival.
    next: u64,
    random: Random,
}

impl Pick {
    pub(super) fn new(config: &Config, seed: u64, index: u32) -> Self {
        let mut random = Random::stream(seed, &[stream::SELECTS, index.into()]);
        Self {
            keys: LoadedKeys::new(config),
            order: config.order,
            rows: config.rows,
            next: below(&mut random, config.rows.into()),
            random,
        }
    }

    /// The keys of one statement, of which no two are alike: in random order each row is drawn from a
    /// slice of its own.
    pub(super) fn statement(&mut self, batch: u64, mut take: impl FnMut(Value)) {
        for index in 0..batch {
            let arrival = match self.order {
                Order::Sequential => {
                    let arrival = self.next;
                    self.next = (arrival + 1) % self.rows;
                    arrival
                }
                Order::Random => {
                    let (from, to) = (self.slice(index, batch), self.slice(index + 1, batch));
                    from + below(&mut self.random, (to - from).into())
                }
            };
            take(self.keys.of_rank(self.keys.rank(arrival)));
        }
    }

    /// Where a slice begins; rows times their batch stay far below 2^64.
    fn slice(&self, index: u64, batch: u64) -> u64 {
        self.rows * index / batch
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::keys::{Key, Kind};

    fn config(key: Key, order: Order, rows: u64) -> Config {
        Config {
            key,
            order,
            rows,
            ..Config::new(Kind::Selects)
        }
    }

    fn taken(pick: &mut Pick, batch: u64) -> Vec<String> {
        let mut taken = Vec::new();
        pick.statement(batch, |key| taken.push(format!("{key:?}")));
        taken
    }

    proptest! {
        #[test]
        fn no_row_comes_twice_in_a_statement_and_each_was_loaded(
            seed: u64,
            rows in 20..200_u64,
            batch in 1..=20_u64,
            key in prop::sample::select(Key::ALL.to_vec()),
            order in prop::sample::select(Order::ALL.to_vec()),
        ) {
            let config = config(key, order, rows);
            let keys = LoadedKeys::new(&config);
            let loaded: BTreeSet<String> =
                (0..rows).map(|rank| format!("{:?}", keys.of_rank(rank))).collect();
            let mut pick = Pick::new(&config, seed, 3);
            for _ in 0..20 {
                let taken: BTreeSet<String> = taken(&mut pick, batch).into_iter().collect();
                prop_assert_eq!(taken.len() as u64, batch);
                prop_assert!(taken.is_subset(&loaded));
            }
        }
    }

    #[test]
    fn in_order_every_row_comes_once_around_and_at_random_all_do_in_the_end() {
        let mut pick = Pick::new(&config(Key::UuidV4, Order::Sequential, 100), 1, 0);
        let once: BTreeSet<String> = (0..10).flat_map(|_| taken(&mut pick, 10)).collect();
        assert_eq!(once.len(), 100);
        let mut pick = Pick::new(&config(Key::UuidV4, Order::Random, 100), 1, 0);
        let all: BTreeSet<String> = (0..2_000).flat_map(|_| taken(&mut pick, 1)).collect();
        assert_eq!(all.len(), 100);
    }
}
