//! The Order-Status transaction (clause 2.6.2), in one statement and so of one snapshot.

use std::hint::black_box;

use super::payment::middle_of_name;
use crate::tpcc::customer::Customer;
use crate::tpcc::names::Names;
use crate::tpcc::order_status::OrderStatusInput;
use crate::wire::{Row, Session, Statement, WireError};

/// `$customer` is an expression for the customer's id.
macro_rules! order_status {
    ($customer:expr) => {
        concat!(
            "SELECT c_balance, c_first, c_middle, c_last, o_id, o_entry_d, o_carrier_id,
                ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d
            FROM {customer}
            CROSS JOIN LATERAL (
                SELECT o_id, o_entry_d, o_carrier_id FROM {orders}
                WHERE o_w_id = $1 AND o_d_id = $2 AND o_c_id = c_id
                ORDER BY o_id DESC LIMIT 1
            ) AS o
            JOIN {order_line} ON ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = o_id
            WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = ",
            $customer
        )
    };
}

pub(crate) const BY_ID: &str = order_status!("$3");
const BY_NAME: &str = order_status!(middle_of_name!("$1", "$2", "$3"));

/// Columns before ol_amount.
const AMOUNT: usize = 10;

#[derive(Debug)]
pub(crate) struct OrderStatus {
    by_id: Statement,
    by_name: Statement,
}

impl OrderStatus {
    pub(crate) async fn prepare(session: &mut Session, names: &Names) -> Result<Self, WireError> {
        Ok(Self {
            by_id: session.prepare(&names.sql(BY_ID)).await?,
            by_name: session.prepare(&names.sql(BY_NAME)).await?,
        })
    }

    pub(crate) async fn execute(
        &self,
        session: &mut Session,
        input: &OrderStatusInput,
    ) -> Result<(), WireError> {
        let statement = match &input.customer {
            Customer::Id(_) => &self.by_id,
            Customer::LastName(_) => &self.by_name,
        };
        session.queue(statement, |params| {
            params.int(input.warehouse.into());
            params.int(input.district.into());
            input.customer.put(params);
        })?;
        let mut total = 0;
        let read = |mut row: Row<'_>| {
            for _ in 0..AMOUNT {
                row.skip()?;
            }
            total += row.fixed(2)?;
            Ok(())
        };
        session.rows(statement, read).await?;
        // What the terminal would show.
        black_box(total);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tpcc::names::assert_rendered;

    #[test]
    fn templates_are_rendered() {
        assert_rendered(&[BY_ID, BY_NAME]);
    }
}
