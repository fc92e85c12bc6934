//! The rows of the load (clause 4.3.3.1): pure functions of seed, table, warehouse and district.

use super::random::{Random, Text, last_name};
use super::{CUSTOMERS, DISTRICTS, FIRST_NEW_ORDER, ITEMS, ORDERS, constants, stream};

/// 2026-01-01 00:00 UTC in seconds of the Unix epoch: "now" of every load, so that a seed gives the
/// same bytes whenever it is loaded.
pub(crate) const LOADED_AT: i64 = 1_767_225_600;

pub(crate) struct Address {
    pub(crate) street_1: Text<20>,
    pub(crate) street_2: Text<20>,
    pub(crate) city: Text<20>,
    pub(crate) state: Text<2>,
    pub(crate) zip: Text<9>,
}

impl Address {
    fn draw(random: &mut Random) -> Self {
        Self {
            street_1: random.a_string(10..=20),
            street_2: random.a_string(10..=20),
            city: random.a_string(10..=20),
            state: random.a_string(2..=2),
            zip: random.zip(),
        }
    }
}

pub(crate) struct Warehouse {
    pub(crate) id: u32,
    pub(crate) name: Text<10>,
    pub(crate) address: Address,
    /// In ten-thousandths.
    pub(crate) tax: i64,
    pub(crate) ytd_cents: i64,
}

pub(crate) fn warehouse(seed: u64, id: u32) -> Warehouse {
    let mut random = Random::stream(seed, &[stream::WAREHOUSE, u64::from(id)]);
    Warehouse {
        id,
        name: random.a_string(6..=10),
        address: Address::draw(&mut random),
        tax: i64::from(random.uniform(0..=2000)),
        ytd_cents: 30_000_000,
    }
}

pub(crate) struct District {
    pub(crate) id: u32,
    pub(crate) warehouse: u32,
    pub(crate) name: Text<10>,
    pub(crate) address: Address,
    pub(crate) tax: i64,
    pub(crate) ytd_cents: i64,
    pub(crate) next_order: u32,
}

pub(crate) fn districts(seed: u64, warehouse: u32) -> impl Iterator<Item = District> {
    let mut random = Random::stream(seed, &[stream::DISTRICT, u64::from(warehouse)]);
    (1..=DISTRICTS).map(move |id| District {
        id,
        warehouse,
        name: random.a_string(6..=10),
        address: Address::draw(&mut random),
        tax: i64::from(random.uniform(0..=2000)),
        ytd_cents: 3_000_000,
        next_order: ORDERS + 1,
    })
}

pub(crate) struct Customer {
    pub(crate) id: u32,
    pub(crate) first: Text<16>,
    pub(crate) last: Text<16>,
    pub(crate) address: Address,
    pub(crate) phone: Text<16>,
    pub(crate) bad_credit: bool,
    pub(crate) discount: i64,
    pub(crate) data: Text<500>,
}

pub(crate) fn customers(
    seed: u64,
    warehouse: u32,
    district: u32,
) -> impl Iterator<Item = Customer> {
    let mut random = in_district(seed, stream::CUSTOMER, warehouse, district);
    let c = constants(seed).c_load;
    (1..=CUSTOMERS).map(move |id| Customer {
        id,
        first: random.a_string(8..=16),
        // Each name once, then non-uniform.
        last: last_name(if id <= 1000 {
            id - 1
        } else {
            random.nurand_last(&c)
        }),
        address: Address::draw(&mut random),
        phone: random.n_string(16..=16),
        bad_credit: random.percent(10),
        discount: i64::from(random.uniform(0..=5000)),
        data: random.a_string(300..=500),
    })
}

pub(crate) struct History {
    pub(crate) customer: u32,
    pub(crate) amount_cents: i64,
    pub(crate) data: Text<24>,
}

pub(crate) fn history(seed: u64, warehouse: u32, district: u32) -> impl Iterator<Item = History> {
    let mut random = in_district(seed, stream::HISTORY, warehouse, district);
    (1..=CUSTOMERS).map(move |customer| History {
        customer,
        amount_cents: 1_000,
        data: random.a_string(12..=24),
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) id: u32,
    pub(crate) customer: u32,
    /// Seconds of the Unix epoch.
    pub(crate) entered_at: i64,
    /// None while the order is new.
    pub(crate) carrier: Option<u32>,
    pub(crate) lines: u32,
}

/// Orders of a district; their customers are a permutation of all. New orders have no carrier.
pub(crate) fn orders(seed: u64, warehouse: u32, district: u32) -> impl Iterator<Item = Order> {
    let mut random = in_district(seed, stream::ORDERS, warehouse, district);
    let mut customers: Vec<u32> = (1..=CUSTOMERS).collect();
    random.shuffle(&mut customers);
    (1..=ORDERS).zip(customers).map(move |(id, customer)| {
        let carrier = random.uniform(1..=10);
        Order {
            id,
            customer,
            entered_at: LOADED_AT + i64::from(id),
            carrier: (id < FIRST_NEW_ORDER).then_some(carrier),
            lines: random.uniform(5..=15),
        }
    })
}

pub(crate) struct OrderLine {
    pub(crate) order: u32,
    pub(crate) number: u32,
    pub(crate) item: u32,
    pub(crate) delivered_at: Option<i64>,
    pub(crate) quantity: u32,
    pub(crate) amount_cents: i64,
    pub(crate) dist_info: Text<24>,
}

/// Lines of all orders of a district, in the orders' order.
pub(crate) fn order_lines(
    seed: u64,
    warehouse: u32,
    district: u32,
) -> impl Iterator<Item = OrderLine> {
    let mut random = in_district(seed, stream::ORDER_LINE, warehouse, district);
    orders(seed, warehouse, district)
        .flat_map(|order| (1..=order.lines).map(move |number| (order, number)))
        .map(move |(order, number)| OrderLine {
            order: order.id,
            number,
            item: random.uniform(1..=ITEMS),
            delivered_at: order.carrier.map(|_| order.entered_at),
            quantity: 5,
            amount_cents: match order.carrier {
                Some(_) => 0,
                None => i64::from(random.uniform(1..=999_999)),
            },
            dist_info: random.a_string(24..=24),
        })
}

pub(crate) struct Item {
    pub(crate) id: u32,
    pub(crate) image: u32,
    pub(crate) name: Text<24>,
    pub(crate) price_cents: i64,
    pub(crate) data: Text<50>,
}

pub(crate) fn items(seed: u64) -> impl Iterator<Item = Item> {
    let mut random = Random::stream(seed, &[stream::ITEM]);
    (1..=ITEMS).map(move |id| Item {
        id,
        image: random.uniform(1..=10_000),
        name: random.a_string(14..=24),
        price_cents: i64::from(random.uniform(100..=10_000)),
        data: random.data(),
    })
}

pub(crate) struct Stock {
    pub(crate) item: u32,
    pub(crate) quantity: u32,
    pub(crate) dist_info: [Text<24>; DISTRICTS as usize],
    pub(crate) data: Text<50>,
}

pub(crate) fn stock(seed: u64, warehouse: u32) -> impl Iterator<Item = Stock> {
    let mut random = Random::stream(seed, &[stream::STOCK, u64::from(warehouse)]);
    (1..=ITEMS).map(move |item| Stock {
        item,
        quantity: random.uniform(10..=100),
        dist_info: std::array::from_fn(|_| random.a_string(24..=24)),
        data: random.data(),
    })
}

fn in_district(seed: u64, table: u64, warehouse: u32, district: u32) -> Random {
    Random::stream(seed, &[table, u64::from(warehouse), u64::from(district)])
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_orders_of_a_district_are_as_the_clause_says() {
        let orders: Vec<Order> = orders(1, 2, 3).collect();
        assert_eq!(orders.len(), 3000);
        let customers: HashSet<u32> = orders.iter().map(|order| order.customer).collect();
        assert_eq!(customers.len(), 3000);
        assert!(orders.iter().all(|order| (5..=15).contains(&order.lines)));
        assert_eq!(
            orders
                .iter()
                .filter(|order| order.carrier.is_none())
                .count(),
            900
        );
        assert!(orders[2099].carrier.is_some() && orders[2100].carrier.is_none());
    }

    #[test]
    fn lines_belong_to_their_orders() {
        let counts: Vec<u32> = orders(1, 1, 1).map(|order| order.lines).collect();
        let mut seen = vec![0; counts.len()];
        for line in order_lines(1, 1, 1) {
            seen[line.order as usize - 1] += 1;
            assert_eq!(line.number, seen[line.order as usize - 1]);
            assert_eq!(line.delivered_at.is_some(), line.order < FIRST_NEW_ORDER);
            assert_eq!(line.amount_cents == 0, line.order < FIRST_NEW_ORDER);
        }
        assert_eq!(seen, counts);
    }

    #[test]
    fn the_first_thousand_customers_bear_each_name_once() {
        let customers: Vec<Customer> = customers(1, 1, 1).collect();
        let names: HashSet<String> = customers[..1000]
            .iter()
            .map(|customer| customer.last.as_str().to_owned())
            .collect();
        assert_eq!(names.len(), 1000);
        let bad = customers
            .iter()
            .filter(|customer| customer.bad_credit)
            .count();
        assert!((230..370).contains(&bad), "{bad}");
    }

    #[test]
    fn rows_depend_on_seed_warehouse_and_district() {
        let first = |seed, warehouse, district| {
            let order = orders(seed, warehouse, district).next();
            order.map(|order| (order.customer, order.lines))
        };
        assert_eq!(first(1, 1, 1), first(1, 1, 1));
        let drawn: HashSet<_> = [(1, 1, 1), (2, 1, 1), (1, 2, 1), (1, 1, 2)]
            .map(|(seed, warehouse, district)| first(seed, warehouse, district))
            .into();
        assert_eq!(drawn.len(), 4);
    }
}
