//! The New-Order transaction (clause 2.4.2), a statement a step or a statement for all lines.

use std::hint::black_box;

use crate::tpcc::control::Control;
use crate::tpcc::names::Names;
use crate::tpcc::new_order::{Line, MAX_LINES, MIN_LINES, NewOrderInput, Numbered};
use crate::tpcc::priced::{Head, Item, OrderLine, Stock};
use crate::tpcc::sql::{any_of, prepare, repeated};
use crate::tpcc::{End, missing};
use crate::wire::{Engine, Row, Session, Statement, WireError};

const CUSTOMER: &str = "SELECT w_tax, c_discount, c_last, c_credit
    FROM {customer} JOIN {warehouse} ON w_id = c_w_id
    WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?";

const DISTRICT: &str = "SELECT d_next_o_id, d_tax FROM {district}
    WHERE d_w_id = ? AND d_id = ? FOR UPDATE";

const TAKE_NUMBER: &str = "UPDATE {district} SET d_next_o_id = ? WHERE d_w_id = ? AND d_id = ?";

const ORDER: &str = "INSERT INTO {orders}
        (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
    VALUES (?, ?, ?, ?, CURRENT_TIMESTAMP, ?, ?)";

const NEW_ORDER: &str = "INSERT INTO {new_order} (no_o_id, no_d_id, no_w_id) VALUES (?, ?, ?)";

/// The addition says that the parameter is a number, in words that both engines know.
const STOCK_COLUMNS: &str = "s_w_id, s_i_id, s_quantity, s_data,
    CASE ? + 0 WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03
        WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06
        WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09
        ELSE s_dist_10 END";

const UPDATE_STOCK: &str = "UPDATE {stock}
    SET s_quantity = ?, s_ytd = s_ytd + ?, s_order_cnt = s_order_cnt + 1,
        s_remote_cnt = s_remote_cnt + ?
    WHERE s_w_id = ? AND s_i_id = ?";

const LINE: &str = "(?, ?, ?, ?, ?, ?, ?, ?, ?)";

/// Statements for one line, and for each number of lines from [`MIN_LINES`] on where batched.
#[derive(Debug)]
struct Lines {
    items: Vec<Statement>,
    stocks: Vec<Statement>,
    inserts: Vec<Statement>,
}

#[derive(Debug)]
pub(crate) struct NewOrder {
    customer: Statement,
    district: Statement,
    take_number: Statement,
    order: Statement,
    new_order: Statement,
    update_stock: Statement,
    lines: Lines,
    batched: bool,
    items: Vec<Item>,
    stocks: Vec<Stock>,
    priced: Vec<OrderLine>,
}

/// The statements that name so many lines: to read items and stocks, and to insert. Left alone, MariaDB
/// may lock stocks by an index that foreign keys need: every order then waits for all others.
fn over_lines(engine: Engine, count: usize) -> [String; 3] {
    let by_key = match engine {
        Engine::MySql => "FORCE INDEX (PRIMARY)",
        Engine::Postgres => "",
    };
    let (items, lines) = (repeated("?", count), repeated(LINE, count));
    let stocks = any_of(&["s_w_id", "s_i_id"], count);
    [
        format!("SELECT i_id, i_price, i_name, i_data FROM {{item}} WHERE i_id IN ({items})"),
        format!(
            "SELECT {STOCK_COLUMNS} FROM {{stock}} {by_key} WHERE {stocks}
             ORDER BY s_w_id, s_i_id FOR UPDATE"
        ),
        format!(
            "INSERT INTO {{order_line}} (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id,
                ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info) VALUES {lines}"
        ),
    ]
}

impl Lines {
    async fn prepare(
        session: &mut Session,
        names: &Names,
        batched: bool,
    ) -> Result<Self, WireError> {
        let counts = if batched {
            MIN_LINES..=MAX_LINES
        } else {
            1..=1
        };
        let mut lines = Self {
            items: Vec::new(),
            stocks: Vec::new(),
            inserts: Vec::new(),
        };
        for count in counts {
            let [items, stocks, inserts] =
                over_lines(session.engine(), count).map(|template| names.sql(&template));
            lines.items.push(prepare(session, &items).await?);
            lines.stocks.push(prepare(session, &stocks).await?);
            lines.inserts.push(prepare(session, &inserts).await?);
        }
        Ok(lines)
    }
}

impl NewOrder {
    pub(crate) async fn prepare(
        session: &mut Session,
        names: &Names,
        batched: bool,
    ) -> Result<Self, WireError> {
        Ok(Self {
            customer: prepare(session, &names.sql(CUSTOMER)).await?,
            district: prepare(session, &names.sql(DISTRICT)).await?,
            take_number: prepare(session, &names.sql(TAKE_NUMBER)).await?,
            order: prepare(session, &names.sql(ORDER)).await?,
            new_order: prepare(session, &names.sql(NEW_ORDER)).await?,
            update_stock: prepare(session, &names.sql(UPDATE_STOCK)).await?,
            lines: Lines::prepare(session, names, batched).await?,
            batched,
            items: Vec::with_capacity(MAX_LINES),
            stocks: Vec::with_capacity(MAX_LINES),
            priced: Vec::with_capacity(MAX_LINES),
        })
    }

    pub(crate) async fn execute(
        &mut self,
        session: &mut Session,
        control: &Control,
        input: &NewOrderInput,
    ) -> Result<End, WireError> {
        control.queue_begin(session)?;
        session.done().await?;
        let head = self.open_order(session, input).await?;
        let numbered = Numbered::by_stock(input);
        let at_once = if self.batched { MAX_LINES } else { 1 };
        self.priced.clear();
        for some in numbered.lines().chunks(at_once) {
            self.items.clear();
            self.stocks.clear();
            self.read(session, input, some).await?;
            let from = self.priced.len();
            self.price(some);
            if self.priced.len() - from < some.len() {
                control.queue_rollback(session)?;
                session.done().await?;
                return Ok(End::RolledBack);
            }
            self.update_stocks(session, input, some).await?;
            self.insert(session, input, head.order, from).await?;
        }
        // What the terminal would show.
        black_box(head.total_cents(&self.priced));
        control.queue_commit(session)?;
        session.done().await?;
        Ok(End::Committed)
    }

    /// Takes the order's number and enters the order.
    async fn open_order(
        &self,
        session: &mut Session,
        input: &NewOrderInput,
    ) -> Result<Head, WireError> {
        let (w, d, c) = (
            input.warehouse.into(),
            input.district.into(),
            input.customer.into(),
        );
        let mut head = Head::default();
        session.queue(&self.customer, |params| {
            params.int(w).int(d).int(c);
        })?;
        let read = |mut row: Row<'_>| {
            head.warehouse_tax = row.fixed(4)?;
            head.discount = row.fixed(4)?;
            black_box((row.text()?, row.text()?));
            Ok(())
        };
        session.rows(&self.customer, read).await?;
        session.queue(&self.district, |params| {
            params.int(w).int(d);
        })?;
        let read = |mut row: Row<'_>| {
            head.order = row.int()?;
            head.district_tax = row.fixed(4)?;
            Ok(())
        };
        session.rows(&self.district, read).await?;
        if head.order == 0 {
            return Err(missing("district"));
        }
        let order = head.order;
        session.queue(&self.take_number, |params| {
            params.int(order + 1).int(w).int(d);
        })?;
        session.done().await?;
        session.queue(&self.order, |params| {
            params.int(order).int(d).int(w).int(c);
            params.int(input.lines().len() as i64);
            params.int(input.all_local().into());
        })?;
        session.done().await?;
        session.queue(&self.new_order, |params| {
            params.int(order).int(d).int(w);
        })?;
        session.done().await?;
        Ok(head)
    }

    /// Items and stocks of these lines.
    async fn read(
        &mut self,
        session: &mut Session,
        input: &NewOrderInput,
        lines: &[(usize, Line)],
    ) -> Result<(), WireError> {
        let index = if self.batched {
            lines.len() - MIN_LINES
        } else {
            0
        };
        let (items, stocks) = (&self.lines.items[index], &self.lines.stocks[index]);
        session.queue(items, |params| {
            for (_, line) in lines {
                params.int(line.item.into());
            }
        })?;
        let found = &mut self.items;
        let read = |row: Row<'_>| {
            found.push(Item::read(row)?);
            Ok(())
        };
        session.rows(items, read).await?;
        session.queue(stocks, |params| {
            params.int(input.district.into());
            for (_, line) in lines {
                params
                    .int(line.supply_warehouse.into())
                    .int(line.item.into());
            }
        })?;
        let found = &mut self.stocks;
        let read = |row: Row<'_>| {
            found.push(Stock::read(row)?);
            Ok(())
        };
        session.rows(stocks, read).await?;
        Ok(())
    }

    /// Leaves out lines whose item does not exist.
    fn price(&mut self, lines: &[(usize, Line)]) {
        for (number, line) in lines {
            let item = self.items.iter().find(|item| item.id == line.item);
            let stock = self.stocks.iter().find(|stock| stock.is_of(line));
            if let (Some(item), Some(stock)) = (item, stock) {
                self.priced.push(OrderLine::of(*number, line, item, stock));
            }
        }
    }

    async fn update_stocks(
        &mut self,
        session: &mut Session,
        input: &NewOrderInput,
        lines: &[(usize, Line)],
    ) -> Result<(), WireError> {
        for (_, line) in lines {
            let stock = self.stocks.iter_mut().find(|stock| stock.is_of(line));
            let Some(stock) = stock else { continue };
            // A second line of the same stock goes on from there.
            stock.take(line.quantity);
            let quantity = stock.quantity;
            let remote = line.supply_warehouse != input.warehouse;
            session.queue(&self.update_stock, |params| {
                params
                    .int(quantity)
                    .int(line.quantity.into())
                    .int(remote.into());
                params
                    .int(line.supply_warehouse.into())
                    .int(line.item.into());
            })?;
            session.done().await?;
        }
        Ok(())
    }

    /// The lines priced from this one on.
    async fn insert(
        &self,
        session: &mut Session,
        input: &NewOrderInput,
        order: i64,
        from: usize,
    ) -> Result<(), WireError> {
        let lines = &self.priced[from..];
        let index = if self.batched {
            lines.len() - MIN_LINES
        } else {
            0
        };
        session.queue(&self.lines.inserts[index], |params| {
            for line in lines {
                params
                    .int(order)
                    .int(input.district.into())
                    .int(input.warehouse.into());
                params.int(line.number as i64).int(line.line.item.into());
                params.int(line.line.supply_warehouse.into());
                params
                    .int(line.line.quantity.into())
                    .fixed(line.amount_cents, 2);
                params.text(line.dist_info());
            }
        })?;
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
        assert_rendered(&[CUSTOMER, DISTRICT, TAKE_NUMBER]);
        assert_rendered(&[ORDER, NEW_ORDER, UPDATE_STOCK]);
        assert_rendered(&over_lines(Engine::MySql, 2).each_ref().map(String::as_str));
    }

    #[test]
    fn stocks_are_locked_by_their_primary_key() {
        let [_, stocks, _] = over_lines(Engine::MySql, 2);
        assert!(stocks.contains("FORCE INDEX (PRIMARY) WHERE"), "{stocks}");
        let [_, stocks, _] = over_lines(Engine::Postgres, 2);
        assert!(!stocks.contains("INDEX"), "{stocks}");
    }
}
