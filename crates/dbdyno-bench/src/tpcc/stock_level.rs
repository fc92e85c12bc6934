//! Input of the Stock-Level transaction (clause 2.8.1).

use super::DISTRICTS;
use super::random::Random;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StockLevelInput {
    pub(crate) warehouse: u32,
    pub(crate) district: u32,
    pub(crate) threshold: u32,
}

pub(crate) fn draw(random: &mut Random, home: u32) -> StockLevelInput {
    StockLevelInput {
        warehouse: home,
        district: random.uniform(1..=DISTRICTS),
        threshold: random.uniform(10..=20),
    }
}
