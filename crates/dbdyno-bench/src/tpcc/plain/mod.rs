//! The five transactions as most drivers send them, on either engine.
//!
//! Unbatched, each step of the specification is a statement and a round trip of its own. Batched,
//! what belongs to all lines or all districts goes in one statement, by IN lists and rows of
//! VALUES. Both wait for each answer before they go on.
//!
//! Stocks are taken in the order of warehouse and item, and districts in theirs, so that
//! transactions of one kind do not deadlock with each other.

mod customer;
mod delivery;
mod new_order;
mod order_status;
mod payment;
mod stock_level;

pub(crate) use delivery::Delivery;
pub(crate) use new_order::NewOrder;
pub(crate) use order_status::OrderStatus;
pub(crate) use payment::Payment;
pub(crate) use stock_level::StockLevel;
