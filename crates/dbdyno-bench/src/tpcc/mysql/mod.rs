//! TPC-C on MySQL and MariaDB: loading, checking, and the five transactions in as few round trips as can be.
//!
//! # What may share a flight
//!
//! Commands that are sent together run one after the other whatever became of those before. And a
//! failed statement leaves its transaction open without it, or, after a deadlock, takes the whole
//! transaction with it: what was queued behind it would then commit by itself. So, no command that
//! changes data is ever queued behind a command whose answer is not known. But within one command of
//! several statements nothing behind the first failure is run, COMMIT included. That makes two
//! kinds of flights:
//!
//! - reads, locking ones too, queued in any number: whatever fails there, nothing has changed;
//! - one command with all that a transaction changes and its COMMIT, sent when everything that it
//!   was made from is known. Where it fails, ROLLBACK follows (see `command`).
//!
//! Payment needs the second only, New-Order and Delivery one of each. Order-Status and Stock-Level
//! are a statement each, which is a transaction of its own.
//!
//! # Locks
//!
//! They are always taken in this order, so that transactions do not deadlock with each other: stock
//! by warehouse and item, new orders by district, customers, districts, warehouses. A foreign key
//! takes a shared lock on the parent; where it is not the transaction's own already (the customer of a
//! new order), the transaction takes it first, in its place in the order.

mod command;
pub(crate) mod connect;
pub(crate) mod consistency;
mod customer;
mod delivery;
mod figures;
pub(crate) mod load_data;
pub(crate) mod loader;
mod new_order;
mod order_status;
mod payment;
mod schema;
mod stock_level;
pub(crate) mod stored;
mod sysbench;

pub(crate) use delivery::Delivery;
pub(crate) use new_order::NewOrder;
pub(crate) use order_status::OrderStatus;
pub(crate) use payment::Payment;
pub(crate) use schema::VERSION;
pub(crate) use stock_level::STOCK_LEVEL;
