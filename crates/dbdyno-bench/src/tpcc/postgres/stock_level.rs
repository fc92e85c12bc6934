//! The Stock-Level transaction (clause 2.8.2), in one statement.

use std::hint::black_box;

use tokio_postgres::{Client, Error, Statement};

use crate::tpcc::stock_level::StockLevelInput;

/// The district's next order is a scalar subquery: as a join, the planner would take the range of
/// orders for a third of the district and read the warehouse's whole stock.
const STOCK_LEVEL: &str = "
    SELECT count(DISTINCT s_i_id)
    FROM order_line JOIN stock ON s_w_id = $1 AND s_i_id = ol_i_id
    WHERE ol_w_id = $1 AND ol_d_id = $2
      AND ol_o_id < (SELECT d_next_o_id FROM district WHERE d_w_id = $1 AND d_id = $2)
      AND ol_o_id >= (SELECT d_next_o_id - 20 FROM district WHERE d_w_id = $1 AND d_id = $2)
      AND s_quantity < $3";

#[derive(Debug)]
pub(crate) struct StockLevel {
    stock_level: Statement,
}

impl StockLevel {
    pub(crate) async fn prepare(client: &Client) -> Result<Self, Error> {
        Ok(Self {
            stock_level: client.prepare(STOCK_LEVEL).await?,
        })
    }

    pub(crate) async fn execute(
        &self,
        client: &Client,
        input: &StockLevelInput,
    ) -> Result<(), Error> {
        let (w, d) = (input.warehouse as i16, input.district as i16);
        let threshold = input.threshold as i16;
        let row = client
            .query_one(&self.stock_level, &[&w, &d, &threshold])
            .await?;
        // What the terminal would show.
        black_box(row.try_get::<_, i64>(0)?);
        Ok(())
    }
}
