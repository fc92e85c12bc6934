//! What New-Order makes of the rows it reads: prices, stocks and the lines to be inserted.

use std::hint::black_box;

use super::new_order::Line;
use super::number;
use super::random::ORIGINAL;
use crate::wire::{Row, WireError};

/// Length of s_dist_xx and ol_dist_info.
const DIST_INFO: usize = 24;

/// A row of i_id, i_price, i_name, i_data.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Item {
    pub(crate) id: u32,
    price_cents: i64,
    original: bool,
}

/// A row of s_w_id, s_i_id, s_quantity, s_data and the district's s_dist_xx.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stock {
    warehouse: u32,
    item: u32,
    pub(crate) quantity: i64,
    original: bool,
    dist_info: [u8; DIST_INFO],
}

/// District, warehouse and customer; taxes and discount in ten-thousandths.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Head {
    pub(crate) order: i64,
    pub(crate) district_tax: i64,
    pub(crate) warehouse_tax: i64,
    pub(crate) discount: i64,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct OrderLine {
    pub(crate) number: usize,
    pub(crate) line: Line,
    pub(crate) amount_cents: i64,
    dist_info: [u8; DIST_INFO],
}

/// Prices the lines of an order, leaving out items that do not exist.
pub(crate) fn price_lines(
    lines: &[Line],
    items: &[Item],
    stocks: &[Stock],
) -> impl Iterator<Item = OrderLine> {
    lines.iter().enumerate().filter_map(|(index, line)| {
        let item = items.iter().find(|item| item.id == line.item)?;
        let stock = stocks.iter().find(|stock| stock.is_of(line))?;
        Some(OrderLine::of(index + 1, line, item, stock))
    })
}

impl Item {
    pub(crate) fn read(mut row: Row<'_>) -> Result<Self, WireError> {
        let id = number(row.int()?)?;
        let price_cents = row.fixed(2)?;
        black_box(row.text()?);
        Ok(Self {
            id,
            price_cents,
            original: is_original(row.text()?),
        })
    }
}

impl Stock {
    pub(crate) fn read(mut row: Row<'_>) -> Result<Self, WireError> {
        let (warehouse, item) = (number(row.int()?)?, number(row.int()?)?);
        let quantity = row.int()?;
        let original = is_original(row.text()?);
        let text = row.text()?;
        let dist_info = text
            .as_bytes()
            .try_into()
            .map_err(|_| WireError::protocol(format!("s_dist of {} bytes", text.len())))?;
        Ok(Self {
            warehouse,
            item,
            quantity,
            original,
            dist_info,
        })
    }

    pub(crate) fn is_of(&self, line: &Line) -> bool {
        (self.warehouse, self.item) == (line.supply_warehouse, line.item)
    }

    /// Takes the line's quantity; stocks that fall under 10 are filled up by 91.
    pub(crate) fn take(&mut self, quantity: u32) {
        let quantity = i64::from(quantity);
        self.quantity -= quantity;
        if self.quantity < 10 {
            self.quantity += 91;
        }
    }
}

impl Head {
    /// Σ ol_amount × (1 − c_discount) × (1 + w_tax + d_tax), rounded to nearest.
    pub(crate) fn total_cents(&self, lines: &[OrderLine]) -> i64 {
        self.total_of(lines.iter().map(|line| line.amount_cents).sum())
    }

    /// The same of lines that come to this sum.
    pub(crate) fn total_of(&self, sum: i64) -> i64 {
        let taxed = 10_000 + self.warehouse_tax + self.district_tax;
        (sum * (10_000 - self.discount) * taxed + 50_000_000) / 100_000_000
    }
}

impl OrderLine {
    /// The line of this number; whether it is a brand is for the terminal to show.
    pub(crate) fn of(number: usize, line: &Line, item: &Item, stock: &Stock) -> Self {
        black_box(item.original && stock.original);
        Self {
            number,
            line: *line,
            amount_cents: item.price_cents * i64::from(line.quantity),
            dist_info: stock.dist_info,
        }
    }

    pub(crate) fn dist_info(&self) -> &str {
        // It came as text.
        std::str::from_utf8(&self.dist_info).unwrap_or_default()
    }
}

fn is_original(data: &str) -> bool {
    data.as_bytes()
        .windows(ORIGINAL.len())
        .any(|window| window == ORIGINAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stocks_fall_to_ten_and_are_filled_up() {
        for (before, taken, after) in [(20, 10, 10), (19, 10, 100), (10, 1, 100), (91, 5, 86)] {
            let mut stock = Stock {
                warehouse: 1,
                item: 1,
                quantity: before,
                original: false,
                dist_info: [b'x'; DIST_INFO],
            };
            stock.take(taken);
            assert_eq!(stock.quantity, after, "{before} - {taken}");
        }
    }

    #[test]
    fn the_total_has_taxes_and_discount() {
        let line = Line::default();
        let stock = Stock {
            warehouse: 0,
            item: 0,
            quantity: 0,
            original: true,
            dist_info: [b'x'; DIST_INFO],
        };
        let item = Item {
            id: 0,
            price_cents: 1_000,
            original: true,
        };
        let lines = [1, 2].map(|number| {
            let line = Line {
                quantity: 3,
                ..line
            };
            OrderLine::of(number, &line, &item, &stock)
        });
        let head = Head {
            order: 1,
            district_tax: 1_000,
            warehouse_tax: 500,
            discount: 2_000,
        };
        // 60.00 × 0.8 × 1.15
        assert_eq!(head.total_cents(&lines), 5_520);
    }
}
