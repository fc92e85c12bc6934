//! The Delivery transaction (clause 2.7.4): all ten districts in one statement.
//!
//! The oldest new order of each district is locked as it is chosen. A delivery that meets another's
//! lock waits, finds the row gone and goes on to the next oldest, so no order is delivered twice and
//! no district is skipped that has one; and districts are taken in order, so two deliveries of one
//! warehouse follow each other. All that comes after is driven by the rows that really were deleted.

use std::hint::black_box;

use crate::tpcc::delivery::DeliveryInput;
use crate::tpcc::missing;
use crate::tpcc::names::Names;
use crate::wire::{Row, Session, Statement, WireError};

pub(crate) const DELIVERY: &str = "
    WITH oldest AS MATERIALIZED (
        SELECT n.d_id, n.o_id
        FROM generate_series(1, 10) AS district (id)
        CROSS JOIN LATERAL (
            SELECT no_d_id AS d_id, no_o_id AS o_id FROM {new_order}
            WHERE no_w_id = $1 AND no_d_id = district.id::smallint
            ORDER BY no_o_id LIMIT 1 FOR UPDATE
        ) AS n
    ), taken AS (
        DELETE FROM {new_order} USING oldest
        WHERE no_w_id = $1 AND no_d_id = oldest.d_id AND no_o_id = oldest.o_id
        RETURNING no_d_id AS d_id, no_o_id AS o_id
    ), carried AS (
        UPDATE {orders} SET o_carrier_id = $2 FROM taken
        WHERE o_w_id = $1 AND o_d_id = taken.d_id AND {orders}.o_id = taken.o_id
        RETURNING o_d_id AS d_id, o_c_id AS c_id
    ), lines AS (
        UPDATE {order_line} SET ol_delivery_d = now() FROM taken
        WHERE ol_w_id = $1 AND ol_d_id = taken.d_id AND ol_o_id = taken.o_id
        RETURNING ol_d_id AS d_id, ol_amount
    ), amounts AS (
        SELECT d_id, sum(ol_amount) AS amount FROM lines GROUP BY d_id
    ), charged AS (
        UPDATE {customer}
        SET c_balance = c_balance + amount, c_delivery_cnt = c_delivery_cnt + 1
        FROM carried JOIN amounts USING (d_id)
        WHERE c_w_id = $1 AND c_d_id = carried.d_id AND {customer}.c_id = carried.c_id
        RETURNING c_d_id
    )
    SELECT taken, charged
    FROM (SELECT count(*) AS taken FROM taken) AS t,
         (SELECT count(*) AS charged FROM charged) AS c
    WHERE taken = charged";

#[derive(Debug)]
pub(crate) struct Delivery {
    delivery: Statement,
}

impl Delivery {
    pub(crate) async fn prepare(session: &mut Session, names: &Names) -> Result<Self, WireError> {
        Ok(Self {
            delivery: session.prepare(&names.sql(DELIVERY)).await?,
        })
    }

    /// Fails where an order delivered had no row, no lines or no customer to charge.
    pub(crate) async fn execute(
        &self,
        session: &mut Session,
        input: &DeliveryInput,
    ) -> Result<(), WireError> {
        session.queue(&self.delivery, |params| {
            params.int(input.warehouse.into());
            params.int(input.carrier.into());
        })?;
        let mut delivered = None;
        let read = |mut row: Row<'_>| {
            delivered = Some(row.int()?);
            Ok(())
        };
        session.rows(&self.delivery, read).await?;
        // What the terminal would show.
        black_box(delivered.ok_or_else(|| missing("order, line or customer of a new order"))?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tpcc::names::assert_rendered;

    #[test]
    fn templates_are_rendered() {
        assert_rendered(&[DELIVERY]);
    }
}
