//! Input of the Delivery transaction (clause 2.7.1).

use super::random::Random;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DeliveryInput {
    pub(crate) warehouse: u32,
    pub(crate) carrier: u32,
}

pub(crate) fn draw(random: &mut Random, home: u32) -> DeliveryInput {
    DeliveryInput {
        warehouse: home,
        carrier: random.uniform(1..=10),
    }
}
