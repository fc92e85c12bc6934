//! The Stock-Level transaction (clause 2.8.2), a statement a step.

use std::hint::black_box;

use crate::tpcc::control::Control;
use crate::tpcc::missing;
use crate::tpcc::names::Names;
use crate::tpcc::sql::prepare;
use crate::tpcc::stock_level::StockLevelInput;
use crate::wire::{Row, Session, Statement, WireError};

const NEXT_ORDER: &str = "SELECT d_next_o_id FROM {district} WHERE d_w_id = ? AND d_id = ?";

const LOW_STOCKS: &str = "SELECT count(DISTINCT s_i_id)
    FROM {order_line} JOIN {stock} ON s_w_id = ? AND s_i_id = ol_i_id
    WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id < ? AND ol_o_id >= ? AND s_quantity < ?";

/// Orders that are looked at.
const LAST_ORDERS: i64 = 20;

#[derive(Debug)]
pub(crate) struct StockLevel {
    next_order: Statement,
    low_stocks: Statement,
}

impl StockLevel {
    pub(crate) async fn prepare(session: &mut Session, names: &Names) -> Result<Self, WireError> {
        Ok(Self {
            next_order: prepare(session, &names.sql(NEXT_ORDER)).await?,
            low_stocks: prepare(session, &names.sql(LOW_STOCKS)).await?,
        })
    }

    pub(crate) async fn execute(
        &self,
        session: &mut Session,
        control: &Control,
        input: &StockLevelInput,
    ) -> Result<(), WireError> {
        control.queue_begin(session)?;
        session.done().await?;
        let (w, d) = (input.warehouse.into(), input.district.into());
        session.queue(&self.next_order, |params| {
            params.int(w).int(d);
        })?;
        let mut next = None;
        let read = |mut row: Row<'_>| {
            next = Some(row.int()?);
            Ok(())
        };
        session.rows(&self.next_order, read).await?;
        let next = next.ok_or_else(|| missing("district"))?;
        session.queue(&self.low_stocks, |params| {
            params
                .int(w)
                .int(w)
                .int(d)
                .int(next)
                .int(next - LAST_ORDERS);
            params.int(input.threshold.into());
        })?;
        let mut low = 0;
        let read = |mut row: Row<'_>| {
            low = row.int()?;
            Ok(())
        };
        session.rows(&self.low_stocks, read).await?;
        // What the terminal would show.
        black_box(low);
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
        assert_rendered(&[NEXT_ORDER, LOW_STOCKS]);
    }
}
