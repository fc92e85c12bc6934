//! The New-Order transaction (clause 2.4.2).
//!
//! Two round trips. The first reads all items in one statement, updates all stocks in one, and takes
//! the order's number last, because the district's row is the one that orders queue for. The second
//! inserts order, new order and all lines in one statement and ends the transaction. An insert that
//! fails makes the server answer the COMMIT sent with it by rolling back, so sending both at once is
//! safe.

use std::hint::black_box;

use crate::tpcc::control::Control;
use crate::tpcc::names::Names;
use crate::tpcc::new_order::{Line, MAX_LINES, NewOrderInput};
use crate::tpcc::priced::{Head, Item, OrderLine, Stock, price_lines};
use crate::tpcc::{End, missing};
use crate::wire::{Row, Session, Statement, WireError};

const ITEMS: &str = "SELECT i_id, i_price, i_name, i_data FROM {item} WHERE i_id = ANY($1)";

/// Arrays are sorted by warehouse and item, and rows are locked in that order; no row comes twice.
const STOCKS: &str = "
    UPDATE {stock}
    SET s_quantity = CASE WHEN s_quantity >= l.quantity + 10 THEN s_quantity - l.quantity
                          ELSE s_quantity - l.quantity + 91 END,
        s_ytd = s_ytd + l.quantity,
        s_order_cnt = s_order_cnt + 1,
        s_remote_cnt = s_remote_cnt + CASE WHEN l.w_id <> $4 THEN 1 ELSE 0 END
    FROM unnest($1::smallint[], $2::integer[], $3::smallint[]) AS l (w_id, i_id, quantity)
    WHERE s_w_id = l.w_id AND s_i_id = l.i_id
    RETURNING s_w_id, s_i_id, s_quantity, s_data,
        CASE $5::smallint
            WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03
            WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06
            WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09
            ELSE s_dist_10 END";

const HEAD: &str = "
    UPDATE {district} SET d_next_o_id = d_next_o_id + 1
    FROM {warehouse}, {customer}
    WHERE d_w_id = $1 AND d_id = $2 AND w_id = $1
      AND c_w_id = $1 AND c_d_id = $2 AND c_id = $3
    RETURNING d_next_o_id - 1, d_tax, w_tax, c_discount, c_last, c_credit";

const INSERTS: &str = "
    WITH o AS (
        INSERT INTO {orders} (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
        VALUES ($1, $2, $3, $4, now(), $5, $6)
    ), n AS (
        INSERT INTO {new_order} (no_o_id, no_d_id, no_w_id) VALUES ($1, $2, $3)
    )
    INSERT INTO {order_line} (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id,
                            ol_quantity, ol_amount, ol_dist_info)
    SELECT $1, $2, $3, l.*
    FROM unnest($7::smallint[], $8::integer[], $9::smallint[], $10::smallint[], $11::numeric[],
                $12::bpchar[]) AS l";

#[derive(Debug)]
pub(crate) struct NewOrder {
    items: Statement,
    stocks: Statement,
    head: Statement,
    inserts: Statement,
    found: Found,
}

/// What the first round trip brought.
#[derive(Debug, Default)]
struct Found {
    items: Vec<Item>,
    stocks: Vec<Stock>,
    head: Option<Head>,
    /// What is inserted.
    lines: Vec<OrderLine>,
}

/// The lines that name their stock for the `rank`-th time, sorted by warehouse and item.
///
/// An UPDATE … FROM changes a row once, however many lines join it, so that an item ordered
/// twice needs a second pass.
#[derive(Debug, Clone, Copy)]
struct Pass {
    lines: [Line; MAX_LINES],
    count: usize,
}

impl Pass {
    fn of(lines: &[Line], rank: usize) -> Self {
        let key = |line: &Line| (line.supply_warehouse, line.item);
        let mut pass = Self {
            lines: [Line::default(); MAX_LINES],
            count: 0,
        };
        for (index, line) in lines.iter().enumerate() {
            let earlier = lines[..index]
                .iter()
                .filter(|other| key(other) == key(line));
            if earlier.count() == rank {
                pass.lines[pass.count] = *line;
                pass.count += 1;
            }
        }
        pass.lines[..pass.count].sort_unstable_by_key(key);
        pass
    }

    fn lines(&self) -> &[Line] {
        &self.lines[..self.count]
    }
}

impl NewOrder {
    pub(crate) async fn prepare(session: &mut Session, names: &Names) -> Result<Self, WireError> {
        Ok(Self {
            items: session.prepare(&names.sql(ITEMS)).await?,
            stocks: session.prepare(&names.sql(STOCKS)).await?,
            head: session.prepare(&names.sql(HEAD)).await?,
            inserts: session.prepare(&names.sql(INSERTS)).await?,
            found: Found::default(),
        })
    }

    pub(crate) async fn execute(
        &mut self,
        session: &mut Session,
        control: &Control,
        input: &NewOrderInput,
    ) -> Result<End, WireError> {
        self.read_and_update(session, control, input).await?;
        self.repeated_stocks(session, input).await?;
        let head = self.found.head.ok_or_else(|| missing("district"))?;
        self.found.price_lines(input);
        let end = self
            .insert_and_end(session, control, input, head.order)
            .await?;
        // What the terminal would show.
        black_box(head.total_cents(&self.found.lines));
        Ok(end)
    }

    /// The first round trip: items, stocks, and the district's row with what goes with it.
    async fn read_and_update(
        &mut self,
        session: &mut Session,
        control: &Control,
        input: &NewOrderInput,
    ) -> Result<(), WireError> {
        control.queue_begin(session)?;
        session.queue(&self.items, |params| {
            params.ints(input.lines().iter().map(|line| i64::from(line.item)));
        })?;
        self.queue_stocks(session, input, &Pass::of(input.lines(), 0))?;
        session.queue(&self.head, |params| {
            for value in [input.warehouse, input.district, input.customer] {
                params.int(value.into());
            }
        })?;
        let Found {
            items,
            stocks,
            head,
            ..
        } = &mut self.found;
        items.clear();
        stocks.clear();
        *head = None;
        session.done().await?;
        let read_item = |row: Row<'_>| {
            items.push(Item::read(row)?);
            Ok(())
        };
        session.rows(&self.items, read_item).await?;
        let read_stock = |row: Row<'_>| {
            stocks.push(Stock::read(row)?);
            Ok(())
        };
        session.rows(&self.stocks, read_stock).await?;
        let read = |row: Row<'_>| {
            *head = Some(read_head(row)?);
            Ok(())
        };
        session.rows(&self.head, read).await?;
        Ok(())
    }

    fn queue_stocks(
        &self,
        session: &mut Session,
        input: &NewOrderInput,
        pass: &Pass,
    ) -> Result<(), WireError> {
        let lines = pass.lines();
        session.queue(&self.stocks, |params| {
            params.ints(lines.iter().map(|line| line.supply_warehouse.into()));
            params.ints(lines.iter().map(|line| line.item.into()));
            params.ints(lines.iter().map(|line| line.quantity.into()));
            params.int(input.warehouse.into());
            params.int(input.district.into());
        })
    }

    /// Updates the stocks that several lines name, once more for each further line. Seldom needed;
    /// their rows are locked already.
    async fn repeated_stocks(
        &mut self,
        session: &mut Session,
        input: &NewOrderInput,
    ) -> Result<(), WireError> {
        for rank in 1.. {
            let pass = Pass::of(input.lines(), rank);
            if pass.lines().is_empty() {
                break;
            }
            self.queue_stocks(session, input, &pass)?;
            session.done().await?;
        }
        Ok(())
    }

    /// The second round trip: all inserts, and the end that fits what was found.
    async fn insert_and_end(
        &self,
        session: &mut Session,
        control: &Control,
        input: &NewOrderInput,
        order: i64,
    ) -> Result<End, WireError> {
        let lines = &self.found.lines;
        session.queue(&self.inserts, |params| {
            params.int(order);
            for value in [input.district, input.warehouse, input.customer] {
                params.int(value.into());
            }
            params.int(input.lines().len() as i64);
            params.int(input.all_local().into());
            params.ints(lines.iter().map(|line| line.number as i64));
            params.ints(lines.iter().map(|line| line.line.item.into()));
            params.ints(lines.iter().map(|line| line.line.supply_warehouse.into()));
            params.ints(lines.iter().map(|line| line.line.quantity.into()));
            params.fixeds(lines.iter().map(|line| line.amount_cents), 2);
            params.texts(lines.iter().map(OrderLine::dist_info));
        })?;
        let end = if lines.len() == input.lines().len() {
            control.queue_commit(session)?;
            End::Committed
        } else {
            control.queue_rollback(session)?;
            End::RolledBack
        };
        session.done().await?;
        session.done().await?;
        Ok(end)
    }
}

fn read_head(mut row: Row<'_>) -> Result<Head, WireError> {
    let head = Head {
        order: row.int()?,
        district_tax: row.fixed(4)?,
        warehouse_tax: row.fixed(4)?,
        discount: row.fixed(4)?,
    };
    black_box((row.text()?, row.text()?));
    Ok(head)
}

impl Found {
    fn price_lines(&mut self, input: &NewOrderInput) {
        let priced = price_lines(input.lines(), &self.items, &self.stocks);
        self.lines.clear();
        self.lines.extend(priced);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tpcc::names::assert_rendered;

    #[test]
    fn templates_are_rendered() {
        assert_rendered(&[ITEMS, STOCKS, HEAD, INSERTS]);
    }

    #[test]
    fn a_stock_named_twice_is_updated_twice() {
        let lines = [(7, 1), (3, 1), (7, 1), (7, 2), (7, 1)].map(|(item, supply_warehouse)| Line {
            item,
            supply_warehouse,
            quantity: item + 10 * supply_warehouse,
        });
        let pass = |rank| {
            let pass = Pass::of(&lines, rank);
            let keys = pass.lines().iter();
            keys.map(|line| (line.supply_warehouse, line.item, line.quantity))
                .collect::<Vec<_>>()
        };
        assert_eq!(pass(0), [(1, 3, 13), (1, 7, 17), (2, 7, 27)]);
        assert_eq!((pass(1), pass(2)), (vec![(1, 7, 17)], vec![(1, 7, 17)]));
        assert!(pass(3).is_empty());
    }
}
