//! TPC-C on PostgreSQL: loading, checking, and the five transactions in as few round trips as can be.
//!
//! Statements are as few as the data dependences allow. New-Order needs two round
//! trips; each of the others is one statement, a transaction of its own: it sees one snapshot, which
//! is more than clause 3.4.1 asks, and holds its locks for no longer than the server needs.
//!
//! Locks are always taken in this order, so that transactions do not deadlock with each other:
//! stock by warehouse and item, new orders by district, customers, districts, warehouses. What the
//! foreign keys lock on top of that conflicts with none of it, since no key is ever updated.

pub(crate) mod connect;
pub(crate) mod consistency;
pub(crate) mod copy;
pub(crate) mod copy_into;
pub(crate) mod crew;
mod delivery;
pub(crate) mod loader;
mod new_order;
mod order_status;
mod payment;
mod schema;
mod stock_level;
pub(crate) mod stored;
mod sysbench;

pub(crate) use delivery::{DELIVERY, Delivery};
pub(crate) use new_order::NewOrder;
pub(crate) use order_status::{BY_ID as ORDER_STATUS, OrderStatus};
pub(crate) use payment::Payment;
pub(super) use payment::middle_of_name;
pub(crate) use schema::VERSION;
pub(crate) use stock_level::STOCK_LEVEL;
