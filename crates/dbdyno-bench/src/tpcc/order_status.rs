//! Input of the Order-Status transaction (clause 2.6.1).

use super::DISTRICTS;
use super::customer::Customer;
use super::random::Random;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OrderStatusInput {
    pub(crate) warehouse: u32,
    pub(crate) district: u32,
    pub(crate) customer: Customer,
}

pub(crate) fn draw(random: &mut Random, home: u32, c: &[u32; 3]) -> OrderStatusInput {
    OrderStatusInput {
        warehouse: home,
        district: random.uniform(1..=DISTRICTS),
        customer: Customer::draw(random, c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tpcc::constants;

    #[test]
    fn three_in_five_ask_by_last_name() {
        let mut random = Random::stream(31, &[]);
        let c = constants(31).c_run;
        let by_name = (0..20_000)
            .filter(|_| matches!(draw(&mut random, 1, &c).customer, Customer::LastName(_)))
            .count();
        assert!((11_722..12_278).contains(&by_name), "{by_name}");
    }
}
