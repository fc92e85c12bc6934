//! Rows in the binary format of COPY.

use crate::tpcc::names::Layout;
use crate::tpcc::random::Text;
use crate::tpcc::rows;
use crate::wire::postgres::numeric;

/// Microseconds count from 2000 on the wire.
const EPOCH_2000: i64 = 946_684_800;

/// A buffer of encoded rows.
#[derive(Debug, Default)]
pub(crate) struct Encoder {
    bytes: Vec<u8>,
    rows: u64,
}

impl Encoder {
    pub(crate) fn header(&mut self) {
        self.bytes.extend_from_slice(b"PGCOPY\n\xff\r\n\0");
        // Flags and the length of the header's extension.
        self.bytes.extend_from_slice(&[0; 8]);
    }

    pub(crate) fn trailer(&mut self) {
        self.bytes.extend_from_slice(&(-1_i16).to_be_bytes());
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Empties the buffer; returns how many rows began in it.
    pub(crate) fn clear(&mut self) -> u64 {
        self.bytes.clear();
        std::mem::take(&mut self.rows)
    }

    /// Begins a row.
    pub(crate) fn row(&mut self, fields: i16) -> &mut Self {
        self.rows += 1;
        self.bytes.extend_from_slice(&fields.to_be_bytes());
        self
    }

    pub(crate) fn field(&mut self, value: &[u8]) -> &mut Self {
        self.bytes
            .extend_from_slice(&(value.len() as i32).to_be_bytes());
        self.bytes.extend_from_slice(value);
        self
    }

    fn null(&mut self) -> &mut Self {
        self.bytes.extend_from_slice(&(-1_i32).to_be_bytes());
        self
    }

    fn int2(&mut self, value: u32) -> &mut Self {
        self.field(&(value as i16).to_be_bytes())
    }

    pub(crate) fn int4(&mut self, value: u32) -> &mut Self {
        self.field(&(value as i32).to_be_bytes())
    }

    fn int8(&mut self, value: i64) -> &mut Self {
        self.field(&value.to_be_bytes())
    }

    fn text<const N: usize>(&mut self, value: &Text<N>) -> &mut Self {
        self.field(value.as_bytes())
    }

    fn time(&mut self, unix_seconds: i64) -> &mut Self {
        self.field(&((unix_seconds - EPOCH_2000) * 1_000_000).to_be_bytes())
    }

    fn fixed(&mut self, value: i64, scale: u8) -> &mut Self {
        let length_at = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 4]);
        numeric::encode(&mut self.bytes, value, scale);
        let length = (self.bytes.len() - length_at - 4) as i32;
        self.bytes[length_at..length_at + 4].copy_from_slice(&length.to_be_bytes());
        self
    }

    fn cents(&mut self, value: i64) -> &mut Self {
        self.fixed(value, 2)
    }

    fn rate(&mut self, value: i64) -> &mut Self {
        self.fixed(value, 4)
    }

    /// Of payments, deliveries and orders.
    fn count(&mut self, layout: Layout, value: u32) -> &mut Self {
        match layout {
            Layout::Own => self.int4(value),
            Layout::Sysbench => self.int2(value),
        }
    }

    fn address(&mut self, address: &rows::Address) -> &mut Self {
        self.text(&address.street_1)
            .text(&address.street_2)
            .text(&address.city)
            .text(&address.state)
            .text(&address.zip)
    }

    pub(crate) fn warehouse(&mut self, row: &rows::Warehouse) {
        self.row(9)
            .int2(row.id)
            .text(&row.name)
            .address(&row.address)
            .rate(row.tax)
            .cents(row.ytd_cents);
    }

    pub(crate) fn district(&mut self, row: &rows::District) {
        self.row(11)
            .int2(row.id)
            .int2(row.warehouse)
            .text(&row.name)
            .address(&row.address)
            .rate(row.tax)
            .cents(row.ytd_cents)
            .int4(row.next_order);
    }

    pub(crate) fn customer(
        &mut self,
        layout: Layout,
        warehouse: u32,
        district: u32,
        row: &rows::Customer,
    ) {
        self.row(21)
            .int4(row.id)
            .int2(district)
            .int2(warehouse)
            .text(&row.first)
            .field(b"OE")
            .text(&row.last)
            .address(&row.address)
            .text(&row.phone)
            .time(rows::LOADED_AT)
            .field(if row.bad_credit { b"BC" } else { b"GC" });
        match layout {
            Layout::Own => self.cents(5_000_000),
            Layout::Sysbench => self.int8(50_000),
        };
        self.rate(row.discount)
            .cents(-1_000)
            .cents(1_000)
            .count(layout, 1)
            .count(layout, 0)
            .text(&row.data);
    }

    pub(crate) fn history(&mut self, warehouse: u32, district: u32, row: &rows::History) {
        self.row(8)
            .int4(row.customer)
            .int2(district)
            .int2(warehouse)
            .int2(district)
            .int2(warehouse)
            .time(rows::LOADED_AT)
            .cents(row.amount_cents)
            .text(&row.data);
    }

    pub(crate) fn order(&mut self, warehouse: u32, district: u32, row: &rows::Order) {
        self.row(8)
            .int4(row.id)
            .int2(district)
            .int2(warehouse)
            .int4(row.customer)
            .time(row.entered_at);
        match row.carrier {
            Some(carrier) => self.int2(carrier),
            None => self.null(),
        };
        self.int2(row.lines).int2(1);
    }

    pub(crate) fn new_order(&mut self, warehouse: u32, district: u32, row: &rows::Order) {
        self.row(3).int4(row.id).int2(district).int2(warehouse);
    }

    pub(crate) fn order_line(&mut self, warehouse: u32, district: u32, row: &rows::OrderLine) {
        self.row(10)
            .int4(row.order)
            .int2(district)
            .int2(warehouse)
            .int2(row.number)
            .int4(row.item)
            .int2(warehouse);
        match row.delivered_at {
            Some(at) => self.time(at),
            None => self.null(),
        };
        self.int2(row.quantity)
            .cents(row.amount_cents)
            .text(&row.dist_info);
    }

    pub(crate) fn item(&mut self, row: &rows::Item) {
        self.row(5)
            .int4(row.id)
            .int4(row.image)
            .text(&row.name)
            .cents(row.price_cents)
            .text(&row.data);
    }

    pub(crate) fn stock(&mut self, layout: Layout, warehouse: u32, row: &rows::Stock) {
        self.row(17)
            .int4(row.item)
            .int2(warehouse)
            .int2(row.quantity);
        for dist_info in &row.dist_info {
            self.text(dist_info);
        }
        match layout {
            Layout::Own => self.int4(0),
            Layout::Sysbench => self.fixed(0, 0),
        };
        self.count(layout, 0).count(layout, 0).text(&row.data);
    }
}
