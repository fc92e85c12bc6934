//! The nine tables of clause 1.3 and what the load puts into them (clause 4.3.3.1).

use super::rows;
use super::{CUSTOMERS, DISTRICTS, FIRST_NEW_ORDER, ITEMS, ORDERS};

/// A table, in the order in which the specification's foreign keys allow rows to arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Table {
    Warehouse,
    District,
    Customer,
    History,
    Orders,
    NewOrder,
    OrderLine,
    Item,
    Stock,
}

impl Table {
    pub(crate) const ALL: [Self; 9] = [
        Self::Warehouse,
        Self::District,
        Self::Customer,
        Self::History,
        Self::Orders,
        Self::NewOrder,
        Self::OrderLine,
        Self::Item,
        Self::Stock,
    ];

    /// `orders`, because ORDER is a word of SQL; the others as the specification says.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Warehouse => "warehouse",
            Self::District => "district",
            Self::Customer => "customer",
            Self::History => "history",
            Self::Orders => "orders",
            Self::NewOrder => "new_order",
            Self::OrderLine => "order_line",
            Self::Item => "item",
            Self::Stock => "stock",
        }
    }

    /// Rows that the load writes for one warehouse; for the item table, for all of them.
    pub(crate) fn rows(self, seed: u64, warehouse: u32) -> u64 {
        u64::from(match self {
            Self::Warehouse => 1,
            Self::District => DISTRICTS,
            Self::Customer | Self::History => DISTRICTS * CUSTOMERS,
            Self::Orders => DISTRICTS * ORDERS,
            Self::NewOrder => DISTRICTS * (ORDERS + 1 - FIRST_NEW_ORDER),
            Self::OrderLine => (1..=DISTRICTS)
                .flat_map(|district| rows::orders(seed, warehouse, district))
                .map(|order| order.lines)
                .sum(),
            Self::Item | Self::Stock => ITEMS,
        })
    }
}
