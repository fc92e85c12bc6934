//! The New-Order transaction (clause 2.4.2).
//!
//! Two round trips. The first reads all items in one statement, updates all stocks in one, and takes
//! the order's number last, because the district's row is the one that orders queue for. The second
//! inserts order, new order and all lines in one statement and ends the transaction. An insert that
//! fails makes the server answer the COMMIT sent with it by rolling back, so sending both at once is
//! safe.

use std::hint::black_box;

use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, Row, Statement};

use super::End;
use super::numeric::{Cents, Fixed, Rate};
use crate::tpcc::new_order::{Line, MAX_LINES, NewOrderInput};
use crate::tpcc::random::ORIGINAL;

const ITEMS: &str = "SELECT i_id, i_price, i_name, i_data FROM item WHERE i_id = ANY($1)";

/// Arrays are sorted by warehouse and item, and rows are locked in that order; no row comes twice.
const STOCKS: &str = "
    UPDATE stock
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
    UPDATE district SET d_next_o_id = d_next_o_id + 1
    FROM warehouse, customer
    WHERE d_w_id = $1 AND d_id = $2 AND w_id = $1
      AND c_w_id = $1 AND c_d_id = $2 AND c_id = $3
    RETURNING d_next_o_id - 1, d_tax, w_tax, c_discount, c_last, c_credit";

const INSERTS: &str = "
    WITH o AS (
        INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
        VALUES ($1, $2, $3, $4, now(), $5, $6)
    ), n AS (
        INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES ($1, $2, $3)
    )
    INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id,
                            ol_quantity, ol_amount, ol_dist_info)
    SELECT $1, $2, $3, l.*
    FROM unnest($7::smallint[], $8::integer[], $9::smallint[], $10::smallint[], $11::numeric[],
                $12::bpchar[]) AS l";

type Parameters<'a, const N: usize> = [&'a (dyn ToSql + Sync); N];

#[derive(Debug)]
pub(crate) struct NewOrder {
    items: Statement,
    stocks: Statement,
    head: Statement,
    inserts: Statement,
    stock_columns: StockColumns,
    line_columns: LineColumns,
}

/// Parameters of one stock update, sorted by warehouse and item.
#[derive(Debug, Default)]
struct StockColumns {
    /// Indexes of the lines that the update is for.
    lines: Vec<usize>,
    warehouse: Vec<i16>,
    item: Vec<i32>,
    quantity: Vec<i16>,
}

impl StockColumns {
    /// Takes the lines that name their stock for the `rank`-th time; whether there is any.
    ///
    /// An UPDATE … FROM changes a row once, however many lines join it, so that an item ordered
    /// twice needs a second pass.
    fn fill(&mut self, lines: &[Line], rank: usize) -> bool {
        let key = |index: usize| (lines[index].supply_warehouse, lines[index].item);
        let earlier = |index: usize| (0..index).filter(|&other| key(other) == key(index)).count();
        self.lines.clear();
        self.lines
            .extend((0..lines.len()).filter(|&index| earlier(index) == rank));
        self.lines.sort_unstable_by_key(|&index| key(index));
        self.warehouse.clear();
        self.item.clear();
        self.quantity.clear();
        for &index in &self.lines {
            self.warehouse.push(lines[index].supply_warehouse as i16);
            self.item.push(lines[index].item as i32);
            self.quantity.push(lines[index].quantity as i16);
        }
        !self.lines.is_empty()
    }
}

#[derive(Debug, Default)]
struct LineColumns {
    number: Vec<i16>,
    item: Vec<i32>,
    supply_warehouse: Vec<i16>,
    quantity: Vec<i16>,
    amount: Vec<Cents>,
}

impl NewOrder {
    pub(crate) async fn prepare(client: &Client) -> Result<Self, Error> {
        Ok(Self {
            items: client.prepare(ITEMS).await?,
            stocks: client.prepare(STOCKS).await?,
            head: client.prepare(HEAD).await?,
            inserts: client.prepare(INSERTS).await?,
            stock_columns: StockColumns::default(),
            line_columns: LineColumns::default(),
        })
    }

    pub(crate) async fn execute(
        &mut self,
        client: &Client,
        input: &NewOrderInput,
    ) -> Result<End, Error> {
        self.stock_columns.fill(input.lines(), 0);
        let (items, mut stocks, head) = self.read_and_update(client, input).await?;
        self.repeated_stocks(client, input, &mut stocks).await?;
        let (dist_info, brands) = self.price_lines(input, &items, &stocks)?;
        let end = self
            .insert_and_end(client, input, &head, &dist_info)
            .await?;
        // What the terminal would show.
        black_box((total(&self.line_columns.amount, &head)?, brands));
        Ok(end)
    }

    /// The first round trip: items, stocks, and the district's row with what goes with it.
    async fn read_and_update(
        &self,
        client: &Client,
        input: &NewOrderInput,
    ) -> Result<(Vec<Row>, Vec<Row>, Row), Error> {
        let (w, d) = (input.warehouse as i16, input.district as i16);
        let customer = input.customer as i32;
        let mut ids = [0_i32; MAX_LINES];
        for (id, line) in ids.iter_mut().zip(input.lines()) {
            *id = line.item as i32;
        }
        let ids = &ids[..input.lines().len()];
        let stocks = &self.stock_columns;
        let of_items: Parameters<'_, 1> = [&ids];
        let of_stocks: Parameters<'_, 5> =
            [&stocks.warehouse, &stocks.item, &stocks.quantity, &w, &d];
        let of_head: Parameters<'_, 3> = [&w, &d, &customer];
        // Sent in this order; the first error in this order is the cause of those behind it.
        let (begun, items, stocks, head) = tokio::join!(
            biased;
            client.batch_execute("BEGIN"),
            client.query(&self.items, &of_items),
            client.query(&self.stocks, &of_stocks),
            client.query_one(&self.head, &of_head),
        );
        begun?;
        Ok((items?, stocks?, head?))
    }

    /// The second round trip: all inserts, and the end that fits what was found.
    async fn insert_and_end(
        &self,
        client: &Client,
        input: &NewOrderInput,
        head: &Row,
        dist_info: &[&str; MAX_LINES],
    ) -> Result<End, Error> {
        let (w, d) = (input.warehouse as i16, input.district as i16);
        let order: i32 = head.try_get(0)?;
        let (customer, count) = (input.customer as i32, input.lines().len() as i16);
        let all_local = i16::from(input.all_local());
        let lines = &self.line_columns;
        let dist_info = &dist_info[..lines.number.len()];
        let of_inserts: Parameters<'_, 12> = [
            &order,
            &d,
            &w,
            &customer,
            &count,
            &all_local,
            &lines.number,
            &lines.item,
            &lines.supply_warehouse,
            &lines.quantity,
            &lines.amount,
            &dist_info,
        ];
        let (end, statement) = if lines.number.len() == input.lines().len() {
            (End::Committed, "COMMIT")
        } else {
            (End::RolledBack, "ROLLBACK")
        };
        let (inserted, ended) = tokio::join!(
            biased;
            client.execute(&self.inserts, &of_inserts),
            client.batch_execute(statement),
        );
        inserted?;
        ended?;
        Ok(end)
    }

    /// Updates the stocks that several lines name, once more for each further line. Seldom needed;
    /// their rows are locked already.
    async fn repeated_stocks(
        &mut self,
        client: &Client,
        input: &NewOrderInput,
        stocks: &mut Vec<Row>,
    ) -> Result<(), Error> {
        let (w, d) = (input.warehouse as i16, input.district as i16);
        let mut rank = 1;
        while self.stock_columns.fill(input.lines(), rank) {
            let columns = &self.stock_columns;
            let more = client
                .query(
                    &self.stocks,
                    &[&columns.warehouse, &columns.item, &columns.quantity, &w, &d],
                )
                .await?;
            stocks.extend(more);
            rank += 1;
        }
        Ok(())
    }

    /// Fills the columns of the order lines, leaving out items that do not exist; returns the
    /// district's information of each, and how many are brands.
    fn price_lines<'rows>(
        &mut self,
        input: &NewOrderInput,
        items: &[Row],
        stocks: &'rows [Row],
    ) -> Result<([&'rows str; MAX_LINES], usize), Error> {
        let columns = &mut self.line_columns;
        columns.number.clear();
        columns.item.clear();
        columns.supply_warehouse.clear();
        columns.quantity.clear();
        columns.amount.clear();
        let mut dist_info = [""; MAX_LINES];
        let mut brands = 0;
        let items = Items::read(items)?;
        for (index, line) in input.lines().iter().enumerate() {
            let Some((price, original)) = items.find(line.item) else {
                continue;
            };
            let Some(stock) = find_stock(stocks, line)? else {
                continue;
            };
            dist_info[columns.number.len()] = stock.try_get(4)?;
            columns.number.push(index as i16 + 1);
            columns.item.push(line.item as i32);
            columns.supply_warehouse.push(line.supply_warehouse as i16);
            columns.quantity.push(line.quantity as i16);
            columns
                .amount
                .push(Fixed(price.0 * i64::from(line.quantity)));
            brands += usize::from(original && is_original(stock.try_get(3)?));
        }
        Ok((dist_info, brands))
    }
}

/// Prices of the items read, and whether their data is original.
struct Items {
    found: [(i32, Cents, bool); MAX_LINES],
    count: usize,
}

impl Items {
    fn read(rows: &[Row]) -> Result<Self, Error> {
        let mut found = [(0, Cents::default(), false); MAX_LINES];
        for (slot, row) in found.iter_mut().zip(rows) {
            *slot = (
                row.try_get(0)?,
                row.try_get(1)?,
                is_original(row.try_get(3)?),
            );
        }
        Ok(Self {
            found,
            count: rows.len().min(MAX_LINES),
        })
    }

    fn find(&self, item: u32) -> Option<(Cents, bool)> {
        self.found[..self.count]
            .iter()
            .find(|(id, ..)| *id == item as i32)
            .map(|&(_, price, original)| (price, original))
    }
}

fn find_stock<'rows>(stocks: &'rows [Row], line: &Line) -> Result<Option<&'rows Row>, Error> {
    for row in stocks {
        if row.try_get::<_, i32>(1)? == line.item as i32
            && row.try_get::<_, i16>(0)? == line.supply_warehouse as i16
        {
            return Ok(Some(row));
        }
    }
    Ok(None)
}

fn is_original(data: &str) -> bool {
    data.as_bytes()
        .windows(ORIGINAL.len())
        .any(|window| window == ORIGINAL)
}

/// Σ ol_amount × (1 − c_discount) × (1 + w_tax + d_tax), in cents rounded to nearest.
fn total(amounts: &[Cents], head: &Row) -> Result<i64, Error> {
    let district_tax: Rate = head.try_get(1)?;
    let warehouse_tax: Rate = head.try_get(2)?;
    let discount: Rate = head.try_get(3)?;
    let sum: i64 = amounts.iter().map(|amount| amount.0).sum();
    let scaled = sum * (10_000 - discount.0) * (10_000 + warehouse_tax.0 + district_tax.0);
    Ok((scaled + 50_000_000) / 100_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stock_named_twice_is_updated_twice() {
        let lines = [(7, 1), (3, 1), (7, 1), (7, 2), (7, 1)].map(|(item, supply_warehouse)| Line {
            item,
            supply_warehouse,
            quantity: item + 10 * supply_warehouse,
        });
        let mut columns = StockColumns::default();
        assert!(columns.fill(&lines, 0));
        assert_eq!(
            (&columns.warehouse[..], &columns.item[..]),
            (&[1, 1, 2][..], &[3, 7, 7][..])
        );
        assert_eq!(columns.quantity, [13, 17, 27]);
        assert!(columns.fill(&lines, 1));
        assert_eq!(
            (&columns.item[..], &columns.lines[..]),
            (&[7][..], &[2][..])
        );
        assert!(columns.fill(&lines, 2));
        assert!(!columns.fill(&lines, 3));
    }
}
