//! The rows of a load: the same for a seed on every machine, whatever the number of threads.

use std::ops::RangeInclusive;

use super::Config;
use super::distribution::Sampler;
use super::stream;
use crate::tpcc::random::Random;

/// Digits in a group, and the group with the dash behind it.
const GROUP: usize = 11;
const STRIDE: usize = GROUP + 1;

/// Rows that one thread loads at a time, out of random numbers of their own.
const PART_ROWS: u64 = 100_000;

/// Groups of random digits with dashes between them, held in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Digits<const N: usize>([u8; N]);

/// Ten groups, and five.
pub(crate) type C = Digits<119>;
pub(crate) type Pad = Digits<59>;

impl<const N: usize> Digits<N> {
    #[cfg(test)]
    const LENGTH: usize = N;

    pub(crate) fn draw(random: &mut Random) -> Self {
        let mut bytes = [b'-'; N];
        for group in bytes.chunks_mut(STRIDE) {
            // A 64-bit draw is a fraction; its first eleven digits are uniform to 2⁻²⁷.
            let mut fraction = random.next_u64();
            for byte in group.iter_mut().take(GROUP) {
                let product = u128::from(fraction) * 10;
                *byte = b'0' + (product >> 64) as u8;
                fraction = product as u64;
            }
        }
        Self(bytes)
    }

    /// Whether a text is of this shape, with the spaces behind it that fill a char up or without.
    pub(crate) fn fit(text: &[u8]) -> bool {
        let Some((groups, rest)) = text.split_at_checked(N) else {
            return false;
        };
        let sound = |group: &[u8]| {
            let (digits, dash) = group.split_at(GROUP.min(group.len()));
            digits.iter().all(u8::is_ascii_digit) && dash.iter().all(|byte| *byte == b'-')
        };
        groups.chunks(STRIDE).all(sound) && rest.iter().all(|byte| *byte == b' ')
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn as_str(&self) -> &str {
        // Only ASCII is ever written.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) id: u32,
    pub(crate) k: u32,
    pub(crate) c: C,
    pub(crate) pad: Pad,
}

/// All parts as table and part, those of one table far from each other: threads seldom meet.
pub(crate) fn parts(config: &Config) -> Vec<(u32, u64)> {
    let per_table = config.table_size.div_ceil(PART_ROWS);
    let of_all = |part| (1..=config.tables).map(move |table| (table, part));
    (0..per_table).flat_map(of_all).collect()
}

/// Of a part of any table, the first and the last.
fn ids(table_size: u64, part: u64) -> RangeInclusive<u64> {
    let first = part * PART_ROWS + 1;
    first..=table_size.min(first + PART_ROWS - 1)
}

pub(crate) fn part_rows(config: &Config, part: u64) -> u64 {
    let ids = ids(config.table_size, part);
    ids.end() + 1 - ids.start()
}

/// The rows of a part in the order of their ids.
pub(crate) fn part(config: Config, table: u32, part: u64) -> impl Iterator<Item = Row> {
    let size = config.table_size;
    let path = [stream::ROWS, u64::from(table), part];
    let mut random = Random::stream(config.seed, &path);
    let values = Sampler::new(config.distribution, 1, size as u32);
    ids(size, part).map(move |id| Row {
        id: id as u32,
        k: values.draw(&mut random),
        c: Digits::draw(&mut random),
        pad: Digits::draw(&mut random),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Kind;
    use super::*;

    fn groups(text: &str) -> Vec<&str> {
        text.split('-').collect()
    }

    fn is_sound(text: &str, count: usize) -> bool {
        let groups = groups(text);
        let digits =
            |group: &&str| group.len() == 11 && group.bytes().all(|byte| byte.is_ascii_digit());
        groups.len() == count && groups.iter().all(digits)
    }

    #[test]
    fn every_row_is_in_one_part() {
        let config = Config {
            tables: 2,
            table_size: 250_001,
            ..Config::new(Kind::ReadWrite)
        };
        let parts = parts(&config);
        assert_eq!(parts, [(1, 0), (2, 0), (1, 1), (2, 1), (1, 2), (2, 2)]);
        let second = parts.iter().filter(|(table, _)| *table == 2);
        let ids = second.flat_map(|&(table, index)| part(config, table, index).map(|row| row.id));
        assert!(ids.eq(1..=250_001));
        let rows = parts.iter().map(|&(_, part)| part_rows(&config, part));
        assert_eq!(rows.sum::<u64>(), config.rows());
    }

    #[test]
    fn all_digits_occur_in_every_place() {
        let mut random = Random::stream(1, &[]);
        let mut seen = [[0_u32; 10]; 11];
        for _ in 0..1_000 {
            let pad = Pad::draw(&mut random);
            for (place, byte) in pad.as_bytes()[..11].iter().enumerate() {
                seen[place][usize::from(byte - b'0')] += 1;
            }
        }
        let even = |count: &u32| (60..145).contains(count);
        assert!(seen.iter().flatten().all(even), "{seen:?}");
    }

    proptest! {
        #[test]
        fn what_was_drawn_fits_and_nothing_else(
            seed: u64,
            place in 0..C::LENGTH,
            byte: u8,
            spaces in 0..3_usize,
        ) {
            let drawn = C::draw(&mut Random::stream(seed, &[]));
            let mut text = [drawn.as_bytes(), &b"  "[..spaces]].concat();
            prop_assert!(C::fit(&text));
            prop_assert!(!Pad::fit(&text));
            let same_kind = byte == text[place] || byte.is_ascii_digit() && text[place] != b'-';
            text[place] = byte;
            prop_assert_eq!(C::fit(&text), same_kind);
            prop_assert!(!C::fit(&text[..C::LENGTH - 1]));
        }

        #[test]
        fn rows_have_their_shape_and_repeat(
            seed: u64,
            table_size in 1..500_u64,
            table in 1..5_u32,
        ) {
            let config = Config { seed, table_size, ..Config::new(Kind::Insert) };
            let rows: Vec<Row> = part(config, table, 0).collect();
            prop_assert_eq!(rows.len() as u64, table_size);
            for (row, id) in rows.iter().zip(1..) {
                prop_assert_eq!(row.id, id);
                prop_assert!((1..=table_size).contains(&u64::from(row.k)));
                prop_assert!(is_sound(row.c.as_str(), 10) && is_sound(row.pad.as_str(), 5));
            }
            prop_assert!(rows.iter().copied().eq(part(config, table, 0)));
            let other = Config { seed: seed.wrapping_add(1), ..config };
            prop_assert!(part(other, table, 0).next() != rows.first().copied());
            prop_assert!(part(config, table + 1, 0).next() != rows.first().copied());
        }
    }
}
