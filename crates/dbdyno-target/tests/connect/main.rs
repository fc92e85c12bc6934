//! Sessions with real servers: what each sslmode accepts, which of several servers is taken, where
//! passwords come from, and every way to be turned away.
#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

mod certificate;
mod hosts;
mod passwords;
mod refusals;
mod tls;
