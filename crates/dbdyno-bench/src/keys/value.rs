//! Keys as values: of which numbers each kind is made, and those of the rows that a load writes.

use super::config::{Config, Key, Order};
use super::stream;
use crate::tables::numbers::{Permutation, mix, stratum};
use crate::tpcc::random::Random;

/// The year 2025, from which the load's UUIDs of version 7 are: milliseconds since 1970.
const LOADED_FROM_MS: u64 = 1_735_689_600_000;
const LOADED_FOR_MS: u64 = 365 * 86_400_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Value {
    Int(i64),
    Uuid([u8; 16]),
}

/// What decides where a key stands among the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Counted from 1.
    Dense,
    /// Any positive bigint.
    Spread,
    Random64,
    UuidV4,
    UuidV7,
}

impl Shape {
    pub(crate) fn of(config: &Config) -> Self {
        match (config.key, config.arrival()) {
            (Key::AutoIncrement, Order::Sequential) => Self::Dense,
            (Key::AutoIncrement, Order::Random) => Self::Spread,
            (Key::Random64, _) => Self::Random64,
            (Key::UuidV4, _) => Self::UuidV4,
            (Key::UuidV7, _) => Self::UuidV7,
        }
    }

    pub(crate) fn is_uuid(self) -> bool {
        matches!(self, Self::UuidV4 | Self::UuidV7)
    }

    /// How many places there are.
    pub(super) fn space(self) -> u128 {
        match self {
            Self::Dense | Self::Spread => i64::MAX as u128,
            Self::Random64 => 1 << 64,
            Self::UuidV4 => 1 << 60,
            Self::UuidV7 => u128::from(LOADED_FOR_MS) << 12,
        }
    }

    /// The key at a place, the higher the greater; `rest` are the bits of a UUID that follow.
    pub(super) fn key(self, place: u64, rest: u64) -> Value {
        match self {
            Self::Dense | Self::Spread => Value::Int((place + 1) as i64),
            Self::Random64 => Value::Int((place ^ (1 << 63)) as i64),
            Self::UuidV4 => Value::Uuid(uuid(4, place, rest)),
            Self::UuidV7 => Value::Uuid(uuid(7, (LOADED_FROM_MS << 12) + place, rest)),
        }
    }
}

/// The layout of RFC 9562, sections 5.4 and 5.7: 60 bits around the version, 62 behind the variant.
pub(super) fn uuid(version: u8, top: u64, rest: u64) -> [u8; 16] {
    let high = ((top >> 12) << 16) | (u64::from(version) << 12) | (top & 0xfff);
    let low = (1 << 63) | (rest >> 2);
    ((u128::from(high) << 64) | u128::from(low)).to_be_bytes()
}

/// The keys of the load: each depends on the seed and its own number alone.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LoadedKeys {
    shape: Shape,
    rows: u64,
    /// From arrival to rank, where rows did not arrive in the order of their keys.
    scattered: Option<Permutation>,
    places: u64,
    rest: u64,
}

impl LoadedKeys {
    pub(crate) fn new(config: &Config) -> Self {
        let random = |path| Random::stream(config.seed, &[path]);
        let scattered = match config.arrival() {
            Order::Sequential => None,
            Order::Random => Some(Permutation::new(
                &mut random(stream::PERMUTATION),
                config.rows,
            )),
        };
        Self {
            shape: Shape::of(config),
            rows: config.rows,
            scattered,
            places: random(stream::PLACES).next_u64(),
            rest: random(stream::REST).next_u64(),
        }
    }

    /// How many keys are less than that of the row which came as this number, from 0.
    pub(crate) fn rank(&self, arrival: u64) -> u64 {
        self.scattered
            .map_or(arrival, |permutation| permutation.at(arrival))
    }

    pub(crate) fn of_rank(&self, rank: u64) -> Value {
        let place = match self.shape {
            Shape::Dense => rank,
            shape => stratum(self.places, shape.space(), self.rows, rank),
        };
        self.shape.key(place, mix(self.rest, rank))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::keys::Kind;

    fn config(kind: Kind, key: Key, order: Order) -> Config {
        Config {
            key,
            order,
            rows: 300,
            ..Config::new(kind)
        }
    }

    fn sortable(value: Value) -> (i64, [u8; 16]) {
        match value {
            Value::Int(int) => (int, [0; 16]),
            Value::Uuid(bytes) => (0, bytes),
        }
    }

    #[test]
    fn a_uuid_has_its_bits_where_the_rfc_has_them() {
        // The example of RFC 9562, appendix A.6: 017F22E2-79B0-7CC3-98C4-DC0C0C07398F.
        let top = (0x017F_22E2_79B0 << 12) | 0xCC3;
        let rest = 0x18C4_DC0C_0C07_398F << 2;
        let bytes = uuid(7, top, rest)
            .map(|byte| format!("{byte:02X}"))
            .concat();
        assert_eq!(bytes, "017F22E279B07CC398C4DC0C0C07398F");
        // And of appendix A.3: 919108F7-52D1-4320-9BAC-F847DB4148A8.
        let top = (0x9191_08F7_52D1 << 12) | 0x320;
        let rest = 0x1BAC_F847_DB41_48A8 << 2;
        let bytes = uuid(4, top, rest)
            .map(|byte| format!("{byte:02X}"))
            .concat();
        assert_eq!(bytes, "919108F752D143209BACF847DB4148A8");
    }

    #[test]
    fn numbers_that_the_server_goes_on_from_have_no_gaps() {
        let keys = LoadedKeys::new(&config(Kind::Selects, Key::AutoIncrement, Order::Random));
        for rank in [0, 1, 299] {
            assert_eq!(keys.rank(rank), rank);
            assert_eq!(keys.of_rank(rank), Value::Int(rank as i64 + 1));
        }
    }

    #[test]
    fn versions_and_variants_are_right_and_bigints_have_both_signs() {
        for kind in Kind::ALL {
            for (key, version) in [(Key::UuidV4, 4), (Key::UuidV7, 7)] {
                let keys = LoadedKeys::new(&config(kind, key, Order::Random));
                for rank in 0..300 {
                    let (_, bytes) = sortable(keys.of_rank(rank));
                    assert_eq!((bytes[6] >> 4, bytes[8] >> 6), (version, 0b10));
                }
            }
            let keys = LoadedKeys::new(&config(kind, Key::Random64, Order::Random));
            let negative = (0..300).filter(|&rank| sortable(keys.of_rank(rank)).0 < 0);
            assert_eq!(negative.count(), 150);
        }
    }

    proptest! {
        #[test]
        fn keys_ascend_with_their_rank_and_every_row_has_one(
            seed: u64,
            kind in prop::sample::select(Kind::ALL.to_vec()),
            key in prop::sample::select(Key::ALL.to_vec()),
            order in prop::sample::select(Order::ALL.to_vec()),
        ) {
            let config = Config { seed, ..config(kind, key, order) };
            let keys = LoadedKeys::new(&config);
            let sorted: Vec<_> = (0..300).map(|rank| sortable(keys.of_rank(rank))).collect();
            prop_assert!(sorted.is_sorted_by(|one, next| one < next));
            let ranks: BTreeSet<u64> = (0..300).map(|arrival| keys.rank(arrival)).collect();
            prop_assert_eq!(ranks, (0..300).collect::<BTreeSet<u64>>());
            let in_order = (0..300).all(|arrival| keys.rank(arrival) == arrival);
            prop_assert_eq!(in_order, config.arrival() == Order::Sequential);
        }
    }
}
