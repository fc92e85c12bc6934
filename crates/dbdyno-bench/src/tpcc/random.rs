//! Random numbers and strings of clauses 2.1.5, 2.1.6 and 4.3.2, the same on every machine and release.
//!
//! The generator is our own (xoshiro256++ seeded through SplitMix64, by Blackman and Vigna), because
//! general-purpose libraries keep the right to change their distributions, and a seed stored with a
//! run must draw the same inputs years later.

use std::ops::RangeInclusive;

/// Bits in the mask of NURand for the last name, the customer and the item (clause 2.1.6).
const A_LAST: u32 = 255;
const A_CUSTOMER: u32 = 1023;
const A_ITEM: u32 = 8191;

/// A stream of random numbers that depends on its seed alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Random {
    state: [u64; 4],
}

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Random {
    /// The stream named by `path` under `seed`: each table, warehouse, district and terminal has
    /// its own, so that no order of work changes what is drawn.
    pub(crate) fn stream(seed: u64, path: &[u64]) -> Self {
        let mut key = seed;
        let mut mixed = split_mix(&mut key);
        for &step in path {
            key = mixed ^ step;
            mixed = split_mix(&mut key);
        }
        Self {
            state: std::array::from_fn(|_| split_mix(&mut mixed)),
        }
    }

    pub(crate) fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Uniform over the range; for ranges of 32 bits the bias is below 2⁻³².
    pub(crate) fn uniform(&mut self, range: RangeInclusive<u32>) -> u32 {
        let (low, high) = range.into_inner();
        let size = u64::from(high - low) + 1;
        low + ((u128::from(self.next_u64()) * u128::from(size)) >> 64) as u32
    }

    /// Whether a one of `percent` in a hundred was drawn.
    pub(crate) fn percent(&mut self, percent: u32) -> bool {
        self.uniform(1..=100) <= percent
    }

    /// NURand(A, x, y) of clause 2.1.6.
    fn nurand(&mut self, a: u32, c: u32, range: RangeInclusive<u32>) -> u32 {
        let (x, y) = (*range.start(), *range.end());
        let mixed = self.uniform(0..=a) | self.uniform(range);
        (mixed + c) % (y - x + 1) + x
    }

    /// The number behind a last name; `c[0]` of the load or of the run.
    pub(crate) fn nurand_last(&mut self, c: &[u32; 3]) -> u32 {
        self.nurand(A_LAST, c[0], 0..=999)
    }

    pub(crate) fn nurand_customer(&mut self, c: &[u32; 3]) -> u32 {
        self.nurand(A_CUSTOMER, c[1], 1..=super::CUSTOMERS)
    }

    pub(crate) fn nurand_item(&mut self, c: &[u32; 3]) -> u32 {
        self.nurand(A_ITEM, c[2], 1..=super::ITEMS)
    }

    /// A warehouse other than `home`; home itself where there is no other.
    pub(crate) fn other_warehouse(&mut self, home: u32, warehouses: u32) -> u32 {
        if warehouses < 2 {
            return home;
        }
        // Drawn from one fewer, with those from home on moved up: never home, all others alike.
        let drawn = self.uniform(1..=warehouses - 1);
        drawn + u32::from(drawn >= home)
    }

    /// Random alphanumeric string, its length uniform over the range (clause 4.3.2.2).
    pub(crate) fn a_string<const N: usize>(&mut self, length: RangeInclusive<u32>) -> Text<N> {
        let mut text = Text::filled(self.uniform(length) as usize);
        self.fill(&mut text.bytes[..text.length as usize], ALPHANUMERIC);
        text
    }

    /// Random numeric string.
    pub(crate) fn n_string<const N: usize>(&mut self, length: RangeInclusive<u32>) -> Text<N> {
        let mut text = Text::filled(self.uniform(length) as usize);
        self.fill(&mut text.bytes[..text.length as usize], b"0123456789");
        text
    }

    fn fill(&mut self, bytes: &mut [u8], alphabet: &[u8]) {
        let size = alphabet.len() as u128;
        // A 64-bit draw is a fraction; its first eight digits to base 62 are uniform to 2⁻¹⁶.
        for chunk in bytes.chunks_mut(8) {
            let mut fraction = self.next_u64();
            for byte in chunk {
                let product = u128::from(fraction) * size;
                *byte = alphabet[(product >> 64) as usize];
                fraction = product as u64;
            }
        }
    }

    /// Four random digits and five ones (clause 4.3.2.7).
    pub(crate) fn zip(&mut self) -> Text<9> {
        let mut zip = Text::filled(9);
        self.fill(&mut zip.bytes[..4], b"0123456789");
        zip.bytes[4..].fill(b'1');
        zip
    }

    /// An a-string of 26 to 50 characters; one in ten holds ORIGINAL somewhere (clause 4.3.3.1).
    pub(crate) fn data(&mut self) -> Text<50> {
        let mut data = self.a_string(26..=50);
        if self.percent(10) {
            let at = self.uniform(0..=u32::from(data.length) - ORIGINAL.len() as u32) as usize;
            data.bytes[at..at + ORIGINAL.len()].copy_from_slice(ORIGINAL);
        }
        data
    }

    /// A random order of the slice, every one as likely (Fisher and Yates).
    pub(crate) fn shuffle<T>(&mut self, slice: &mut [T]) {
        for last in (1..slice.len()).rev() {
            slice.swap(last, self.uniform(0..=last as u32) as usize);
        }
    }
}

const ALPHANUMERIC: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/// What makes an item and a stock a brand (clause 2.4.2.2).
pub(crate) const ORIGINAL: &[u8] = b"ORIGINAL";

const SYLLABLES: [&str; 10] = [
    "BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING",
];

/// The last name of a number below 1000: a syllable for each digit (clause 4.3.2.3).
pub(crate) fn last_name(number: u32) -> Text<16> {
    let mut name = Text::filled(0);
    for digit in [number / 100, number / 10 % 10, number % 10] {
        name.push(SYLLABLES[digit as usize].as_bytes());
    }
    name
}

/// A short ASCII string held in place, so that generating rows allocates nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Text<const N: usize> {
    length: u16,
    bytes: [u8; N],
}

impl<const N: usize> Text<N> {
    fn filled(length: usize) -> Self {
        assert!(length <= N);
        Self {
            length: length as u16,
            bytes: [b' '; N],
        }
    }

    fn push(&mut self, more: &[u8]) {
        let start = self.length as usize;
        self.bytes[start..start + more.len()].copy_from_slice(more);
        self.length += more.len() as u16;
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length as usize]
    }

    pub(crate) fn as_str(&self) -> &str {
        // Only ASCII is ever written.
        std::str::from_utf8(self.as_bytes()).unwrap_or_default()
    }
}

/// The C constants of one seed, for the load and for runs.
///
/// The last name's differ by 65 to 119, but not by 96 or 112 (clause 2.1.6.1). Nothing of the kind is
/// asked of the other two, which the load does not draw from.
pub(crate) fn draw_constants(seed: u64) -> ([u32; 3], [u32; 3]) {
    let mut random = Random::stream(seed, &[super::stream::CONSTANTS]);
    let load = [
        random.uniform(0..=A_LAST),
        random.uniform(0..=A_CUSTOMER),
        random.uniform(0..=A_ITEM),
    ];
    let last = loop {
        let drawn = random.uniform(0..=A_LAST);
        if last_constants_allowed(load[0], drawn) {
            break drawn;
        }
    };
    let run = [
        last,
        random.uniform(0..=A_CUSTOMER),
        random.uniform(0..=A_ITEM),
    ];
    (load, run)
}

fn last_constants_allowed(load: u32, run: u32) -> bool {
    let delta = load.abs_diff(run);
    (65..=119).contains(&delta) && delta != 96 && delta != 112
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_generators_follow_their_published_vectors() {
        let mut state = 1_234_567;
        let drawn: [u64; 5] = std::array::from_fn(|_| split_mix(&mut state));
        assert_eq!(
            drawn,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423,
                4_593_380_528_125_082_431,
                16_408_922_859_458_223_821
            ]
        );
        let mut random = Random {
            state: [1, 2, 3, 4],
        };
        let drawn: [u64; 6] = std::array::from_fn(|_| random.next_u64());
        assert_eq!(
            drawn,
            [
                41_943_041,
                58_720_359,
                3_588_806_011_781_223,
                3_591_011_842_654_386,
                9_228_616_714_210_784_205,
                9_973_669_472_204_895_162
            ]
        );
    }

    #[test]
    fn last_names_are_those_of_the_clause() {
        assert_eq!(last_name(0).as_str(), "BARBARBAR");
        assert_eq!(last_name(371).as_str(), "PRICALLYOUGHT");
        assert_eq!(last_name(40).as_str(), "BARPRESBAR");
        assert_eq!(last_name(999).as_str(), "EINGEINGEING");
        let longest = (0..1000).map(|n| last_name(n).as_bytes().len()).max();
        assert_eq!(longest, Some(15));
    }

    #[test]
    fn the_hottest_hundredth_of_items_gets_a_third_of_the_lines() {
        let mut random = Random::stream(7, &[1]);
        let (_, c) = draw_constants(7);
        let mut counts = vec![0_u32; 100_001];
        let draws = 1_000_000;
        for _ in 0..draws {
            counts[random.nurand_item(&c) as usize] += 1;
        }
        assert_eq!(counts[0], 0);
        counts.sort_unstable_by_key(|&count| std::cmp::Reverse(count));
        let hottest: u32 = counts[..1000].iter().sum();
        let share = f64::from(hottest) / f64::from(draws);
        assert!((0.29..0.33).contains(&share), "{share}");
    }

    #[test]
    fn a_tenth_of_the_data_is_original() {
        let mut random = Random::stream(3, &[]);
        let original = (0..100_000)
            .filter(|_| {
                let data = random.data();
                data.as_bytes().windows(8).any(|window| window == ORIGINAL)
            })
            .count();
        assert!((9_500..10_500).contains(&original), "{original}");
    }

    proptest! {
        #[test]
        fn constants_obey_the_clause(seed: u64) {
            let (load, run) = draw_constants(seed);
            prop_assert!(last_constants_allowed(load[0], run[0]));
            prop_assert!(load[0].max(run[0]) <= 255);
            prop_assert!(load[1].max(run[1]) <= 1023);
            prop_assert!(load[2].max(run[2]) <= 8191);
        }

        #[test]
        fn uniform_stays_within_its_range(seed: u64, low in 0..1000_u32, more in 0..1000_u32) {
            let mut random = Random::stream(seed, &[]);
            for _ in 0..100 {
                prop_assert!((low..=low + more).contains(&random.uniform(low..=low + more)));
            }
        }

        #[test]
        fn strings_have_their_length_and_alphabet(seed: u64) {
            let mut random = Random::stream(seed, &[]);
            let text: Text<500> = random.a_string(300..=500);
            prop_assert!((300..=500).contains(&text.as_bytes().len()));
            prop_assert!(text.as_bytes().iter().all(u8::is_ascii_alphanumeric));
            let digits: Text<16> = random.n_string(16..=16);
            prop_assert!(digits.as_bytes().iter().all(u8::is_ascii_digit));
            prop_assert!(random.zip().as_str().ends_with("11111"));
        }

        #[test]
        fn another_warehouse_is_never_home(seed: u64, warehouses in 2..50_u32, home in 1..50_u32) {
            let home = (home - 1) % warehouses + 1;
            let mut random = Random::stream(seed, &[]);
            for _ in 0..100 {
                let other = random.other_warehouse(home, warehouses);
                prop_assert!(other != home && (1..=warehouses).contains(&other));
            }
        }
    }

    #[test]
    fn every_other_warehouse_occurs() {
        let mut random = Random::stream(1, &[]);
        let mut seen = [0_u32; 6];
        for _ in 0..4_000 {
            seen[random.other_warehouse(2, 5) as usize] += 1;
        }
        assert_eq!(seen[0] + seen[2], 0);
        for warehouse in [1, 3, 4, 5] {
            assert!((800..1200).contains(&seen[warehouse]), "{seen:?}");
        }
    }

    #[test]
    fn streams_differ_by_every_step_of_their_path() {
        let paths: [&[u64]; 5] = [&[], &[0], &[1], &[0, 1], &[1, 0]];
        let drawn = paths.map(|path| Random::stream(9, path).next_u64());
        for (i, one) in drawn.iter().enumerate() {
            assert!(drawn[..i].iter().all(|other| other != one));
        }
    }
}
