//! The document that `bench run` writes for each number of connections.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Footprint;
use crate::run::{
    Check, Conditions, DriverUse, Latency, OpenLoop, Second, ServerUse, TransactionStats,
};
use crate::tune::Machine;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bench {
    /// `dbdyno.bench/1`: fields may be added, meanings never change.
    pub schema: String,
    pub dbdyno_version: String,
    /// As typed, without any password.
    pub command: Vec<String>,
    pub started_at: String,
    /// False where the run was interrupted or cut short; what was measured until then is here.
    pub complete: bool,
    pub workload: String,
    /// `TPC-C, 10 warehouses, no think time`.
    pub description: String,
    /// What keying and think times were multiplied by: 1 is as TPC-C asks. None without such times.
    pub think: Option<f64>,
    /// How statements are sent, where the workload has several ways.
    pub mode: Option<String>,
    /// `unix socket`, `TCP` or `TLS`.
    pub transport: String,
    /// How transactions are kept apart, by the names that `--isolation` has: the level that was asked
    /// for, else the one that the server gives its sessions. None where it did not say.
    pub isolation: Option<String>,
    /// By transaction, the level of those that take another one, where none was asked for.
    #[serde(default)]
    pub own_isolation: BTreeMap<String, String>,
    pub target: Target,
    /// The machine that the load was driven from.
    pub machine: Machine,
    pub connections: u32,
    pub seed: u64,
    /// The measured window, behind the warm-up.
    pub seconds: f64,
    pub warm_up_s: f64,
    /// Whether the warm-up had ended and the rate did not drift over the window.
    pub steady: bool,
    /// Least-squares slope over the window, relative to its mean.
    pub slope: Option<f64>,
    /// Committed in the window.
    pub transactions: u64,
    /// Committed transactions a second.
    pub tps: f64,
    /// The same for each of up to ten equal parts of the window, in their order.
    pub tps_of_windows: Vec<f64>,
    /// How long each of these parts is: whole seconds. What is left over at the end is in none.
    pub window_s: Option<f64>,
    /// Rows inserted or selected a second; inserts and selects only.
    pub rows_per_s: Option<f64>,
    /// New orders committed a minute; TPC-C only.
    pub notpm: Option<f64>,
    /// What TPC-C's keying and think times leave room for at most; with `think` only.
    pub notpm_most: Option<f64>,
    /// The response times that TPC-C asks for, whatever `think` is; with `think` only.
    #[serde(default)]
    pub limits: Vec<Limit>,
    /// Where latency counts from: the `actual start` of a transaction (closed loop), or its
    /// `intended start` (at a fixed rate, so that waiting is charged).
    pub latency_from: String,
    pub latency_ms: Option<Latency>,
    pub per_transaction: Vec<TransactionStats>,
    /// BEGIN and COMMIT counted, failed attempts included.
    pub statements_per_transaction: Option<f64>,
    pub round_trips_per_transaction: Option<f64>,
    /// Transactions given up, by SQLSTATE or MySQL's error number.
    pub errors: BTreeMap<String, u64>,
    /// The first message with each code.
    pub error_messages: BTreeMap<String, String>,
    /// Tries to make lost connections again that failed; not in `errors`.
    #[serde(default)]
    pub reconnects_failed: Vec<FailedReconnects>,
    pub retries: u64,
    /// Rolled back as the specification asks; not errors, not in `transactions`.
    pub intended_rollbacks: u64,
    /// With `--rate`: what was asked for and what was left undone.
    pub open_loop: Option<OpenLoop>,
    /// How these arrive, evenly spaced or by chance: `uniform` or `poisson`. None without `--rate`.
    pub arrivals: Option<String>,
    pub driver: DriverUse,
    /// Share of the time of its own threads that the driver was busy.
    pub driver_busy: Option<f64>,
    pub server: ServerUse,
    pub conditions: Conditions,
    /// The table and its indexes after the run; inserts, selects and friends only.
    pub footprint: Option<Footprint>,
    pub series: Vec<Second>,
    /// The workload's own checks after the run, where they were asked for.
    pub consistency: Vec<Check>,
    pub warnings: Vec<Warning>,
}

impl Bench {
    pub const SCHEMA: &str = "dbdyno.bench/1";

    /// New orders a minute of a warehouse's ten terminals, by TPC-C's least times and mix, if no
    /// transaction took any time (clause 5.2.5.7).
    pub const MOST_NOTPM: f64 = 12.86;
}

/// What 90 % of a transaction's response times have to stay below (TPC-C's clause 5.2.5.3).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limit {
    pub transaction: String,
    pub limit_s: f64,
    pub p90_ms: Option<f64>,
    /// None where no such transaction ended.
    pub passed: Option<bool>,
}

/// Tries to make a lost connection again that failed alike.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FailedReconnects {
    /// SQLSTATE or MySQL's error number; none where no server refused.
    pub code: Option<String>,
    /// The first with that code.
    pub message: String,
    pub count: u64,
}

impl FailedReconnects {
    /// Counts more into those that failed alike: with the same code, else with the same message.
    pub fn count_into(self, known: &mut Vec<Self>) {
        let alike = known.iter_mut().find(|known| match &self.code {
            Some(_) => known.code == self.code,
            None => known.code.is_none() && known.message == self.message,
        });
        match alike {
            Some(known) => known.count += self.count,
            None => known.push(self),
        }
    }
}

/// The server that was loaded.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Target {
    /// As an address without a password.
    pub address: String,
    /// `PostgreSQL`, `MySQL` or `MariaDB`.
    pub engine: String,
    pub version: String,
    pub database: String,
}

/// Why the number is not to be trusted as it stands.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Warning {
    pub what: String,
    /// What to do about it.
    pub next: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tries_to_connect_again_are_counted_by_code_else_by_message() {
        let failed = |code: Option<&str>, message: &str, count| FailedReconnects {
            code: code.map(str::to_owned),
            message: message.to_owned(),
            count,
        };
        let mut known = Vec::new();
        for more in [
            failed(Some("28P01"), "first", 1),
            failed(None, "refused", 1),
            failed(Some("28P01"), "second", 2),
            failed(None, "timed out", 1),
            failed(None, "refused", 3),
        ] {
            more.count_into(&mut known);
        }
        let expected = [
            failed(Some("28P01"), "first", 3),
            failed(None, "refused", 4),
            failed(None, "timed out", 1),
        ];
        assert_eq!(known, expected);
    }
}
