//! The consistency conditions of clause 3.3.2, compared here from what the server adds up.
//!
//! A warehouse is read in one snapshot, so that the answer is right even while others write, on one of
//! a few connections. MySQL can read from a snapshot into a temporary table as little as it can share
//! one between connections: CREATE TABLE … SELECT locks what it reads, and reads what is there now.
//! So the sums come here, and nothing is needed but the right to read.

use dbdyno_model::connection::Connection;
use dbdyno_model::run::Check;

use super::connect;
use super::figures::{Figures, Order, Reader};
use crate::driver::target;
use crate::share::{connections, share};
use crate::tpcc::Config;
use crate::tpcc::conditions::{Found, Part, When, parts};
use crate::tpcc::load_error::ClientError;
use crate::tpcc::names::{Layout, Names};
use crate::wire::Link;
use crate::wire::{Target, WireError};

/// Orders of a district that a load leaves delivered.
const DELIVERED: i64 = 2_100;

/// Checks all conditions; takes about half a second of one connection for each warehouse.
pub(crate) fn check(
    connect: &Connection,
    config: &Config,
    when: When,
) -> Result<Vec<Check>, ClientError> {
    let target = target(connect)?;
    let sets: Vec<Names> = config.names().collect();
    let mut all = Vec::new();
    let mut link = connect::open_at(&target)?;
    for names in &sets {
        all.extend(parts(names, &warehouses(&mut link, names)?));
    }
    drop(link);
    let found = share(
        connections(),
        &all,
        &|| Ok(Snapshot::open(&target)?),
        &|snapshot: &mut Snapshot, part: &Part<'_>| {
            let figures = snapshot.read(part)?;
            let mut found = Found::default();
            found.examine(&figures, when);
            found.purged = config.layout == Layout::Sysbench && figures.lack_orders();
            Ok(found)
        },
    )?;
    Ok(Found::of(&all, found).into_checks(when))
}

/// A connection that sees the data as they were when it was opened.
struct Snapshot {
    link: Link,
    /// For the set that was read last. Parts come set after set.
    reader: Option<(Option<u32>, Reader)>,
}

impl Snapshot {
    fn open(target: &Target) -> Result<Self, WireError> {
        let mut link = connect::open_at(target)?;
        link.run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")?;
        link.run("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")?;
        let reader = None;
        Ok(Self { link, reader })
    }

    fn read(&mut self, part: &Part<'_>) -> Result<Figures, WireError> {
        let set = part.names.set();
        let reader = match self.reader.take() {
            Some((of, reader)) if of == set => reader,
            _ => Reader::prepare(&mut self.link, part.names)?,
        };
        let figures = reader.read(&mut self.link, part.range);
        self.reader = Some((set, reader));
        figures
    }
}

fn warehouses(link: &mut Link, names: &Names) -> Result<Vec<i16>, WireError> {
    let mut ids = Vec::new();
    let sql = names.sql("SELECT w_id FROM {warehouse} ORDER BY w_id");
    link.rows(&sql, |mut row| {
        let id = row.int()?;
        ids.push(i16::try_from(id).map_err(|_| WireError::protocol("w_id is no smallint"))?);
        Ok(())
    })?;
    Ok(ids)
}

impl Found {
    /// Counts a violation of condition 3.3.2.`number`.
    fn add(&mut self, number: usize, sentence: impl FnOnce() -> String) {
        self.violations[number - 1].add(sentence);
    }

    fn examine(&mut self, figures: &Figures, when: When) {
        self.warehouses(figures);
        self.district_rows(figures, when);
        self.district_orders(figures);
        self.orders(figures);
        self.customers(figures);
    }

    /// Conditions 1 and 8.
    fn warehouses(&mut self, figures: &Figures) {
        for (&w, &ytd) in &figures.warehouses {
            let districts = || figures.districts.range((w, i64::MIN)..=(w, i64::MAX));
            let total = sum(districts().map(|(_, district)| Some(district.row?.ytd)));
            if Some(ytd) != total {
                self.add(1, || {
                    let (ytd, total) = (money(Some(ytd)), money(total));
                    format!("warehouse {w}: w_ytd {ytd}, sum(d_ytd) {total}")
                });
            }
            let total = sum(districts().map(|(_, district)| district.received));
            if Some(ytd) != total {
                self.add(8, || {
                    let (ytd, total) = (money(Some(ytd)), money(total));
                    format!("warehouse {w}: w_ytd {ytd}, sum(h_amount) {total}")
                });
            }
        }
    }

    /// Conditions 2, 9 and 11, of districts that there are.
    fn district_rows(&mut self, figures: &Figures, when: When) {
        for (&(w, d), district) in &figures.districts {
            let Some(row) = district.row else { continue };
            let (next, last) = (row.next_order, district.last_order);
            let last_new = district.new_range.map(|(_, last)| last);
            if Some(next - 1) != last || last_new.is_some_and(|new| next - 1 != new) {
                self.add(2, || {
                    let (last, last_new) = (number(last), number(last_new));
                    format!(
                        "warehouse {w}, district {d}: d_next_o_id {next}, max(o_id) {last}, \
                         max(no_o_id) {last_new}"
                    )
                });
            }
            if Some(row.ytd) != district.received {
                self.add(9, || {
                    let (ytd, total) = (money(Some(row.ytd)), money(district.received));
                    format!("warehouse {w}, district {d}: d_ytd {ytd}, sum(h_amount) {total}")
                });
            }
            let (orders, new) = (district.orders, district.new_orders);
            let carried = district.carried;
            match when {
                When::AfterLoad if orders - new != DELIVERED => self.add(11, || {
                    format!("warehouse {w}, district {d}: {orders} orders, {new} new orders")
                }),
                When::AfterRun if orders - new != carried => self.add(11, || {
                    format!(
                        "warehouse {w}, district {d}: {orders} orders, {new} new orders, \
                         {carried} with a carrier"
                    )
                }),
                When::AfterLoad | When::AfterRun => {}
            }
        }
    }

    /// Conditions 3 and 4, also of districts that there are not.
    fn district_orders(&mut self, figures: &Figures) {
        for (&(w, d), district) in &figures.districts {
            let new = district.new_orders;
            if let Some((first, last)) = district.new_range
                && last - first + 1 != new
            {
                self.add(3, || {
                    format!(
                        "warehouse {w}, district {d}: no_o_id {first} to {last}, {new} new orders"
                    )
                });
            }
            let (ol_cnt, lines) = (district.ol_cnt, district.lines);
            if ol_cnt != lines {
                self.add(4, || {
                    format!(
                        "warehouse {w}, district {d}: sum(o_ol_cnt) {ol_cnt}, {lines} order lines"
                    )
                });
            }
        }
    }

    /// Conditions 5, 6 and 7.
    fn orders(&mut self, figures: &Figures) {
        for (&(w, d, id), order) in &figures.orders {
            let place = || format!("warehouse {w}, district {d}, order {id}");
            let carrier = order.row.and_then(|row| row.carrier);
            self.new_order(order, &place);
            let &Order {
                lines, delivered, ..
            } = order;
            let ol_cnt = order.row.map(|row| row.ol_cnt);
            // Rows of new_order alone have neither an order nor lines to compare.
            if (order.row.is_some() || lines > 0) && ol_cnt != Some(lines) {
                self.add(6, || {
                    let ol_cnt = ol_cnt.map_or("of no order".to_owned(), |count| count.to_string());
                    format!("{}: o_ol_cnt {ol_cnt}, {lines} order lines", place())
                });
            }
            let due = if carrier.is_none() { 0 } else { lines };
            if delivered != due {
                self.add(7, || {
                    let (place, carrier) = (place(), number(carrier));
                    format!(
                        "{place}: o_carrier_id {carrier}, {delivered} of {lines} lines delivered"
                    )
                });
            }
        }
    }

    fn new_order(&mut self, order: &Order, place: &impl Fn() -> String) {
        match order.row {
            Some(row) if row.carrier.is_none() != order.is_new => self.add(5, || {
                let (place, carrier) = (place(), number(row.carrier));
                let is = if order.is_new { "is" } else { "not" };
                format!("{place}: o_carrier_id {carrier}, {is} in new_order")
            }),
            None if order.is_new => {
                self.add(5, || format!("{}: is in new_order, not in orders", place()));
            }
            Some(_) | None => {}
        }
    }

    /// Conditions 10 and 12.
    fn customers(&mut self, figures: &Figures) {
        for (&(w, d, c), customer) in &figures.customers {
            let Some(row) = customer.row else { continue };
            let place = || format!("warehouse {w}, district {d}, customer {c}");
            let cents = |cents| money(Some(cents));
            if row.balance != customer.delivered - customer.paid {
                self.add(10, || {
                    let (balance, delivered) = (cents(row.balance), cents(customer.delivered));
                    let paid = cents(customer.paid);
                    format!(
                        "{}: c_balance {balance}, delivered {delivered}, paid {paid}",
                        place()
                    )
                });
            }
            if row.balance + row.ytd_payment != customer.delivered {
                self.add(12, || {
                    let (balance, delivered) = (cents(row.balance), cents(customer.delivered));
                    let ytd_payment = cents(row.ytd_payment);
                    format!(
                        "{}: c_balance {balance}, c_ytd_payment {ytd_payment}, \
                         delivered {delivered}",
                        place()
                    )
                });
            }
        }
    }
}

/// Of what is known; none where nothing is, as SQL adds up.
fn sum(values: impl Iterator<Item = Option<i64>>) -> Option<i64> {
    values.flatten().reduce(|total, value| total + value)
}

fn number(value: Option<i64>) -> String {
    value.map_or("null".to_owned(), |value| value.to_string())
}

fn money(cents: Option<i64>) -> String {
    let Some(cents) = cents else {
        return number(None);
    };
    let sign = if cents < 0 { "-" } else { "" };
    let magnitude = cents.unsigned_abs();
    format!("{sign}{}.{:02}", magnitude / 100, magnitude % 100)
}

#[cfg(test)]
#[path = "consistency_tests.rs"]
mod tests;
