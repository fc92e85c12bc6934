//! Rows as text, for LOAD DATA or, where that is switched off, for INSERT.
//!
//! Nothing is escaped: what a load draws is letters and digits, and the rest are numbers and times.

use crate::tpcc::names::Layout;
use crate::tpcc::random::Text;
use crate::tpcc::schema::Table;
use crate::tpcc::{CUSTOMERS, DISTRICTS, rows};

/// The day of all times of a load, and its first second since 1970.
const DAY: &str = "2026-01-01";
const DAY_BEGINS: i64 = rows::LOADED_AT;
const _: () = assert!(DAY_BEGINS == 20_454 * 86_400);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Lines of fields with tabs between them.
    File,
    /// Tuples with commas between them.
    Values,
}

/// Encodes one row of a table; false where none is left.
pub(crate) type Source = Box<dyn FnMut(&mut Encoder) -> bool>;

/// A buffer of encoded rows.
#[derive(Debug)]
pub(crate) struct Encoder {
    form: Form,
    bytes: Vec<u8>,
    rows: u64,
    /// Whether the row has a field already.
    within: bool,
}

/// The rows of a table and warehouse in the order of the primary key, all columns that the layout has.
pub(super) fn source(layout: Layout, seed: u64, table: Table, warehouse: u32) -> Source {
    let w = warehouse;
    match table {
        Table::Warehouse => each([rows::warehouse(seed, w)].into_iter(), |to, row| {
            to.warehouse(&row);
        }),
        Table::District => each(rows::districts(seed, w), |to, row| to.district(&row)),
        Table::Item => each(rows::items(seed), |to, row| to.item(&row)),
        Table::Stock => each(rows::stock(seed, w), move |to, row| to.stock(w, &row)),
        Table::Customer => by_district(
            move |d| rows::customers(seed, w, d),
            move |to, d, row| to.customer(layout, w, d, &row),
        ),
        Table::History => by_district(
            move |d| rows::history(seed, w, d),
            move |to, d, row| to.history(layout, w, d, &row),
        ),
        Table::Orders => by_district(
            move |d| rows::orders(seed, w, d),
            move |to, d, row| to.order(w, d, &row),
        ),
        Table::NewOrder => by_district(
            move |d| rows::orders(seed, w, d).filter(|order| order.carrier.is_none()),
            move |to, d, row| to.new_order(w, d, &row),
        ),
        Table::OrderLine => by_district(
            move |d| rows::order_lines(seed, w, d),
            move |to, d, row| to.order_line(w, d, &row),
        ),
    }
}

fn by_district<Row: 'static, Rows: Iterator<Item = Row> + 'static>(
    rows: impl Fn(u32) -> Rows + 'static,
    encode: impl Fn(&mut Encoder, u32, Row) + 'static,
) -> Source {
    let all = (1..=DISTRICTS).flat_map(move |d| rows(d).map(move |row| (d, row)));
    each(all, move |to, (d, row)| encode(to, d, row))
}

fn each<Row: 'static>(
    mut rows: impl Iterator<Item = Row> + 'static,
    encode: impl Fn(&mut Encoder, Row) + 'static,
) -> Source {
    Box::new(move |to: &mut Encoder| match rows.next() {
        Some(row) => {
            encode(to, row);
            true
        }
        None => false,
    })
}

impl Encoder {
    pub(crate) fn new(form: Form) -> Self {
        Self {
            form,
            bytes: Vec::new(),
            rows: 0,
            within: false,
        }
    }

    /// What stands before the rows.
    pub(super) fn head(&mut self, sql: &str) {
        self.bytes.extend_from_slice(sql.as_bytes());
    }

    /// Encodes rows until there are as many bytes or rows. False where there was none left.
    pub(crate) fn fill(&mut self, source: &mut Source, bytes: usize, rows: u64) -> bool {
        while self.bytes.len() < bytes && self.rows < rows && source(self) {}
        self.rows > 0
    }

    /// Swaps what was encoded for an empty buffer; returns how many rows it holds.
    pub(crate) fn take(&mut self, into: &mut Vec<u8>) -> u64 {
        into.clear();
        std::mem::swap(into, &mut self.bytes);
        std::mem::take(&mut self.rows)
    }

    pub(crate) fn row(&mut self) -> &mut Self {
        match self.form {
            Form::File => {}
            Form::Values if self.rows == 0 => self.bytes.push(b'('),
            Form::Values => self.bytes.extend_from_slice(b",("),
        }
        self.rows += 1;
        self.within = false;
        self
    }

    pub(crate) fn end(&mut self) {
        self.bytes.push(match self.form {
            Form::File => b'\n',
            Form::Values => b')',
        });
    }

    fn separate(&mut self) {
        if std::mem::replace(&mut self.within, true) {
            self.bytes.push(match self.form {
                Form::File => b'\t',
                Form::Values => b',',
            });
        }
    }

    pub(crate) fn raw(&mut self, value: &[u8]) -> &mut Self {
        self.separate();
        self.bytes.extend_from_slice(value);
        self
    }

    pub(crate) fn quoted(&mut self, value: &[u8]) -> &mut Self {
        match self.form {
            Form::File => self.raw(value),
            Form::Values => {
                self.raw(b"'").bytes.extend_from_slice(value);
                self.bytes.push(b'\'');
                self
            }
        }
    }

    fn null(&mut self) -> &mut Self {
        match self.form {
            Form::File => self.raw(br"\N"),
            Form::Values => self.raw(b"NULL"),
        }
    }

    fn text<const N: usize>(&mut self, value: &Text<N>) -> &mut Self {
        self.quoted(value.as_bytes())
    }

    pub(crate) fn int(&mut self, value: u32) -> &mut Self {
        self.long(value.into())
    }

    pub(crate) fn long(&mut self, value: u64) -> &mut Self {
        self.separate();
        put_digits(&mut self.bytes, value, 1);
        self
    }

    fn fixed<const SCALE: u32>(&mut self, value: i64) -> &mut Self {
        self.separate();
        if value < 0 {
            self.bytes.push(b'-');
        }
        let (magnitude, one) = (value.unsigned_abs(), 10_u64.pow(SCALE));
        put_digits(&mut self.bytes, magnitude / one, 1);
        self.bytes.push(b'.');
        put_digits(&mut self.bytes, magnitude % one, SCALE as usize);
        self
    }

    fn cents(&mut self, value: i64) -> &mut Self {
        self.fixed::<2>(value)
    }

    fn rate(&mut self, value: i64) -> &mut Self {
        self.fixed::<4>(value)
    }

    /// In UTC, as `datetime` keeps no zone.
    fn time(&mut self, unix_seconds: i64) -> &mut Self {
        let second = (unix_seconds - DAY_BEGINS).unsigned_abs();
        let mut text = Vec::with_capacity(19);
        text.extend_from_slice(DAY.as_bytes());
        for (mark, part) in [
            (b' ', second / 3600 % 24),
            (b':', second / 60 % 60),
            (b':', second % 60),
        ] {
            text.push(mark);
            put_digits(&mut text, part, 2);
        }
        self.quoted(&text)
    }

    fn address(&mut self, address: &rows::Address) -> &mut Self {
        self.text(&address.street_1)
            .text(&address.street_2)
            .text(&address.city)
            .text(&address.state)
            .text(&address.zip)
    }

    fn warehouse(&mut self, row: &rows::Warehouse) {
        self.row()
            .int(row.id)
            .text(&row.name)
            .address(&row.address)
            .rate(row.tax)
            .cents(row.ytd_cents)
            .end();
    }

    fn district(&mut self, row: &rows::District) {
        self.row()
            .int(row.id)
            .int(row.warehouse)
            .text(&row.name)
            .address(&row.address)
            .rate(row.tax)
            .cents(row.ytd_cents)
            .int(row.next_order)
            .end();
    }

    fn customer(&mut self, layout: Layout, warehouse: u32, district: u32, row: &rows::Customer) {
        self.row()
            .int(row.id)
            .int(district)
            .int(warehouse)
            .text(&row.first)
            .quoted(b"OE")
            .text(&row.last)
            .address(&row.address)
            .text(&row.phone)
            .time(rows::LOADED_AT)
            .quoted(if row.bad_credit { b"BC" } else { b"GC" });
        match layout {
            Layout::Own => self.cents(5_000_000),
            Layout::Sysbench => self.int(50_000),
        };
        self.rate(row.discount)
            .cents(-1_000)
            .cents(1_000)
            .int(1)
            .int(0)
            .text(&row.data)
            .end();
    }

    /// Our own is numbered, so that the rows do not depend on the threads either.
    fn history(&mut self, layout: Layout, warehouse: u32, district: u32, row: &rows::History) {
        self.row()
            .int(row.customer)
            .int(district)
            .int(warehouse)
            .int(district)
            .int(warehouse)
            .time(rows::LOADED_AT)
            .cents(row.amount_cents)
            .text(&row.data);
        if layout == Layout::Own {
            let districts = u64::from(DISTRICTS * (warehouse - 1) + district - 1);
            self.long(districts * u64::from(CUSTOMERS) + u64::from(row.customer));
        }
        self.end();
    }

    fn order(&mut self, warehouse: u32, district: u32, row: &rows::Order) {
        self.row()
            .int(row.id)
            .int(district)
            .int(warehouse)
            .int(row.customer)
            .time(row.entered_at);
        match row.carrier {
            Some(carrier) => self.int(carrier),
            None => self.null(),
        };
        self.int(row.lines).int(1).end();
    }

    fn new_order(&mut self, warehouse: u32, district: u32, row: &rows::Order) {
        self.row().int(row.id).int(district).int(warehouse).end();
    }

    fn order_line(&mut self, warehouse: u32, district: u32, row: &rows::OrderLine) {
        self.row()
            .int(row.order)
            .int(district)
            .int(warehouse)
            .int(row.number)
            .int(row.item)
            .int(warehouse);
        match row.delivered_at {
            Some(at) => self.time(at),
            None => self.null(),
        };
        self.int(row.quantity)
            .cents(row.amount_cents)
            .text(&row.dist_info)
            .end();
    }

    fn item(&mut self, row: &rows::Item) {
        self.row()
            .int(row.id)
            .int(row.image)
            .text(&row.name)
            .cents(row.price_cents)
            .text(&row.data)
            .end();
    }

    fn stock(&mut self, warehouse: u32, row: &rows::Stock) {
        self.row().int(row.item).int(warehouse).int(row.quantity);
        for dist_info in &row.dist_info {
            self.text(dist_info);
        }
        self.int(0).int(0).int(0).text(&row.data).end();
    }
}

/// In decimal, with zeros before it up to a length.
fn put_digits(bytes: &mut Vec<u8>, mut value: u64, least: usize) {
    let mut buffer = [b'0'; 20];
    let mut first = buffer.len();
    while value > 0 || buffer.len() - first < least {
        first -= 1;
        buffer[first] = b'0' + (value % 10) as u8;
        value /= 10;
    }
    bytes.extend_from_slice(&buffer[first..]);
}

#[cfg(test)]
#[path = "load_data_tests.rs"]
mod tests;
