//! dbdyno's own runs: judged as its peers are, with what its document tells beside that.

use std::process::Command;

use dbdyno_model::Bench;

use super::figures::{Absent, Figure, Run};
use super::site::{Site, Transport};
use super::told::{Told, timed};
use super::{LOADERS, WAREHOUSES, oltp};
use crate::bench;
use crate::bench::measure::{Failure, Measured, measure};

pub(super) const NAME: &str = "dbdyno";
/// Of TPC-C.
pub(super) const DATABASE: &str = "ours";
/// Of TPC-C without foreign keys, beside peers that make none.
pub(super) const KEYLESS: &str = "keyless";

/// The exit code of what cannot be asked for.
const USAGE: i32 = 2;

/// `dbdyno bench run`, without its seed.
#[derive(Debug, Clone)]
pub(super) struct Drive<'a> {
    site: &'a Site,
    words: Vec<String>,
}

impl<'a> Drive<'a> {
    fn new(site: &'a Site, workload: &str, uri: String, connections: u32, seconds: u64) -> Self {
        let words = [
            ["bench", "run", workload, &uri].map(str::to_owned).to_vec(),
            vec![
                format!("--connections={connections}"),
                format!("--duration={seconds}s"),
                "--json".to_owned(),
                "--quiet".to_owned(),
            ],
        ];
        Self {
            site,
            words: words.concat(),
        }
    }

    pub(super) fn tpcc(site: &'a Site, mode: &str, connections: u32, seconds: u64) -> Self {
        Self::tpcc_in(DATABASE, site, mode, connections, seconds)
    }

    pub(super) fn tpcc_in(
        database: &str,
        site: &'a Site,
        mode: &str,
        connections: u32,
        seconds: u64,
    ) -> Self {
        let uri = site.uri(Transport::Tcp, database);
        Self::new(site, "tpcc", uri, connections, seconds).with(format!("--mode={mode}"))
    }

    pub(super) fn oltp(
        site: &'a Site,
        transport: Transport,
        workload: &str,
        connections: u32,
        seconds: u64,
    ) -> Self {
        let uri = site.uri(transport, oltp::DATABASE);
        Self::new(site, workload, uri, connections, seconds)
            .with(format!("--tables={}", oltp::TABLES))
            .with(format!("--table-size={}", oltp::ROWS))
    }

    /// With one more option.
    pub(super) fn with(mut self, option: String) -> Self {
        self.words.push(option);
        self
    }

    pub(super) fn run(&self, seed: u64) -> Result<Run, Absent> {
        Ok(self.go(seed)?)
    }

    /// Where it may be refused: then the figure is not measured, and nothing has failed.
    pub(super) fn run_if_known(&self, seed: u64) -> Result<Run, Absent> {
        self.go(seed).map_err(|failure| match failure.code {
            Some(USAGE) => Absent::NotMeasured(failure.message),
            _ => failure.into(),
        })
    }

    fn go(&self, seed: u64) -> Result<Run, Failure> {
        let mut command = dbdyno(self.site);
        command.args(&self.words).arg(format!("--seed={seed}"));
        let measured = measure(&mut command)?;
        let failed = |message: String| Failure {
            code: None,
            message,
        };
        let document: Bench = serde_json::from_str(&measured.stdout)
            .map_err(|error| failed(format!("{NAME}'s document: {error}")))?;
        if !document.complete {
            return Err(failed(format!("{NAME}'s run was cut short")));
        }
        Ok(figures(&document, &measured))
    }
}

/// Nothing of this user's own is to be found: option files, passwords.
fn dbdyno(site: &Site) -> Command {
    let mut command = bench::dbdyno(&[]);
    command.env("HOME", site.scratch()).env_remove("MYSQL_PWD");
    command
}

/// To ready: keys, foreign keys if any, and statistics.
pub(super) fn load(
    site: &Site,
    transport: Transport,
    database: &str,
    foreign_keys: bool,
) -> Result<Run, Absent> {
    let mut command = dbdyno(site);
    command
        .args(["bench", "load", "tpcc", &site.uri(transport, database)])
        .arg(format!("--warehouses={WAREHOUSES}"))
        .arg(format!("--threads={LOADERS}"));
    if !foreign_keys {
        command.arg("--no-foreign-keys");
    }
    let measured = measure(&mut command)?;
    Ok(timed(&measured, measured.seconds))
}

/// Makes the tables that all of sysbench's workloads use.
pub(super) fn load_oltp(site: &Site) -> Result<(), Absent> {
    let uri = site.uri(Transport::Socket, oltp::DATABASE);
    let mut command = dbdyno(site);
    command
        .args(["bench", "load", "oltp-point-select", &uri])
        .arg(format!("--tables={}", oltp::TABLES))
        .arg(format!("--table-size={}", oltp::ROWS));
    measure(&mut command)?;
    Ok(())
}

/// The consistency conditions of TPC-C; a condition that does not hold is a failure.
pub(super) fn verify(site: &Site) -> Result<Run, Absent> {
    let uri = site.uri(Transport::Tcp, DATABASE);
    let mut command = dbdyno(site);
    command.args(["bench", "verify", "tpcc", &uri]);
    let measured = measure(&mut command)?;
    Ok(timed(&measured, measured.seconds))
}

fn figures(document: &Bench, measured: &Measured) -> Run {
    let ended: u64 = document
        .series
        .iter()
        .map(|second| second.transactions)
        .sum();
    let counted = document.transactions + document.intended_rollbacks;
    // What the document leaves out as its warm-up took CPU time too.
    let transactions = ended as f64 * document.transactions as f64 / counted as f64;
    let each = document.statements_per_transaction;
    let new_orders = document
        .per_transaction
        .iter()
        .find(|stats| stats.name == "new_order");
    let told = Told {
        transactions,
        statements: each.map(|each| each * transactions),
        tps: document.tps,
        p99_ms: document.latency_ms.map(|latency| latency.p99),
        new_order_p99_ms: new_orders
            .and_then(|stats| stats.latency_ms)
            .map(|latency| latency.p99),
    };
    let mut run = told.run(measured, measured.cpu_s);
    let peak = document.driver.peak_rss_bytes;
    let lost = document.open_loop.as_ref().map(|open| {
        let due = open.rate_tps * open.seconds;
        100.0 * (1.0 - open.transactions as f64 / due)
    });
    let more = [
        (Figure::OwnCpu, document.driver.cpu_us_per_transaction),
        (
            Figure::P999,
            document.latency_ms.map(|latency| latency.p999),
        ),
        (Figure::Max, document.latency_ms.map(|latency| latency.max)),
        (Figure::PeakMemory, peak.map(|bytes| bytes as f64 / 1e6)),
        (Figure::Lost, lost),
    ];
    let known = more
        .into_iter()
        .filter_map(|(figure, value)| Some((figure, value?)));
    run.figures.extend(known);
    run
}

#[cfg(test)]
mod tests {
    use dbdyno_model::run::{DriverUse, Latency, OpenLoop, Second, TransactionStats};

    use super::*;

    #[test]
    fn cpu_of_the_warm_up_goes_with_its_transactions() {
        let latency = |p99| {
            Some(Latency {
                p99,
                p999: 30.0,
                max: 40.0,
                ..Latency::default()
            })
        };
        let second = Second {
            transactions: 500,
            ..Second::default()
        };
        let document = Bench {
            transactions: 990,
            intended_rollbacks: 10,
            tps: 495.0,
            latency_ms: latency(20.0),
            per_transaction: vec![TransactionStats {
                name: "new_order".into(),
                latency_ms: latency(25.0),
                ..TransactionStats::default()
            }],
            statements_per_transaction: Some(9.0),
            driver: DriverUse {
                cpu_us_per_transaction: Some(70.0),
                peak_rss_bytes: Some(15_000_000),
                ..DriverUse::default()
            },
            open_loop: Some(OpenLoop {
                rate_tps: 500.0,
                seconds: 2.0,
                transactions: 999,
                ..OpenLoop::default()
            }),
            // Two of them are the warm-up.
            series: vec![second; 4],
            ..Bench::default()
        };
        let measured = Measured {
            stdout: String::new(),
            seconds: 4.0,
            cpu_s: 0.198,
            window_cpu_s: None,
            peak_rss_bytes: Some(14_000_000),
            steal: 0.0,
        };
        let run = figures(&document, &measured);
        let near = |figure: Figure, expected: f64| {
            let value = run.figures.get(&figure).copied().unwrap();
            assert!((value - expected).abs() < 1e-9, "{figure:?} {value}");
        };
        near(Figure::Cpu, 100.0);
        near(Figure::CpuPerStatement, 100.0 / 9.0);
        near(Figure::OwnCpu, 70.0);
        near(Figure::P99, 20.0);
        near(Figure::NewOrderP99, 25.0);
        near(Figure::P999, 30.0);
        near(Figure::Max, 40.0);
        near(Figure::PeakMemory, 15.0);
        near(Figure::Lost, 0.1);
    }

    #[test]
    fn a_run_that_did_nothing_has_no_cpu_a_transaction() {
        let measured = Measured {
            stdout: String::new(),
            seconds: 4.0,
            cpu_s: 0.2,
            window_cpu_s: None,
            peak_rss_bytes: None,
            steal: 0.0,
        };
        let run = figures(&Bench::default(), &measured);
        assert!(!run.figures.contains_key(&Figure::Cpu));
        assert!(!run.figures.contains_key(&Figure::Lost));
    }
}
