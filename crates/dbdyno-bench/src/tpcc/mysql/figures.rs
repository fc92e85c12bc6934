//! What the conditions compare: the rows of one warehouse, added up as they arrive.
//!
//! Order lines, most of the data, are added up by the server, in the order of their primary key and so
//! without sorting. All queries of a range are sent at once: the server never waits for us.

use std::collections::BTreeMap;

use crate::tpcc::names::Names;
use crate::wire::Link;
use crate::wire::{Row, Statement, WireError};

/// Warehouse and district.
pub(super) type DistrictKey = (i64, i64);
/// And the order or the customer.
pub(super) type Key = (i64, i64, i64);

const LINES: &str = "SELECT ol_w_id, ol_d_id, ol_o_id, count(*), count(ol_delivery_d),
        sum(CASE WHEN ol_delivery_d IS NOT NULL THEN ol_amount END)
    FROM {order_line} WHERE ol_w_id BETWEEN ? AND ?
    GROUP BY ol_w_id, ol_d_id, ol_o_id ORDER BY ol_w_id, ol_d_id, ol_o_id";

const ORDERS: &str = "SELECT o_w_id, o_d_id, o_id, o_c_id, o_ol_cnt, o_carrier_id
    FROM {orders} WHERE o_w_id BETWEEN ? AND ? ORDER BY o_w_id, o_d_id, o_id";

const NEW_ORDERS: &str = "SELECT no_w_id, no_d_id, no_o_id
    FROM {new_order} WHERE no_w_id BETWEEN ? AND ? ORDER BY no_w_id, no_d_id, no_o_id";

const CUSTOMERS: &str = "SELECT c_w_id, c_d_id, c_id, c_balance, c_ytd_payment
    FROM {customer} WHERE c_w_id BETWEEN ? AND ? ORDER BY c_w_id, c_d_id, c_id";

/// What each customer paid, wherever it was.
const PAID: &str = "SELECT h_c_w_id, h_c_d_id, h_c_id, sum(h_amount)
    FROM {history} WHERE h_c_w_id BETWEEN ? AND ? GROUP BY h_c_w_id, h_c_d_id, h_c_id";

/// What was paid in each district, whoever it was.
const RECEIVED: &str = "SELECT h_w_id, h_d_id, sum(h_amount)
    FROM {history} WHERE h_w_id BETWEEN ? AND ? GROUP BY h_w_id, h_d_id";

const DISTRICTS: &str = "SELECT d_w_id, d_id, d_next_o_id, d_ytd
    FROM {district} WHERE d_w_id BETWEEN ? AND ? ORDER BY d_w_id, d_id";

const WAREHOUSES: &str = "SELECT w_id, w_ytd FROM {warehouse} WHERE w_id BETWEEN ? AND ?";

/// Rows with one key in orders, order_line and new_order, of which any may be missing.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Order {
    pub(super) row: Option<OrderRow>,
    pub(super) lines: i64,
    pub(super) delivered: i64,
    /// Of the lines delivered, in cents as all money here.
    pub(super) amount: i64,
    pub(super) is_new: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OrderRow {
    pub(super) customer: i64,
    pub(super) ol_cnt: i64,
    pub(super) carrier: Option<i64>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Customer {
    pub(super) row: Option<CustomerRow>,
    pub(super) delivered: i64,
    pub(super) paid: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CustomerRow {
    pub(super) balance: i64,
    pub(super) ytd_payment: i64,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct District {
    pub(super) row: Option<DistrictRow>,
    pub(super) received: Option<i64>,
    pub(super) orders: i64,
    pub(super) carried: i64,
    pub(super) ol_cnt: i64,
    pub(super) lines: i64,
    pub(super) last_order: Option<i64>,
    pub(super) new_orders: i64,
    /// The first and the last.
    pub(super) new_range: Option<(i64, i64)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DistrictRow {
    pub(super) next_order: i64,
    pub(super) ytd: i64,
}

/// Everything in one range of warehouses, whether its parents exist or not.
#[derive(Debug, Default)]
pub(super) struct Figures {
    /// With w_ytd.
    pub(super) warehouses: BTreeMap<i64, i64>,
    pub(super) districts: BTreeMap<DistrictKey, District>,
    pub(super) orders: BTreeMap<Key, Order>,
    pub(super) customers: BTreeMap<Key, Customer>,
}

/// The queries, prepared once.
#[derive(Debug)]
pub(super) struct Reader {
    statements: [Statement; 8],
}

impl Reader {
    pub(super) fn prepare(link: &mut Link, names: &Names) -> Result<Self, WireError> {
        let mut prepare = |template| link.prepare(&names.sql(template));
        Ok(Self {
            statements: [
                prepare(LINES)?,
                prepare(ORDERS)?,
                prepare(NEW_ORDERS)?,
                prepare(CUSTOMERS)?,
                prepare(PAID)?,
                prepare(RECEIVED)?,
                prepare(DISTRICTS)?,
                prepare(WAREHOUSES)?,
            ],
        })
    }

    /// Reads what belongs to the warehouses of a range.
    pub(super) fn read(
        &self,
        link: &mut Link,
        (from, to): (i16, i16),
    ) -> Result<Figures, WireError> {
        const TAKE: [Take; 8] = [
            Figures::take_lines,
            Figures::take_order,
            Figures::take_new_order,
            Figures::take_customer,
            Figures::take_paid,
            Figures::take_received,
            Figures::take_district,
            Figures::take_warehouse,
        ];
        let mut figures = Figures::default();
        link.rows_of_all(
            &self.statements,
            |params| {
                params.int(from.into()).int(to.into());
            },
            |index, row| TAKE[index](&mut figures, row),
        )?;
        figures.add_up();
        Ok(figures)
    }
}

/// Takes a row of one of the statements.
type Take = fn(&mut Figures, Row<'_>) -> Result<(), WireError>;

fn key(row: &mut Row<'_>) -> Result<Key, WireError> {
    Ok((row.int()?, row.int()?, row.int()?))
}

impl Figures {
    fn take_lines(&mut self, mut row: Row<'_>) -> Result<(), WireError> {
        let order = self.orders.entry(key(&mut row)?).or_default();
        order.lines = row.int()?;
        order.delivered = row.int()?;
        order.amount = row.try_fixed(2)?.unwrap_or(0);
        Ok(())
    }

    fn take_order(&mut self, mut row: Row<'_>) -> Result<(), WireError> {
        let order = self.orders.entry(key(&mut row)?).or_default();
        order.row = Some(OrderRow {
            customer: row.int()?,
            ol_cnt: row.int()?,
            carrier: row.try_int()?,
        });
        Ok(())
    }

    fn take_new_order(&mut self, mut row: Row<'_>) -> Result<(), WireError> {
        self.orders.entry(key(&mut row)?).or_default().is_new = true;
        Ok(())
    }

    fn take_customer(&mut self, mut row: Row<'_>) -> Result<(), WireError> {
        let customer = self.customers.entry(key(&mut row)?).or_default();
        customer.row = Some(CustomerRow {
            balance: row.fixed(2)?,
            ytd_payment: row.fixed(2)?,
        });
        Ok(())
    }

    fn take_paid(&mut self, mut row: Row<'_>) -> Result<(), WireError> {
        let customer = self.customers.entry(key(&mut row)?).or_default();
        customer.paid = row.fixed(2)?;
        Ok(())
    }

    fn take_received(&mut self, mut row: Row<'_>) -> Result<(), WireError> {
        let key = (row.int()?, row.int()?);
        self.districts.entry(key).or_default().received = Some(row.fixed(2)?);
        Ok(())
    }

    fn take_district(&mut self, mut row: Row<'_>) -> Result<(), WireError> {
        let key = (row.int()?, row.int()?);
        self.districts.entry(key).or_default().row = Some(DistrictRow {
            next_order: row.int()?,
            ytd: row.fixed(2)?,
        });
        Ok(())
    }

    fn take_warehouse(&mut self, mut row: Row<'_>) -> Result<(), WireError> {
        let id = row.int()?;
        self.warehouses.insert(id, row.fixed(2)?);
        Ok(())
    }

    /// Whether a district has given out more numbers than it has orders: none is ever rolled back
    /// alone.
    pub(super) fn lack_orders(&self) -> bool {
        let mut districts = self.districts.values();
        districts.any(|district| {
            let given = district.row.map_or(0, |row| row.next_order - 1);
            given > district.orders
        })
    }

    /// Derives what the orders came to for their districts and customers.
    pub(super) fn add_up(&mut self) {
        for (&(w, d, id), order) in &self.orders {
            let district = self.districts.entry((w, d)).or_default();
            district.lines += order.lines;
            if let Some(row) = &order.row {
                district.orders += 1;
                district.carried += i64::from(row.carrier.is_some());
                district.ol_cnt += row.ol_cnt;
                district.last_order = Some(id);
                let customer = self.customers.entry((w, d, row.customer)).or_default();
                customer.delivered += order.amount;
            }
            if order.is_new {
                district.new_orders += 1;
                let first = district.new_range.map_or(id, |(first, _)| first);
                district.new_range = Some((first, id));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tpcc::names::assert_rendered;

    #[test]
    fn templates_are_rendered() {
        assert_rendered(&[LINES, ORDERS, NEW_ORDERS, CUSTOMERS]);
        assert_rendered(&[PAID, RECEIVED, DISTRICTS, WAREHOUSES]);
    }
}
