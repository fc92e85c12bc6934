//! Each condition on figures made by hand: silent where they agree, named where they do not.

use std::collections::BTreeSet;

use super::super::figures::{Customer, CustomerRow, District, DistrictRow, OrderRow};
use super::*;

/// A district with an order that was delivered, one that was not, and their two customers.
fn sound() -> Figures {
    let mut figures = Figures::default();
    figures.warehouses.insert(1, 3_000);
    let district = District {
        row: Some(DistrictRow {
            next_order: 3,
            ytd: 3_000,
        }),
        received: Some(3_000),
        ..District::default()
    };
    figures.districts.insert((1, 1), district);
    for (id, carrier) in [(1, Some(4)), (2, None)] {
        let delivered = carrier.is_some();
        let order = Order {
            row: Some(OrderRow {
                customer: id,
                ol_cnt: 5,
                carrier,
            }),
            lines: 5,
            delivered: if delivered { 5 } else { 0 },
            amount: if delivered { 700 } else { 0 },
            is_new: !delivered,
        };
        figures.orders.insert((1, 1, id), order);
        let delivered = if delivered { 700 } else { 0 };
        let customer = Customer {
            row: Some(CustomerRow {
                balance: delivered - 1_500,
                ytd_payment: 1_500,
            }),
            delivered: 0,
            paid: 1_500,
        };
        figures.customers.insert((1, 1, id), customer);
    }
    figures
}

/// Numbers of the conditions that fail.
fn failing(mut figures: Figures) -> BTreeSet<usize> {
    figures.add_up();
    let mut found = Found::default();
    found.examine(&figures, When::AfterRun);
    let failed = found
        .into_checks(When::AfterRun)
        .into_iter()
        .enumerate()
        .filter(|(_, check)| !check.passed);
    failed
        .map(|(index, check)| {
            let detail = check.detail.unwrap();
            assert!(detail.starts_with("warehouse 1"), "{detail}");
            index + 1
        })
        .collect()
}

fn damaged(damage: impl FnOnce(&mut Figures)) -> Vec<usize> {
    let mut figures = sound();
    damage(&mut figures);
    failing(figures).into_iter().collect()
}

fn order(figures: &mut Figures, id: i64) -> &mut Order {
    figures.orders.get_mut(&(1, 1, id)).unwrap()
}

#[test]
fn sound_figures_pass() {
    assert_eq!(failing(sound()), BTreeSet::new());
}

#[test]
fn every_condition_sees_its_damage() {
    let ytd = |figures: &mut Figures| {
        figures.warehouses.insert(1, 3_001);
    };
    assert_eq!(damaged(ytd), [1, 8]);
    let district = |figures: &mut Figures| {
        let district = figures.districts.get_mut(&(1, 1)).unwrap();
        district.row.as_mut().unwrap().next_order += 1;
        district.received = Some(2_999);
    };
    assert_eq!(damaged(district), [2, 8, 9]);
    let gap = |figures: &mut Figures| {
        let order = order(figures, 1);
        order.row.as_mut().unwrap().carrier = None;
        order.is_new = true;
        (order.delivered, order.amount) = (0, 0);
        figures
            .customers
            .get_mut(&(1, 1, 1))
            .unwrap()
            .row
            .as_mut()
            .unwrap()
            .balance = -1_500;
    };
    assert!(damaged(gap).is_empty());
    let missing = |figures: &mut Figures| order(figures, 2).is_new = false;
    assert_eq!(damaged(missing), [5, 11]);
    let lines = |figures: &mut Figures| order(figures, 2).lines = 4;
    assert_eq!(damaged(lines), [4, 6]);
    let undelivered = |figures: &mut Figures| order(figures, 1).delivered = 4;
    assert_eq!(damaged(undelivered), [7]);
    let balance = |figures: &mut Figures| {
        let customer = figures.customers.get_mut(&(1, 1, 1)).unwrap();
        customer.paid += 1;
    };
    assert_eq!(damaged(balance), [10]);
    let payment = |figures: &mut Figures| {
        let customer = figures.customers.get_mut(&(1, 1, 1)).unwrap();
        customer.row.as_mut().unwrap().ytd_payment += 1;
    };
    assert_eq!(damaged(payment), [12]);
}

#[test]
fn rows_without_parents_are_seen() {
    let orphans = |figures: &mut Figures| {
        let lines = Order {
            lines: 3,
            delivered: 3,
            ..Order::default()
        };
        figures.orders.insert((1, 7, 9), lines);
    };
    assert_eq!(damaged(orphans), [4, 6, 7]);
    let orphan = |figures: &mut Figures| {
        let alone = |id| {
            let order = Order {
                is_new: true,
                ..Order::default()
            };
            ((1, 7, id), order)
        };
        figures.orders.extend([alone(3), alone(5)]);
    };
    assert_eq!(damaged(orphan), [3, 5]);
}

#[test]
fn a_load_leaves_2100_orders_delivered() {
    let mut figures = sound();
    figures.add_up();
    let mut found = Found::default();
    found.examine(&figures, When::AfterLoad);
    let detail = "warehouse 1, district 1: 2 orders, 1 new orders";
    assert_eq!(found.violations[10].shown, [detail]);
}

#[test]
fn money_has_two_decimals() {
    assert_eq!(money(Some(-5)), "-0.05");
    assert_eq!(money(Some(123_456)), "1234.56");
    assert_eq!(money(None), "null");
}

#[test]
fn orders_are_lacking_where_numbers_were_taken_for_more() {
    let mut figures = sound();
    figures.add_up();
    assert!(!figures.lack_orders());
    figures.orders.remove(&(1, 1, 1));
    for district in figures.districts.values_mut() {
        district.orders = 0;
    }
    figures.add_up();
    assert!(figures.lack_orders());
}
