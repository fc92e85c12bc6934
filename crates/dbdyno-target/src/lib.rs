//! Reads hosts and servers, and provisions private lab servers.

pub mod connection;
pub mod found;
pub mod host;
pub mod lab;
pub mod names;
pub mod postgres;
pub mod process;
