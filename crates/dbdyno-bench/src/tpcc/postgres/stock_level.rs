//! The Stock-Level transaction (clause 2.8.2), in one statement.

use std::hint::black_box;

use crate::tpcc::missing;
use crate::tpcc::stock_level::StockLevelInput;
use crate::wire::{Row, Session, Statement, WireError};

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
    pub(crate) async fn prepare(session: &mut Session) -> Result<Self, WireError> {
        Ok(Self {
            stock_level: session.prepare(STOCK_LEVEL).await?,
        })
    }

    pub(crate) async fn execute(
        &self,
        session: &mut Session,
        input: &StockLevelInput,
    ) -> Result<(), WireError> {
        session.queue(&self.stock_level, |params| {
            for value in [input.warehouse, input.district, input.threshold] {
                params.int(value.into());
            }
        })?;
        let mut low = None;
        let read = |mut row: Row<'_>| {
            low = Some(row.int()?);
            Ok(())
        };
        session.rows(&self.stock_level, read).await?;
        // What the terminal would show.
        black_box(low.ok_or_else(|| missing("stock"))?);
        Ok(())
    }
}
