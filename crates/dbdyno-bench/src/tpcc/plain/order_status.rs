//! The Order-Status transaction (clause 2.6.2), a statement a step.

use std::hint::black_box;

use super::customer::ByName;
use crate::tpcc::control::Control;
use crate::tpcc::missing;
use crate::tpcc::names::Names;
use crate::tpcc::order_status::OrderStatusInput;
use crate::tpcc::sql::prepare;
use crate::wire::{Row, Session, Statement, WireError};

const CUSTOMER: &str = "SELECT c_balance, c_first, c_middle, c_last
    FROM {customer} WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?";

const ORDER: &str = "SELECT o_id, o_carrier_id, o_entry_d
    FROM {orders} WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? ORDER BY o_id DESC LIMIT 1";

const LINES: &str = "SELECT ol_amount, ol_i_id, ol_supply_w_id, ol_quantity, ol_delivery_d
    FROM {order_line} WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?";

#[derive(Debug)]
pub(crate) struct OrderStatus {
    by_name: ByName,
    customer: Statement,
    order: Statement,
    lines: Statement,
}

impl OrderStatus {
    pub(crate) async fn prepare(
        session: &mut Session,
        names: &Names,
        batched: bool,
    ) -> Result<Self, WireError> {
        Ok(Self {
            by_name: ByName::prepare(session, names, batched).await?,
            customer: prepare(session, &names.sql(CUSTOMER)).await?,
            order: prepare(session, &names.sql(ORDER)).await?,
            lines: prepare(session, &names.sql(LINES)).await?,
        })
    }

    pub(crate) async fn execute(
        &mut self,
        session: &mut Session,
        control: &Control,
        input: &OrderStatusInput,
    ) -> Result<(), WireError> {
        control.queue_begin(session)?;
        session.done().await?;
        let (w, d) = (input.warehouse, input.district);
        let id = self.by_name.id_of(session, w, d, &input.customer).await?;
        let (w, d, id) = (w.into(), d.into(), id.into());
        session.queue(&self.customer, |params| {
            params.int(w).int(d).int(id);
        })?;
        let mut balance = None;
        let read = |mut row: Row<'_>| {
            balance = Some(row.fixed(2)?);
            Ok(())
        };
        session.rows(&self.customer, read).await?;
        balance.ok_or_else(|| missing("customer"))?;
        session.queue(&self.order, |params| {
            params.int(w).int(d).int(id);
        })?;
        let mut order = None;
        let read = |mut row: Row<'_>| {
            order = Some(row.int()?);
            Ok(())
        };
        session.rows(&self.order, read).await?;
        let order = order.ok_or_else(|| missing("order"))?;
        session.queue(&self.lines, |params| {
            params.int(w).int(d).int(order);
        })?;
        let mut total = 0;
        let read = |mut row: Row<'_>| {
            total += row.fixed(2)?;
            Ok(())
        };
        session.rows(&self.lines, read).await?;
        // What the terminal would show.
        black_box((balance, total));
        control.queue_commit(session)?;
        session.done().await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tpcc::names::assert_rendered;

    #[test]
    fn templates_are_rendered() {
        assert_rendered(&[CUSTOMER, ORDER, LINES]);
    }
}
