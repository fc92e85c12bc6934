//! Facts that need a server in a certain state: a standby, a failing archive, waiting sessions.
#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

mod ages;
mod covers;
mod hostile;
mod partitions;
mod replication;
mod state;
mod unprivileged;
mod widths;

use std::time::{Duration, Instant};

use dbdyno_target::postgres::{CollectOptions, Collected, collect};
use postgres::Client;

/// Facts over a short window, of which nothing may have failed.
fn facts(client: &mut Client) -> dbdyno_model::postgres::Postgres {
    let window = Duration::from_millis(300);
    let Collected { postgres, failures } = collect(client, &CollectOptions { window }).unwrap();
    assert_eq!(failures, [], "{}", postgres.version);
    postgres
}

/// Asks until the answer is true.
fn wait_until(client: &mut Client, sql: &str) {
    const LONGEST: Duration = Duration::from_secs(60);
    let begun = Instant::now();
    loop {
        if client.query_one(sql, &[]).unwrap().get(0) {
            return;
        }
        assert!(begun.elapsed() < LONGEST, "never true: {sql}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
