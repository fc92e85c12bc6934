//! The document that one `tune` writes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::run::{Check, Latency, Run};
use crate::{Class, Facts, Finding, Plan, Verdict};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tune {
    /// `dbdyno.tune/1`: fields may be added, meanings never change.
    pub schema: String,
    /// `tune-20261121T214640Z-k3f9`: names the trial in a store and in its files.
    #[serde(default)]
    pub name: String,
    pub dbdyno_version: String,
    pub command: Vec<String>,
    pub started_at: String,
    pub finished_at: Option<String>,
    /// False while a trial is under way or where it was interrupted.
    pub complete: bool,
    pub machine: Machine,
    pub server: Server,
    /// The server the plan is for, without its password; none for the embedded one.
    pub target: Option<String>,
    pub workload: Option<Workload>,
    pub budget: Option<String>,
    pub findings: Vec<Finding>,
    pub plan: Plan,
    pub arms: Vec<Arm>,
    /// Of the recommended arm; none where no trial was run.
    pub verdict: Option<Verdict>,
    /// The price of safety: unsafe arms against the base arm, as intervals without a verdict.
    pub prices: Vec<Price>,
    /// Checks of the loaded template, and a summary of those after the runs.
    pub consistency: Vec<Check>,
    pub load: Option<Load>,
    pub runs: Vec<Run>,
    /// Steps that were left out, and why.
    pub notes: Vec<String>,
    pub facts: Facts,
}

impl Tune {
    pub const SCHEMA: &str = "dbdyno.tune/1";
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Machine {
    /// `2 × Intel(R) Xeon(R) Processor, 23.5 GiB, ext4 on vda, Linux 6.18 (kvm)`.
    pub summary: String,
    pub cpus: Option<u32>,
    pub cpu_model: Option<String>,
    pub memory_bytes: Option<u64>,
    pub kernel: Option<String>,
    pub storage: Option<String>,
    pub virtualisation: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Server {
    pub engine: String,
    pub version: String,
    /// Directory of the binaries of a lab server.
    pub binaries: Option<String>,
    pub transport: String,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Workload {
    pub name: String,
    /// `10 warehouses, 8 connections, no think time`.
    pub description: String,
    pub warehouses: Option<u32>,
    pub connections: u32,
    pub seed: u64,
    /// The user's own statements, whole; none for a built-in workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// Must stand beside any number: `derived from TPC-C, not comparable with audited results`.
    pub disclaimer: Option<String>,
    /// NURand's C constants: of the load and of every run.
    pub c_load: Option<[u32; 3]>,
    pub c_run: Option<[u32; 3]>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Load {
    pub seconds: f64,
    pub rows: u64,
    pub rows_per_s: f64,
    pub bytes: Option<u64>,
    pub threads: u32,
}

/// One configuration of a trial, with what its runs came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Arm {
    pub name: String,
    pub class: Class,
    /// What the arm sets beside what initdb wrote, as in postgresql.conf.
    pub settings: BTreeMap<String, String>,
    /// Mean over the kept runs of the primary metric.
    pub tps_mean: Option<f64>,
    /// New orders a minute, over the kept runs; TPC-C only.
    pub notpm_mean: Option<f64>,
    pub runs: u32,
    pub wal_bytes_per_transaction: Option<f64>,
    pub server_cpu_us_per_transaction: Option<f64>,
    pub driver_cpu_us_per_transaction: Option<f64>,
    pub checkpoints_requested: Option<u64>,
    pub recovery_s: Option<f64>,
    pub latency_ms: Option<Latency>,
    /// `actual start (closed loop)` or `intended start (open loop at … TPS)`.
    pub latency_origin: Option<String>,
}

/// What giving up safety would buy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Price {
    pub arm: String,
    pub class: Class,
    pub base: String,
    pub ratio: Option<f64>,
    pub interval: Option<[f64; 2]>,
    pub level: f64,
    pub pairs: u32,
}
