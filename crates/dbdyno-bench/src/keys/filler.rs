//! The letters of a row beside its key: slices of one random text, since drawing each would cost the
//! driver more than the insert.

use super::stream;
use crate::tables::numbers::{below, mix};
use crate::tpcc::random::Random;

/// Places at which a slice may begin.
const PLACES: u64 = 16_384;

/// Nothing that COPY, LOAD DATA or SQL would read as anything but itself.
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

#[derive(Debug)]
pub(super) struct Filler {
    text: String,
    length: usize,
    offsets: u64,
}

impl Filler {
    /// Of rows of so many letters.
    pub(super) fn new(seed: u64, letters: u32) -> Self {
        let mut random = Random::stream(seed, &[stream::FILLER]);
        let length = letters as usize;
        let mut text = String::with_capacity(PLACES as usize + length);
        while text.len() < PLACES as usize + length {
            let letter = LETTERS[(random.next_u64() >> 58) as usize];
            text.push(char::from(letter));
        }
        Self {
            text,
            length,
            offsets: Random::stream(seed, &[stream::OFFSETS]).next_u64(),
        }
    }

    /// Of the loaded row of this rank.
    pub(super) fn of_rank(&self, rank: u64) -> &str {
        self.at((mix(self.offsets, rank) % PLACES) as u32)
    }

    pub(super) fn draw(random: &mut Random) -> u32 {
        below(random, PLACES.into()) as u32
    }

    /// What [`Self::draw`] stands for.
    pub(super) fn at(&self, place: u32) -> &str {
        let place = place as usize;
        &self.text[place..place + self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slice_has_its_length_and_rows_differ() {
        let filler = Filler::new(1, 100);
        let mut random = Random::stream(2, &[]);
        for rank in 0..2_000 {
            assert_eq!(filler.of_rank(rank).len(), 100);
            assert_eq!(filler.at(Filler::draw(&mut random)).len(), 100);
        }
        assert_eq!(filler.at(PLACES as u32 - 1).len(), 100);
        assert_ne!(filler.of_rank(0), filler.of_rank(1));
        assert_eq!(filler.of_rank(5), Filler::new(1, 100).of_rank(5));
        assert_ne!(filler.of_rank(5), Filler::new(2, 100).of_rank(5));
    }
}
