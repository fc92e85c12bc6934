//! Numbers that each row has by itself, whichever thread asks for it and in whichever order.

use crate::tpcc::random::Random;

/// A well mixed number for each `n` under each key (SplitMix64's finaliser, twice).
pub(crate) fn mix(key: u64, n: u64) -> u64 {
    scramble(scramble(n.wrapping_add(0x9e37_79b9_7f4a_7c15)) ^ key)
}

fn scramble(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Uniform in 0..`limit`, which is at most 2^64; 0 where the limit is.
pub(crate) fn below(random: &mut Random, limit: u128) -> u64 {
    fraction(random.next_u64(), limit)
}

/// So many 2^64ths of `whole`, which is at most 2^64.
fn fraction(numerator: u64, whole: u128) -> u64 {
    ((u128::from(numerator) * whole) >> 64) as u64
}

/// The number at `rank` of `count` ascending numbers in 0..`space`: each lies anywhere in a slice of its
/// own. That looks like a uniform draw, and yet every one can be told by itself, and sorted.
pub(crate) fn stratum(key: u64, space: u128, count: u64, rank: u64) -> u64 {
    let count = u128::from(count.max(1));
    let low = (space * u128::from(rank) / count) as u64;
    low + fraction(mix(key, rank), (space / count).max(1))
}

/// A random order of 0..`size` that is computed, not kept: a Feistel network over the next power of
/// four, walked until it comes back into the range.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Permutation {
    size: u64,
    half_bits: u32,
    keys: [u64; 4],
}

impl Permutation {
    pub(crate) fn new(random: &mut Random, size: u64) -> Self {
        let bits = u64::BITS - size.saturating_sub(1).leading_zeros();
        Self {
            size,
            half_bits: bits.div_ceil(2).max(1),
            keys: std::array::from_fn(|_| random.next_u64()),
        }
    }

    /// What stands at `index`, which is below the size.
    pub(crate) fn at(&self, index: u64) -> u64 {
        self.walk(index, |value| self.forward(value))
    }

    /// Where `value` stands.
    pub(crate) fn find(&self, value: u64) -> u64 {
        self.walk(value, |value| self.backward(value))
    }

    fn walk(&self, from: u64, step: impl Fn(u64) -> u64) -> u64 {
        debug_assert!(from < self.size);
        let mut value = step(from);
        while value >= self.size.max(1) {
            value = step(value);
        }
        value
    }

    fn forward(&self, value: u64) -> u64 {
        let (mut left, mut right) = self.halves(value);
        for key in self.keys {
            (left, right) = (right, left ^ (mix(key, right) & self.mask()));
        }
        (left << self.half_bits) | right
    }

    fn backward(&self, value: u64) -> u64 {
        let (mut left, mut right) = self.halves(value);
        for &key in self.keys.iter().rev() {
            (left, right) = (right ^ (mix(key, left) & self.mask()), left);
        }
        (left << self.half_bits) | right
    }

    fn halves(&self, value: u64) -> (u64, u64) {
        (value >> self.half_bits, value & self.mask())
    }

    fn mask(&self) -> u64 {
        (1 << self.half_bits) - 1
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn permutation(seed: u64, size: u64) -> Permutation {
        Permutation::new(&mut Random::stream(seed, &[]), size)
    }

    proptest! {
        #[test]
        fn every_number_stands_in_one_place(seed: u64, size in 1..3_000_u64) {
            let permutation = permutation(seed, size);
            let mut seen = vec![false; size as usize];
            for index in 0..size {
                let value = permutation.at(index);
                prop_assert!(value < size);
                prop_assert!(!std::mem::replace(&mut seen[value as usize], true));
                prop_assert_eq!(permutation.find(value), index);
            }
        }

        #[test]
        fn large_ranges_have_their_inverse_too(seed: u64, size in 1..u64::MAX, index: u64) {
            let permutation = permutation(seed, size);
            let index = index % size;
            prop_assert_eq!(permutation.find(permutation.at(index)), index);
        }

        #[test]
        fn strata_ascend_within_their_slices(
            key: u64,
            count in 1..2_000_u64,
            more in 0..u64::MAX / 2,
        ) {
            let space = u128::from(count) + u128::from(more);
            let mut least = 0_u128;
            for rank in 0..count {
                let value = u128::from(stratum(key, space, count, rank));
                let slice = |rank: u64| space * u128::from(rank) / u128::from(count);
                prop_assert!(value >= slice(rank) && value < slice(rank + 1));
                prop_assert!(value >= least);
                least = value + 1;
            }
        }

        #[test]
        fn below_stays_below(seed: u64, limit in 1..=(1_u128 << 64)) {
            let mut random = Random::stream(seed, &[]);
            for _ in 0..50 {
                prop_assert!(u128::from(below(&mut random, limit)) < limit);
            }
        }
    }

    #[test]
    fn an_order_is_not_the_one_that_was_given() {
        let permutation = permutation(1, 10_000);
        let followers = (0..9_999_u64)
            .filter(|&index| permutation.at(index) + 1 == permutation.at(index + 1))
            .count();
        assert!(followers < 10, "{followers}");
        let early: u64 = (0..5_000).map(|index| permutation.at(index)).sum();
        assert!((4_800..5_200).contains(&(early / 5_000)), "{early}");
    }

    #[test]
    fn mixing_changes_half_of_the_bits() {
        let changed: u32 = (0..1_000_u64)
            .map(|n| {
                (mix(7, n) ^ mix(7, n ^ 1)).count_ones() + (mix(7, n) ^ mix(6, n)).count_ones()
            })
            .sum();
        assert!((62_000..66_000).contains(&changed), "{changed}");
    }
}
