//! Keys of the rows that a run inserts.

use super::config::{Config, Order};
use super::stream;
use super::value::{Shape, Value, uuid};
use crate::tables::numbers::below;
use crate::tpcc::random::Random;

/// Between one key of an ascending connection and the next, at most: many fit between two of the load.
const GAP: u128 = 1 << 20;

/// Keys of one connection.
#[derive(Debug)]
pub(super) struct FreshKeys {
    shape: Shape,
    order: Order,
    random: Random,
    place: u64,
    clock: Clock,
}

impl FreshKeys {
    /// `run` counts the connections that were there with this `index` on the same data: with the same
    /// seed they would otherwise draw the same keys again.
    pub(super) fn new(config: &Config, seed: u64, index: u32, run: u64) -> Self {
        let shape = Shape::of(config);
        let mut random = Random::stream(seed, &[stream::INSERTS, index.into(), run]);
        Self {
            shape,
            order: config.order,
            place: below(&mut random, shape.space()),
            random,
            clock: Clock::default(),
        }
    }

    /// None where the server gives the key.
    pub(super) fn next(&mut self, now_ms: u64) -> Option<Value> {
        let Self {
            shape,
            order,
            random,
            place,
            clock,
        } = self;
        match (*shape, *order) {
            (Shape::Dense, _) => return None,
            (Shape::UuidV7, Order::Sequential) => {
                return Some(Value::Uuid(clock.next(now_ms, random)));
            }
            (_, Order::Random) => *place = below(random, shape.space()),
            (_, Order::Sequential) => {
                let next = u128::from(*place) + 1 + u128::from(below(random, GAP));
                *place = (next % shape.space()) as u64;
            }
        }
        Some(shape.key(*place, random.next_u64()))
    }
}

/// Makes UUIDs of version 7 that ascend: behind the millisecond counts a number that begins in the
/// lower half of its 12 bits (RFC 9562, section 6.2, method 1).
#[derive(Debug, Default)]
struct Clock {
    ms: u64,
    count: u64,
}

impl Clock {
    const COUNTS: u64 = 1 << 12;

    /// A clock that was set back, or more UUIDs than a millisecond has numbers for, makes it run ahead.
    fn next(&mut self, now_ms: u64, random: &mut Random) -> [u8; 16] {
        self.count += 1;
        if now_ms > self.ms || self.count == Self::COUNTS {
            self.ms = now_ms.max(self.ms + 1);
            self.count = below(random, u128::from(Self::COUNTS / 2));
        }
        uuid(7, (self.ms << 12) | self.count, random.next_u64())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::keys::{Key, Kind};

    const NOW_MS: u64 = 1_767_225_600_123;

    fn config(key: Key, order: Order) -> Config {
        Config {
            key,
            order,
            ..Config::new(Kind::Inserts)
        }
    }

    fn drawn(config: &Config, seed: u64, index: u32, run: u64) -> Vec<Option<Value>> {
        let mut keys = FreshKeys::new(config, seed, index, run);
        (0..200).map(|_| keys.next(NOW_MS)).collect()
    }

    fn bytes(key: Option<Value>) -> [u8; 16] {
        match key {
            Some(Value::Uuid(bytes)) => bytes,
            other => panic!("{other:?}"),
        }
    }

    fn int(key: Option<Value>) -> i64 {
        match key {
            Some(Value::Int(int)) => int,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_uuid_of_version_7_tells_its_millisecond() {
        let mut random = Random::stream(1, &[]);
        let uuid = u128::from_be_bytes(Clock::default().next(NOW_MS, &mut random));
        assert_eq!((uuid >> 80) as u64, NOW_MS);
        assert_eq!((uuid >> 76) & 0xf, 7);
        assert_eq!((uuid >> 62) & 0b11, 0b10);
        assert!((uuid >> 64) & 0xfff < 2_048);
    }

    proptest! {
        #[test]
        fn uuids_of_version_7_ascend_whatever_the_clock_does(
            seed: u64,
            times in prop::collection::vec(NOW_MS..NOW_MS + 20, 1..10),
            each in 1..1_000_usize,
        ) {
            let mut random = Random::stream(seed, &[]);
            let mut clock = Clock::default();
            let mut last = [0; 16];
            for now in times {
                for _ in 0..each {
                    let next = clock.next(now, &mut random);
                    prop_assert!(next > last);
                    last = next;
                }
            }
        }

        #[test]
        fn bigints_ascend_where_they_shall(seed: u64) {
            let ascending = drawn(&config(Key::Random64, Order::Sequential), seed, 3, 1);
            let ints: Vec<i64> = ascending.into_iter().map(int).collect();
            // Once around is possible, twice is not.
            let falls = ints.windows(2).filter(|pair| pair[0] >= pair[1]).count();
            prop_assert!(falls <= 1);
            let any = drawn(&config(Key::Random64, Order::Random), seed, 3, 1);
            let ints: Vec<i64> = any.into_iter().map(int).collect();
            let falls = ints.windows(2).filter(|pair| pair[0] >= pair[1]).count();
            prop_assert!((50..150).contains(&falls));
        }
    }

    #[test]
    fn every_connection_and_every_run_has_keys_of_its_own() {
        for key in [Key::Random64, Key::UuidV4, Key::UuidV7] {
            for order in Order::ALL {
                let config = config(key, order);
                let mut seen = BTreeSet::new();
                for (index, run) in [(0, 1), (1, 1), (0, 2)] {
                    let keys = drawn(&config, 7, index, run);
                    assert_eq!(keys, drawn(&config, 7, index, run));
                    seen.extend(keys.into_iter().map(|key| format!("{key:?}")));
                }
                assert_eq!(seen.len(), 600, "{key:?} {order:?}");
            }
        }
    }

    #[test]
    fn the_server_counts_and_what_it_is_given_is_positive() {
        let counted = drawn(&config(Key::AutoIncrement, Order::Sequential), 1, 0, 1);
        assert!(counted.iter().all(Option::is_none));
        let given = drawn(&config(Key::AutoIncrement, Order::Random), 1, 0, 1);
        assert!(given.into_iter().map(int).all(|int| int > 0));
        let versions = drawn(&config(Key::UuidV4, Order::Sequential), 1, 0, 1);
        let mut versions = versions.into_iter().map(|key| bytes(key)[6] >> 4);
        assert!(versions.all(|version| version == 4));
    }
}
