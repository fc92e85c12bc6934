//! The Stock-Level transaction (clause 2.8.2), in one statement.

use std::hint::black_box;

use crate::tpcc::control::Control;
use crate::tpcc::missing;
use crate::tpcc::stock_level::StockLevelInput;
use crate::wire::{Row, Session, Statement, WireError};

/// The district is one row by its key, which the optimizer reads first: the orders are a range of
/// constants to it.
const STOCK_LEVEL: &str = "SELECT count(DISTINCT s_i_id)
    FROM district
    JOIN order_line ON ol_w_id = d_w_id AND ol_d_id = d_id
        AND ol_o_id < d_next_o_id AND ol_o_id >= d_next_o_id - 20
    JOIN stock ON s_w_id = d_w_id AND s_i_id = ol_i_id
    WHERE d_w_id = ? AND d_id = ? AND s_quantity < ?";

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
        _: &Control,
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
