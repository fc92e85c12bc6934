//! The Order-Status transaction (clause 2.6.2): one statement, and so of one snapshot.
//!
//! A customer named by last name is found by a statement before it, in the same round trip; names
//! never change, so that it need not see the same snapshot. Neither is within a transaction that
//! would have to be ended.

use std::hint::black_box;

use super::customer::{FOUND, Middle};
use crate::tpcc::control::Control;
use crate::tpcc::customer::Customer;
use crate::tpcc::missing;
use crate::tpcc::names::Names;
use crate::tpcc::order_status::OrderStatusInput;
use crate::tpcc::schema::Table;
use crate::wire::{Row, Session, Statement, WireError};

/// Columns before ol_amount.
const AMOUNT: usize = 10;

#[derive(Debug)]
pub(crate) struct OrderStatus {
    find: Statement,
    by_id: Statement,
    by_name: Statement,
}

/// `customer` is an expression for the customer's id. The latest order is a table of one row: as a
/// subquery in a condition it would be run for each order of the district, where the expression is a
/// variable and MySQL caches nothing.
fn status(customer: &str) -> String {
    format!(
        "SELECT c_balance, c_first, c_middle, c_last, o_id, o_entry_d, o_carrier_id,
            ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d
        FROM (
            SELECT o_id, o_entry_d, o_carrier_id FROM {{orders}}
            WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = {customer}
            ORDER BY o_id DESC LIMIT 1) AS latest
        JOIN {{customer}} ON c_w_id = ? AND c_d_id = ? AND c_id = {customer}
        JOIN {{order_line}} ON ol_w_id = c_w_id AND ol_d_id = c_d_id AND ol_o_id = o_id"
    )
}

impl OrderStatus {
    pub(crate) async fn prepare(session: &mut Session, names: &Names) -> Result<Self, WireError> {
        // A statement keeps the type that a variable has when it is prepared. Without autocommit a
        // SELECT would begin a transaction, and the next one would still read its snapshot.
        session.queue_text(&format!("SET autocommit = 1, {FOUND} = 0"));
        session.done().await?;
        let middle = Middle {
            table: names.table(Table::Customer),
            warehouse: "?",
            district: "?",
            name: "?",
        };
        Ok(Self {
            find: session.prepare(&middle.to_string()).await?,
            by_id: session.prepare(&names.sql(&status("?"))).await?,
            by_name: session.prepare(&names.sql(&status(FOUND))).await?,
        })
    }

    pub(crate) async fn execute(
        &self,
        session: &mut Session,
        _: &Control,
        input: &OrderStatusInput,
    ) -> Result<(), WireError> {
        let (w, d) = (input.warehouse.into(), input.district.into());
        let statement = match &input.customer {
            Customer::Id(id) => {
                let id = (*id).into();
                session.queue(&self.by_id, |params| {
                    params.int(w).int(d).int(id).int(w).int(d).int(id);
                })?;
                &self.by_id
            }
            Customer::LastName(name) => {
                session.queue(&self.find, |params| {
                    params.int(w).int(d).text(name.as_str());
                })?;
                session.queue(&self.by_name, |params| {
                    params.int(w).int(d).int(w).int(d);
                })?;
                session.done().await?;
                &self.by_name
            }
        };
        let mut total = None;
        let read = |mut row: Row<'_>| {
            for _ in 0..AMOUNT {
                row.skip()?;
            }
            total = Some(total.unwrap_or(0) + row.fixed(2)?);
            Ok(())
        };
        session.rows(statement, read).await?;
        // What the terminal would show.
        black_box(total.ok_or_else(|| missing("customer or order"))?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tpcc::names::assert_rendered;

    #[test]
    fn templates_are_rendered() {
        assert_rendered(&[&status("?"), &status(FOUND)]);
    }
}
