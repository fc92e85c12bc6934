//! The Stock-Level transaction (clause 2.8.2), in one statement.

/// The district is one row by its key, which the optimizer reads first: the orders are a range of
/// constants to it.
pub(crate) const STOCK_LEVEL: &str = "SELECT count(DISTINCT s_i_id)
    FROM {district}
    JOIN {order_line} ON ol_w_id = d_w_id AND ol_d_id = d_id
        AND ol_o_id < d_next_o_id AND ol_o_id >= d_next_o_id - 20
    JOIN {stock} ON s_w_id = d_w_id AND s_i_id = ol_i_id
    WHERE d_w_id = ? AND d_id = ? AND s_quantity < ?";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tpcc::names::assert_rendered;

    #[test]
    fn templates_are_rendered() {
        assert_rendered(&[STOCK_LEVEL]);
    }
}
