//! Sessions with real servers: what each sslmode accepts, and every way to be turned away.
#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

mod refusals;
mod tls;
