//! The Delivery transaction (clause 2.7.4): all ten districts in two round trips.
//!
//! The first locks the oldest new order of each district, district by district. A delivery that meets
//! another's lock waits, finds the row gone and goes on to the next oldest, so no order is delivered
//! twice and no district is skipped that has one. The second does all the rest and commits, as one
//! command; the sums are made where the lines are, from rows that it has locked. Between customers
//! and COMMIT it counts: an order without a row, lines or a customer stops it there.
//!
//! Unless an isolation was asked for, it runs at READ COMMITTED, under which nothing but rows is
//! locked. At REPEATABLE READ the gap before a district's oldest new order, which is where the
//! district before it enters new ones, would be locked too, and hold up its new orders for nothing.
//! What is read is locked or can no longer change, so that the outcome is that of some serial order
//! all the same.

use std::fmt::{self, Write as _};
use std::sync::Arc;

use super::command::run_within;
use crate::tpcc::control::Control;
use crate::tpcc::delivery::DeliveryInput;
use crate::tpcc::names::Names;
use crate::tpcc::schema::Table;
use crate::tpcc::{DISTRICTS, missing};
use crate::wire::{Row, Session, Statement, WireError};

const OLDEST: &str = "SELECT no_o_id FROM {new_order} WHERE no_w_id = ? AND no_d_id = ?
    ORDER BY no_o_id LIMIT 1 FOR UPDATE";

/// What a statement fails with that must not be evaluated: a value of two rows.
const NO_SINGLE_ROW: u16 = 1242;

#[derive(Debug)]
pub(crate) struct Delivery {
    names: Arc<Names>,
    oldest: Statement,
    /// District and order.
    orders: Vec<(u32, i64)>,
    sql: String,
}

impl Delivery {
    pub(crate) async fn prepare(
        session: &mut Session,
        names: &Arc<Names>,
    ) -> Result<Self, WireError> {
        Ok(Self {
            names: Arc::clone(names),
            oldest: session.prepare(&names.sql(OLDEST)).await?,
            orders: Vec::with_capacity(DISTRICTS as usize),
            sql: String::new(),
        })
    }

    /// Fails where an order delivered had no row, no lines or no customer to charge.
    pub(crate) async fn execute(
        &mut self,
        session: &mut Session,
        control: &Control,
        input: &DeliveryInput,
    ) -> Result<(), WireError> {
        self.choose_oldest(session, control, input).await?;
        put(&mut self.sql, &self.names, input, &self.orders);
        let ended = run_within(session, &self.sql).await;
        ended.map(drop).map_err(|error| match error {
            WireError::Server(error) if error.number == Some(NO_SINGLE_ROW) => {
                missing("order, line or customer of a new order")
            }
            error => error,
        })
    }

    async fn choose_oldest(
        &mut self,
        session: &mut Session,
        control: &Control,
        input: &DeliveryInput,
    ) -> Result<(), WireError> {
        let own_isolation = session.isolation().is_none();
        if own_isolation {
            // For the next transaction alone.
            session.queue_text("SET TRANSACTION ISOLATION LEVEL READ COMMITTED");
        }
        control.queue_begin(session)?;
        for district in 1..=DISTRICTS {
            session.queue(&self.oldest, |params| {
                params.int(input.warehouse.into()).int(district.into());
            })?;
        }
        if own_isolation {
            session.done().await?;
        }
        session.done().await?;
        let orders = &mut self.orders;
        orders.clear();
        for district in 1..=DISTRICTS {
            let read = |mut row: Row<'_>| {
                orders.push((district, row.int()?));
                Ok(())
            };
            session.rows(&self.oldest, read).await?;
        }
        Ok(())
    }
}

fn put(sql: &mut String, names: &Names, input: &DeliveryInput, orders: &[(u32, i64)]) {
    let DeliveryInput {
        warehouse: w,
        carrier,
    } = *input;
    let count = orders.len();
    sql.clear();
    if count > 0 {
        let [new_order_table, order_table, line_table, customer_table] = [
            Table::NewOrder,
            Table::Orders,
            Table::OrderLine,
            Table::Customer,
        ]
        .map(|table| names.table(table));
        let [new_orders, carried, lines, charged] = [
            ["no_w_id", "no_d_id", "no_o_id"],
            ["o_w_id", "o_d_id", "o_id"],
            ["ol_w_id", "ol_d_id", "ol_o_id"],
            ["o_w_id", "o_d_id", "o_id"],
        ]
        .map(|columns| Keys {
            columns,
            warehouse: w,
            orders,
        });
        // Writing to a String cannot fail.
        let _ = write!(
            sql,
            "DELETE FROM {new_order_table} WHERE {new_orders};
            UPDATE {order_table} SET o_carrier_id = {carrier} WHERE {carried};
            UPDATE {line_table} SET ol_delivery_d = CURRENT_TIMESTAMP
                WHERE {lines};
            UPDATE {customer_table}
                JOIN (SELECT o_d_id, o_c_id, sum(ol_amount) AS amount FROM {order_table}
                    JOIN {line_table}
                        ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
                    WHERE {charged}
                    GROUP BY o_d_id, o_c_id) AS delivered
                ON c_w_id = {w} AND c_d_id = o_d_id AND c_id = o_c_id
                SET c_balance = c_balance + amount, c_delivery_cnt = c_delivery_cnt + 1;
            SELECT IF(ROW_COUNT() = {count}, 1, (SELECT 1 UNION ALL SELECT 2)); "
        );
    }
    sql.push_str("COMMIT");
}

/// The rows of these orders. Not as a list of rows: MariaDB finds no index for a list of one.
struct Keys<'a> {
    columns: [&'a str; 3],
    warehouse: u32,
    orders: &'a [(u32, i64)],
}

impl fmt::Display for Keys<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [w_id, d_id, o_id] = self.columns;
        write!(f, "{w_id} = {} AND (", self.warehouse)?;
        for (index, (district, order)) in self.orders.iter().enumerate() {
            let or = if index > 0 { " OR " } else { "" };
            write!(f, "{or}{d_id} = {district} AND {o_id} = {order}")?;
        }
        f.write_str(")")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tpcc::names::{Layout, assert_rendered};

    #[test]
    fn templates_are_rendered() {
        assert_rendered(&[OLDEST]);
    }

    #[test]
    fn all_orders_are_delivered_by_four_statements() {
        let mut sql = "left over".to_owned();
        let input = DeliveryInput {
            warehouse: 3,
            carrier: 7,
        };
        let names = Names::new(Layout::Own, 1, 1);
        put(&mut sql, &names, &input, &[(1, 2101), (10, 2102)]);
        let keys = "o_w_id = 3 AND (o_d_id = 1 AND o_id = 2101 OR o_d_id = 10 AND o_id = 2102)";
        assert_eq!(sql.matches(keys).count(), 2, "{sql}");
        assert!(sql.starts_with("DELETE FROM new_order WHERE"), "{sql}");
        assert!(sql.contains("o_carrier_id = 7 "), "{sql}");
        assert!(sql.contains("ON c_w_id = 3 AND"), "{sql}");
        assert!(sql.contains("ROW_COUNT() = 2,"), "{sql}");
        assert!(sql.ends_with("; COMMIT"), "{sql}");
    }

    #[test]
    fn every_statement_names_the_tables_of_its_set() {
        let mut sql = String::new();
        let input = DeliveryInput {
            warehouse: 3,
            carrier: 7,
        };
        let names = Names::new(Layout::Sysbench, 2, 2);
        put(&mut sql, &names, &input, &[(1, 2101)]);
        for part in [
            "DELETE FROM new_orders2 WHERE",
            "UPDATE orders2 SET",
            "UPDATE order_line2 SET",
            "UPDATE customer2\n",
            "FROM orders2\n",
            "JOIN order_line2\n",
        ] {
            assert!(sql.contains(part), "{part}: {sql}");
        }
    }

    #[test]
    fn a_warehouse_without_new_orders_only_commits() {
        let mut sql = String::new();
        let input = DeliveryInput {
            warehouse: 3,
            carrier: 7,
        };
        let names = Names::new(Layout::Own, 1, 1);
        put(&mut sql, &names, &input, &[]);
        assert_eq!(sql, "COMMIT");
    }
}
