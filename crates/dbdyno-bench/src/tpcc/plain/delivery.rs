//! The Delivery transaction (clause 2.7.4), a district after the other or all of them at once.

use std::hint::black_box;

use crate::tpcc::control::Control;
use crate::tpcc::delivery::DeliveryInput;
use crate::tpcc::names::Names;
use crate::tpcc::sql::{any_of, prepare};
use crate::tpcc::{DISTRICTS, missing, number};
use crate::wire::{Row, Session, Statement, WireError};

const OLDEST: &str = "SELECT no_o_id FROM {new_order} WHERE no_w_id = ? AND no_d_id = ?
    ORDER BY no_o_id LIMIT 1 FOR UPDATE";

const CHARGE: &str = "UPDATE {customer}
    SET c_balance = c_balance + ?, c_delivery_cnt = c_delivery_cnt + 1
    WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?";

/// Orders that one statement names.
fn at_once(batched: bool) -> usize {
    if batched { DISTRICTS as usize } else { 1 }
}

/// The statements that name so many orders: to delete, to read customers, to carry, to deliver, and
/// to add up.
fn over_orders(count: usize) -> [String; 5] {
    let new_orders = any_of(&["no_w_id", "no_d_id", "no_o_id"], count);
    let orders = any_of(&["o_w_id", "o_d_id", "o_id"], count);
    let lines = any_of(&["ol_w_id", "ol_d_id", "ol_o_id"], count);
    [
        format!("DELETE FROM {{new_order}} WHERE {new_orders}"),
        format!("SELECT o_d_id, o_c_id FROM {{orders}} WHERE {orders}"),
        format!("UPDATE {{orders}} SET o_carrier_id = ? WHERE {orders}"),
        format!("UPDATE {{order_line}} SET ol_delivery_d = CURRENT_TIMESTAMP WHERE {lines}"),
        format!(
            "SELECT ol_d_id, sum(ol_amount) FROM {{order_line}} WHERE {lines} GROUP BY ol_d_id"
        ),
    ]
}

/// An order that is being delivered.
#[derive(Debug, Clone, Copy, Default)]
struct Order {
    district: u32,
    id: i64,
    customer: Option<i64>,
    amount_cents: i64,
}

#[derive(Debug)]
pub(crate) struct Delivery {
    oldest: Statement,
    delete: Statement,
    customers: Statement,
    carry: Statement,
    deliver: Statement,
    amounts: Statement,
    charge: Statement,
    at_once: usize,
    orders: Vec<Order>,
}

impl Delivery {
    pub(crate) async fn prepare(
        session: &mut Session,
        names: &Names,
        batched: bool,
    ) -> Result<Self, WireError> {
        let at_once = at_once(batched);
        let [delete, customers, carry, deliver, amounts] =
            over_orders(at_once).map(|template| names.sql(&template));
        Ok(Self {
            oldest: prepare(session, &names.sql(OLDEST)).await?,
            delete: prepare(session, &delete).await?,
            customers: prepare(session, &customers).await?,
            carry: prepare(session, &carry).await?,
            deliver: prepare(session, &deliver).await?,
            amounts: prepare(session, &amounts).await?,
            charge: prepare(session, &names.sql(CHARGE)).await?,
            at_once,
            orders: Vec::with_capacity(at_once),
        })
    }

    /// Fails where an order delivered had no row, no lines or no customer to charge.
    pub(crate) async fn execute(
        &mut self,
        session: &mut Session,
        control: &Control,
        input: &DeliveryInput,
    ) -> Result<(), WireError> {
        control.queue_begin(session)?;
        session.done().await?;
        let mut delivered = 0;
        let districts: [u32; DISTRICTS as usize] = std::array::from_fn(|i| i as u32 + 1);
        for some in districts.chunks(self.at_once) {
            self.orders.clear();
            for district in some {
                self.choose_oldest(session, input, *district).await?;
            }
            if !self.orders.is_empty() {
                self.deliver(session, input).await?;
                delivered += self.orders.len();
            }
        }
        // What the terminal would show.
        black_box(delivered);
        control.queue_commit(session)?;
        session.done().await?;
        Ok(())
    }

    async fn choose_oldest(
        &mut self,
        session: &mut Session,
        input: &DeliveryInput,
        district: u32,
    ) -> Result<(), WireError> {
        session.queue(&self.oldest, |params| {
            params.int(input.warehouse.into()).int(district.into());
        })?;
        let orders = &mut self.orders;
        let read = |mut row: Row<'_>| {
            orders.push(Order {
                district,
                id: row.int()?,
                ..Order::default()
            });
            Ok(())
        };
        session.rows(&self.oldest, read).await?;
        Ok(())
    }

    async fn deliver(
        &mut self,
        session: &mut Session,
        input: &DeliveryInput,
    ) -> Result<(), WireError> {
        let taken = self.run(session, &self.delete, input, None).await?;
        if taken != self.orders.len() as u64 {
            return Err(missing("new order"));
        }
        self.read_customers(session, input).await?;
        let carrier = Some(input.carrier);
        self.run(session, &self.carry, input, carrier).await?;
        self.run(session, &self.deliver, input, None).await?;
        self.read_amounts(session, input).await?;
        for order in &self.orders {
            let customer = order.customer.ok_or_else(|| missing("order"))?;
            session.queue(&self.charge, |params| {
                params.fixed(order.amount_cents, 2);
                params
                    .int(input.warehouse.into())
                    .int(order.district.into());
                params.int(customer);
            })?;
            if session.done().await?.affected != 1 {
                return Err(missing("customer"));
            }
        }
        Ok(())
    }

    /// Queues a statement over the chosen orders; where there are fewer than it names, the last of
    /// them again.
    fn queue(
        &self,
        session: &mut Session,
        statement: &Statement,
        input: &DeliveryInput,
        first: Option<u32>,
    ) -> Result<(), WireError> {
        let last = self.orders.len() - 1;
        session.queue(statement, |params| {
            if let Some(first) = first {
                params.int(first.into());
            }
            for index in 0..self.at_once {
                let order = &self.orders[index.min(last)];
                params.int(input.warehouse.into());
                params.int(order.district.into()).int(order.id);
            }
        })
    }

    /// The rows that the statement changed.
    async fn run(
        &self,
        session: &mut Session,
        statement: &Statement,
        input: &DeliveryInput,
        first: Option<u32>,
    ) -> Result<u64, WireError> {
        self.queue(session, statement, input, first)?;
        Ok(session.done().await?.affected)
    }

    async fn read_customers(
        &mut self,
        session: &mut Session,
        input: &DeliveryInput,
    ) -> Result<(), WireError> {
        self.queue(session, &self.customers, input, None)?;
        let orders = &mut self.orders;
        let read = |mut row: Row<'_>| {
            let district = number(row.int()?)?;
            let customer = row.int()?;
            if let Some(order) = orders.iter_mut().find(|order| order.district == district) {
                order.customer = Some(customer);
            }
            Ok(())
        };
        session.rows(&self.customers, read).await?;
        Ok(())
    }

    async fn read_amounts(
        &mut self,
        session: &mut Session,
        input: &DeliveryInput,
    ) -> Result<(), WireError> {
        self.queue(session, &self.amounts, input, None)?;
        let orders = &mut self.orders;
        let read = |mut row: Row<'_>| {
            let district = number(row.int()?)?;
            let amount_cents = row.fixed(2)?;
            if let Some(order) = orders.iter_mut().find(|order| order.district == district) {
                order.amount_cents = amount_cents;
            }
            Ok(())
        };
        session.rows(&self.amounts, read).await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tpcc::names::assert_rendered;

    #[test]
    fn templates_are_rendered() {
        assert_rendered(&[OLDEST, CHARGE]);
        assert_rendered(&over_orders(2).each_ref().map(String::as_str));
    }
}
