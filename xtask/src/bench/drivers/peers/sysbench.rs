//! sysbench 1.0, and the summary that all of its scripts end with.

use std::process::Command;

use super::super::figures::{Absent, Run};
use super::super::oltp;
use super::super::site::{Engine, Site, Transport};
use super::super::told::Told;
use super::not_told;
use crate::bench::measure::measure;
use crate::command;

const NAME: &str = "sysbench";

#[derive(Debug, Clone)]
pub(in super::super) struct Sysbench {
    version: String,
}

impl Sysbench {
    pub(super) fn find() -> Result<Self, Absent> {
        let version = command::read(Command::new(NAME).arg("--version"));
        let version = version.map_err(|_| {
            Absent::NotMeasured(format!("{NAME} is not installed: apt-get install {NAME}"))
        })?;
        Ok(Self {
            version: version.trim().to_owned(),
        })
    }

    pub(super) fn version(&self) -> String {
        self.version.clone()
    }

    /// One of its own scripts, on the tables that ours drives too.
    pub(in super::super) fn run(
        &self,
        site: &Site,
        script: &str,
        connections: u32,
        seconds: u64,
    ) -> Result<Run, Absent> {
        let mut sysbench = self.command(site, script, Transport::Socket, oltp::DATABASE);
        sysbench
            .arg(format!("--tables={}", oltp::TABLES))
            .arg(format!("--table_size={}", oltp::ROWS));
        drive(&mut sysbench, connections, seconds)
    }

    /// A script with what it needs to find the server.
    pub(super) fn command(
        &self,
        site: &Site,
        script: &str,
        transport: Transport,
        database: &str,
    ) -> Command {
        let mut command = Command::new(NAME);
        command
            .arg(script)
            .args(connection(site, transport, database));
        command
    }
}

fn connection(site: &Site, transport: Transport, database: &str) -> Vec<String> {
    let driver = match site.engine {
        Engine::Postgres => "pgsql",
        Engine::MariaDb => "mysql",
    };
    let option = |name: &str, value: &str| format!("--{driver}-{name}={value}");
    let mut options = vec![
        format!("--db-driver={driver}"),
        option("user", site.user()),
        option("password", ""),
        option("db", database),
    ];
    let socket = site.socket().display().to_string();
    let port = option("port", &site.port().to_string());
    match (site.engine, transport) {
        (Engine::MariaDb, Transport::Socket) => options.push(option("socket", &socket)),
        (Engine::Postgres, Transport::Socket) => options.extend([option("host", &socket), port]),
        (_, Transport::Tcp) => options.extend([option("host", "127.0.0.1"), port]),
    }
    options
}

pub(super) fn drive(sysbench: &mut Command, connections: u32, seconds: u64) -> Result<Run, Absent> {
    sysbench
        .arg(format!("--threads={connections}"))
        .arg(format!("--time={seconds}"))
        .args(["--percentile=99", "run"]);
    let measured = measure(sysbench)?;
    let told = parse(&measured.stdout).ok_or_else(|| not_told(NAME))?;
    Ok(told.run(&measured, measured.cpu_s))
}

fn parse(summary: &str) -> Option<Told> {
    // `label:   value`, with more behind some values.
    let value = |label: &str| -> Option<f64> {
        let mut lines = summary.lines().map(str::trim);
        let rest = lines.find_map(|line| line.strip_prefix(label))?;
        let word = rest.split_ascii_whitespace().next()?;
        word.trim_end_matches('s').parse().ok()
    };
    let transactions = value("transactions:")?;
    Some(Told {
        transactions,
        statements: value("queries:"),
        tps: transactions / value("total time:")?,
        p99_ms: value("99th percentile:"),
        new_order_p99_ms: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUMMARY: &str = "\
SQL statistics:
    queries performed:
        read:                            140014
        write:                           40004
        other:                           20002
        total:                           200020
    transactions:                        10001  (500.02 per sec.)
    queries:                             200020 (10000.48 per sec.)
    ignored errors:                      0      (0.00 per sec.)
    reconnects:                          0      (0.00 per sec.)

General statistics:
    total time:                          20.0020s
    total number of events:              10001

Latency (ms):
         min:                                    4.02
         avg:                                   15.99
         max:                                  120.50
         99th percentile:                       38.25
         sum:                               159933.43

Threads fairness:
    events (avg/stddev):           1250.1250/4.29
    execution time (avg/stddev):   19.9917/0.00
";

    #[test]
    fn a_summary_is_understood() {
        let told = parse(SUMMARY).unwrap();
        assert_eq!(told.transactions, 10_001.0);
        assert_eq!(told.statements, Some(200_020.0));
        assert!((told.tps - 500.0).abs() < 1e-9);
        assert_eq!(told.p99_ms, Some(38.25));
        assert_eq!(told.new_order_p99_ms, None);
    }

    #[test]
    fn one_that_was_cut_off_is_not() {
        let cut = SUMMARY.split("General").next().unwrap();
        assert_eq!(parse(cut), None);
        assert_eq!(parse(""), None);
    }
}
