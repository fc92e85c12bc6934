//! The Stock-Level transaction (clause 2.8.2), in one statement.

/// The district's next order is a scalar subquery: as a join, the planner would take the range of
/// orders for a third of the district and read the warehouse's whole stock.
pub(crate) const STOCK_LEVEL: &str = "
    SELECT count(DISTINCT s_i_id)
    FROM {order_line} JOIN {stock} ON s_w_id = $1 AND s_i_id = ol_i_id
    WHERE ol_w_id = $1 AND ol_d_id = $2
      AND ol_o_id < (SELECT d_next_o_id FROM {district} WHERE d_w_id = $1 AND d_id = $2)
      AND ol_o_id >= (SELECT d_next_o_id - 20 FROM {district} WHERE d_w_id = $1 AND d_id = $2)
      AND s_quantity < $3";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tpcc::names::assert_rendered;

    #[test]
    fn templates_are_rendered() {
        assert_rendered(&[STOCK_LEVEL]);
    }
}
