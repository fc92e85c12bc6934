//! Input of the Payment transaction (clause 2.5.1).

use super::DISTRICTS;
use super::customer::Customer;
use super::random::Random;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PaymentInput {
    pub(crate) warehouse: u32,
    pub(crate) district: u32,
    pub(crate) customer_warehouse: u32,
    pub(crate) customer_district: u32,
    pub(crate) customer: Customer,
    pub(crate) amount_cents: i64,
}

/// 15 % pay for a customer of another warehouse, where there is one.
pub(crate) fn draw(random: &mut Random, home: u32, warehouses: u32, c: &[u32; 3]) -> PaymentInput {
    let district = random.uniform(1..=DISTRICTS);
    let remote = random.percent(15) && warehouses > 1;
    let (customer_warehouse, customer_district) = if remote {
        let other = random.other_warehouse(home, warehouses);
        (other, random.uniform(1..=DISTRICTS))
    } else {
        (home, district)
    };
    PaymentInput {
        warehouse: home,
        district,
        customer_warehouse,
        customer_district,
        customer: Customer::draw(random, c),
        amount_cents: i64::from(random.uniform(100..=500_000)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tpcc::constants;

    #[test]
    fn shares_are_those_of_the_clause() {
        let mut random = Random::stream(21, &[]);
        let c = constants(21).c_run;
        let (mut remote, mut by_name) = (0, 0);
        for _ in 0..20_000 {
            let input = draw(&mut random, 4, 10, &c);
            assert!((100..=500_000).contains(&input.amount_cents));
            assert!((1..=10).contains(&input.customer_district));
            if input.customer_warehouse == 4 {
                assert_eq!(input.customer_district, input.district);
            } else {
                remote += 1;
            }
            by_name += i32::from(matches!(input.customer, Customer::LastName(_)));
        }
        // Four standard deviations around 3,000 and 12,000.
        assert!((2_798..3_202).contains(&remote), "{remote}");
        assert!((11_722..12_278).contains(&by_name), "{by_name}");
    }

    #[test]
    fn one_warehouse_pays_at_home() {
        let mut random = Random::stream(22, &[]);
        let c = constants(22).c_run;
        for _ in 0..2_000 {
            let input = draw(&mut random, 1, 1, &c);
            assert_eq!(
                (input.customer_warehouse, input.customer_district),
                (1, input.district)
            );
        }
    }
}
