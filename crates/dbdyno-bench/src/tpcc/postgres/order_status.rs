//! The Order-Status transaction (clause 2.6.2), in one statement and so of one snapshot.

use std::hint::black_box;

use tokio_postgres::{Client, Error, Statement};

use super::numeric::Cents;
use super::payment::middle_of_name;
use crate::tpcc::customer::Customer;
use crate::tpcc::order_status::OrderStatusInput;

/// `$customer` is an expression for the customer's id.
macro_rules! order_status {
    ($customer:expr) => {
        concat!(
            "SELECT c_balance, c_first, c_middle, c_last, o_id, o_entry_d, o_carrier_id,
                ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d
            FROM customer
            CROSS JOIN LATERAL (
                SELECT o_id, o_entry_d, o_carrier_id FROM orders
                WHERE o_w_id = $1 AND o_d_id = $2 AND o_c_id = c_id
                ORDER BY o_id DESC LIMIT 1
            ) AS o
            JOIN order_line ON ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = o_id
            WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = ",
            $customer
        )
    };
}

const BY_ID: &str = order_status!("$3");
const BY_NAME: &str = order_status!(middle_of_name!("$1", "$2", "$3"));

#[derive(Debug)]
pub(crate) struct OrderStatus {
    by_id: Statement,
    by_name: Statement,
}

impl OrderStatus {
    pub(crate) async fn prepare(client: &Client) -> Result<Self, Error> {
        Ok(Self {
            by_id: client.prepare(BY_ID).await?,
            by_name: client.prepare(BY_NAME).await?,
        })
    }

    pub(crate) async fn execute(
        &self,
        client: &Client,
        input: &OrderStatusInput,
    ) -> Result<(), Error> {
        let (w, d) = (input.warehouse as i16, input.district as i16);
        let rows = match &input.customer {
            Customer::Id(id) => {
                let id = *id as i32;
                client.query(&self.by_id, &[&w, &d, &id]).await?
            }
            Customer::LastName(name) => {
                client
                    .query(&self.by_name, &[&w, &d, &name.as_str()])
                    .await?
            }
        };
        let mut total = 0;
        for row in &rows {
            total += row.try_get::<_, Cents>(10)?.0;
        }
        // What the terminal would show.
        black_box(total);
        Ok(())
    }
}
