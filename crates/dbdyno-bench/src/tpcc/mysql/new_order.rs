//! The New-Order transaction (clause 2.4.2), in two round trips.
//!
//! The first reads what never changes (items, taxes), before the transaction begins; then it locks
//! the stocks and the customer. Both are locking reads: a transaction without a snapshot finds no
//! update outdated (see payment). A command that fails there leaves nothing behind but locks.
//!
//! The second writes everything and commits, as one command. It takes the order's number itself, and
//! late: the district's row is the one that orders queue for, and it is locked while nobody is waited
//! for. `last_insert_id` carries the number on, and with the answer to us.

use std::fmt::Write as _;
use std::hint::black_box;
use std::sync::Arc;

use super::command::{Cents, List, Literal, run_within};
use crate::tpcc::control::Control;
use crate::tpcc::names::Names;
use crate::tpcc::new_order::{Line, MAX_LINES, NewOrderInput, Numbered};
use crate::tpcc::priced::{Head, Item, OrderLine, Stock, price_lines};
use crate::tpcc::schema::Table;
use crate::tpcc::sql::{any_of, repeated};
use crate::tpcc::{End, missing};
use crate::wire::{Row, Session, Statement, WireError};

const TAXES: &str = "SELECT w_tax, d_tax
    FROM {warehouse} JOIN {district} ON d_w_id = w_id WHERE w_id = ? AND d_id = ?";

const CUSTOMER: &str = "SELECT c_discount, c_last, c_credit
    FROM {customer} WHERE c_w_id = ? AND c_d_id = ? AND c_id = ? FOR UPDATE";

const STOCK_COLUMNS: &str = "s_w_id, s_i_id, s_quantity, s_data,
    CASE ? WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03
        WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06
        WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09
        ELSE s_dist_10 END";

/// Rows that an order changes beside its stocks and lines: the district, the order, the new order.
const CHANGED: usize = 3;

#[derive(Debug)]
pub(crate) struct NewOrder {
    names: Arc<Names>,
    items: Statement,
    taxes: Statement,
    stocks: Statement,
    customer: Statement,
    found: Found,
    sql: String,
}

/// What the first round trip brought, and what becomes of it.
#[derive(Debug, Default)]
struct Found {
    items: Vec<Item>,
    stocks: Vec<Stock>,
    head: Head,
    lines: Vec<OrderLine>,
    taken: Vec<Taken>,
}

/// What an order takes from one stock, with all lines that name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Taken {
    warehouse: u32,
    item: u32,
    /// What is left.
    quantity: i64,
    ordered: u32,
    lines: u32,
}

/// What reads items and stocks: always as many as there may be. Shorter orders name their last line
/// again.
fn over_lines() -> [String; 2] {
    let items = repeated("?", MAX_LINES);
    let stocks = any_of(&["s_w_id", "s_i_id"], MAX_LINES);
    [
        format!("SELECT i_id, i_price, i_name, i_data FROM {{item}} WHERE i_id IN ({items})"),
        format!(
            "SELECT {STOCK_COLUMNS} FROM {{stock}} FORCE INDEX (PRIMARY) WHERE {stocks}
             ORDER BY s_w_id, s_i_id FOR UPDATE"
        ),
    ]
}

impl NewOrder {
    pub(crate) async fn prepare(
        session: &mut Session,
        names: &Arc<Names>,
    ) -> Result<Self, WireError> {
        let [items, stocks] = over_lines().map(|template| names.sql(&template));
        Ok(Self {
            names: Arc::clone(names),
            items: session.prepare(&items).await?,
            taxes: session.prepare(&names.sql(TAXES)).await?,
            stocks: session.prepare(&stocks).await?,
            customer: session.prepare(&names.sql(CUSTOMER)).await?,
            found: Found::default(),
            sql: String::new(),
        })
    }

    pub(crate) async fn execute(
        &mut self,
        session: &mut Session,
        control: &Control,
        input: &NewOrderInput,
    ) -> Result<End, WireError> {
        self.queue_reads(session, control, input)?;
        self.read(session).await?;
        let found = &mut self.found;
        found.price_lines(input);
        found.take_stocks(input);
        let complete = found.lines.len() == input.lines().len();
        put(&mut self.sql, &self.names, input, found);
        self.sql
            .push_str(if complete { "COMMIT" } else { "ROLLBACK" });
        let done = run_within(session, &self.sql).await?;
        let changed = found.taken.len() + CHANGED + found.lines.len();
        if done.affected != changed as u64 {
            return Err(missing("stock or district"));
        }
        // What the terminal would show.
        black_box(found.head.total_cents(&found.lines));
        Ok(if complete {
            End::Committed
        } else {
            End::RolledBack
        })
    }

    fn queue_reads(
        &self,
        session: &mut Session,
        control: &Control,
        input: &NewOrderInput,
    ) -> Result<(), WireError> {
        let (w, d) = (input.warehouse.into(), input.district.into());
        let lines = || {
            let last = input.lines().len() - 1;
            (0..MAX_LINES).map(move |index| input.lines()[index.min(last)])
        };
        session.queue(&self.items, |params| {
            for line in lines() {
                params.int(line.item.into());
            }
        })?;
        session.queue(&self.taxes, |params| {
            params.int(w).int(d);
        })?;
        control.queue_begin(session)?;
        session.queue(&self.stocks, |params| {
            params.int(d);
            for line in lines() {
                params
                    .int(line.supply_warehouse.into())
                    .int(line.item.into());
            }
        })?;
        session.queue(&self.customer, |params| {
            params.int(w).int(d).int(input.customer.into());
        })
    }

    async fn read(&mut self, session: &mut Session) -> Result<(), WireError> {
        let Found {
            items,
            stocks,
            head,
            ..
        } = &mut self.found;
        items.clear();
        stocks.clear();
        *head = Head::default();
        let (mut taxed, mut known) = (false, false);
        let read = |row: Row<'_>| {
            items.push(Item::read(row)?);
            Ok(())
        };
        session.rows(&self.items, read).await?;
        let read = |mut row: Row<'_>| {
            head.warehouse_tax = row.fixed(4)?;
            head.district_tax = row.fixed(4)?;
            taxed = true;
            Ok(())
        };
        session.rows(&self.taxes, read).await?;
        session.done().await?;
        let read = |row: Row<'_>| {
            stocks.push(Stock::read(row)?);
            Ok(())
        };
        session.rows(&self.stocks, read).await?;
        let read = |mut row: Row<'_>| {
            head.discount = row.fixed(4)?;
            black_box((row.text()?, row.text()?));
            known = true;
            Ok(())
        };
        session.rows(&self.customer, read).await?;
        match (taxed, known) {
            (true, true) => Ok(()),
            (false, _) => Err(missing("district")),
            (true, false) => Err(missing("customer")),
        }
    }
}

impl Found {
    fn price_lines(&mut self, input: &NewOrderInput) {
        let priced = price_lines(input.lines(), &self.items, &self.stocks);
        self.lines.clear();
        self.lines.extend(priced);
    }

    /// What the lines leave of their stocks, in the order of their keys.
    fn take_stocks(&mut self, input: &NewOrderInput) {
        self.taken.clear();
        let numbered = Numbered::by_stock(input);
        for (_, line) in numbered.lines() {
            let exists = self.items.iter().any(|item| item.id == line.item);
            let stock = self.stocks.iter_mut().find(|stock| stock.is_of(line));
            let Some(stock) = stock.filter(|_| exists) else {
                continue;
            };
            stock.take(line.quantity);
            let one = Taken::of(line, stock.quantity);
            match self.taken.last_mut() {
                Some(last) if (last.warehouse, last.item) == (one.warehouse, one.item) => {
                    last.quantity = one.quantity;
                    last.ordered += one.ordered;
                    last.lines += one.lines;
                }
                _ => self.taken.push(one),
            }
        }
    }
}

impl Taken {
    fn of(line: &Line, quantity: i64) -> Self {
        Self {
            warehouse: line.supply_warehouse,
            item: line.item,
            quantity,
            ordered: line.quantity,
            lines: 1,
        }
    }
}

/// Everything that the order writes, up to its end.
fn put(sql: &mut String, names: &Names, input: &NewOrderInput, found: &Found) {
    let (w, d, c) = (input.warehouse, input.district, input.customer);
    let (count, local) = (input.lines().len(), u8::from(input.all_local()));
    let district = names.table(Table::District);
    let (orders, new_order) = (names.table(Table::Orders), names.table(Table::NewOrder));
    sql.clear();
    put_stocks(sql, names.table(Table::Stock), w, &found.taken);
    // Writing to a String cannot fail.
    let _ = write!(
        sql,
        "UPDATE {district} SET d_next_o_id = last_insert_id(d_next_o_id) + 1
            WHERE d_w_id = {w} AND d_id = {d};
        INSERT INTO {orders} (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
            VALUES (last_insert_id(), {d}, {w}, {c}, CURRENT_TIMESTAMP, {count}, {local});
        INSERT INTO {new_order} (no_o_id, no_d_id, no_w_id)
            VALUES (last_insert_id(), {d}, {w});
        INSERT INTO {} (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, \
         ol_quantity, ol_amount, ol_dist_info) VALUES ",
        names.table(Table::OrderLine)
    );
    for (index, priced) in found.lines.iter().enumerate() {
        let comma = if index > 0 { ", " } else { "" };
        let OrderLine { number, line, .. } = priced;
        let (amount, dist_info) = (Cents(priced.amount_cents), Literal(priced.dist_info()));
        let _ = write!(
            sql,
            "{comma}(last_insert_id(), {d}, {w}, {number}, {}, {}, {}, {amount}, {dist_info})",
            line.item, line.supply_warehouse, line.quantity
        );
    }
    sql.push_str("; ");
}

/// One statement for the stocks of each warehouse.
fn put_stocks(sql: &mut String, table: &str, home: u32, taken: &[Taken]) {
    for some in taken.chunk_by(|one, other| one.warehouse == other.warehouse) {
        let w = some[0].warehouse;
        let items = List(some.iter().map(|one| one.item));
        let quantity = Cases(some, |one| one.quantity);
        let ordered = Cases(some, |one| one.ordered.into());
        let lines = Cases(some, |one| one.lines.into());
        let _ = write!(
            sql,
            "UPDATE {table} SET s_quantity = {quantity}, s_ytd = s_ytd + {ordered}, \
             s_order_cnt = s_order_cnt + {lines}"
        );
        if w != home {
            let _ = write!(sql, ", s_remote_cnt = s_remote_cnt + {lines}");
        }
        let _ = write!(sql, " WHERE s_w_id = {w} AND s_i_id IN ({items}); ");
    }
}

/// A value that depends on the item.
struct Cases<'a>(&'a [Taken], fn(&Taken) -> i64);

impl std::fmt::Display for Cases<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self(taken, value) = self;
        let first = taken.first().map_or(0, value);
        if taken.iter().all(|one| value(one) == first) {
            return write!(f, "{first}");
        }
        f.write_str("CASE s_i_id")?;
        for one in *taken {
            write!(f, " WHEN {} THEN {}", one.item, value(one))?;
        }
        f.write_str(" END")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tpcc::names::{Layout, assert_rendered};
    use crate::tpcc::random::Random;

    #[test]
    fn templates_are_rendered() {
        assert_rendered(&[TAXES, CUSTOMER]);
        assert_rendered(&over_lines().each_ref().map(String::as_str));
    }

    #[test]
    fn every_statement_names_the_tables_of_its_set() {
        let input = crate::tpcc::new_order::draw(&mut Random::stream(1, &[]), 1, 1, &[0; 3]);
        let found = Found {
            taken: vec![taken(1, 5, 90, 1)],
            ..Found::default()
        };
        let mut sql = String::new();
        put(
            &mut sql,
            &Names::new(Layout::Sysbench, 2, 2),
            &input,
            &found,
        );
        for part in [
            "UPDATE stock2 SET",
            "UPDATE district2 SET",
            "INSERT INTO orders2 (",
            "INSERT INTO new_orders2 (",
            "INSERT INTO order_line2 (",
        ] {
            assert!(sql.contains(part), "{part}: {sql}");
        }
    }

    fn taken(warehouse: u32, item: u32, quantity: i64, lines: u32) -> Taken {
        Taken {
            warehouse,
            item,
            quantity,
            ordered: 3,
            lines,
        }
    }

    #[test]
    fn each_warehouse_has_one_update_of_its_stocks() {
        let mut sql = String::new();
        let all = [taken(1, 5, 90, 1), taken(1, 9, 13, 2), taken(4, 5, 50, 1)];
        put_stocks(&mut sql, "stock", 1, &all);
        let statements: Vec<&str> = sql.split("; ").collect();
        assert_eq!(
            statements,
            [
                "UPDATE stock SET s_quantity = CASE s_i_id WHEN 5 THEN 90 WHEN 9 THEN 13 END, \
                 s_ytd = s_ytd + 3, \
                 s_order_cnt = s_order_cnt + CASE s_i_id WHEN 5 THEN 1 WHEN 9 THEN 2 END \
                 WHERE s_w_id = 1 AND s_i_id IN (5, 9)",
                "UPDATE stock SET s_quantity = 50, s_ytd = s_ytd + 3, \
                 s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + 1 \
                 WHERE s_w_id = 4 AND s_i_id IN (5)",
                ""
            ]
        );
    }

    #[test]
    fn an_order_without_any_stock_updates_none() {
        let mut sql = String::new();
        put_stocks(&mut sql, "stock", 1, &[]);
        assert_eq!(sql, "");
    }
}
