//! go-tpc: PingCAP's TPC-C in Go.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::super::figures::{Absent, Run};
use super::super::site::{Engine, Site};
use super::super::told::{Told, timed};
use super::super::{LOADERS, WAREHOUSES};
use super::not_told;
use crate::bench::measure::{Measured, measure};
use crate::command;

#[derive(Debug, Clone)]
pub(in super::super) struct GoTpc {
    program: PathBuf,
}

impl GoTpc {
    pub(in super::super) const DATABASE: &str = "gotpc";

    pub(super) fn find(program: Option<&Path>) -> Result<Self, Absent> {
        let program = program.ok_or_else(|| Absent::NotMeasured("no --go-tpc".to_owned()))?;
        Ok(Self {
            program: program.to_path_buf(),
        })
    }

    pub(super) fn version(&self) -> Option<String> {
        let text = command::read(Command::new(&self.program).arg("version")).ok()?;
        let hash = text
            .lines()
            .find_map(|line| line.strip_prefix("Git Commit Hash:"))?;
        Some(format!("go-tpc {}", hash.trim()))
    }

    /// Into a database that is there and empty. It makes no foreign keys.
    pub(in super::super) fn load(&self, site: &Site, database: &str) -> Result<Run, Absent> {
        let measured = self.once(site, database, &["prepare", "--no-check"])?;
        Ok(timed(&measured, measured.seconds))
    }

    pub(in super::super) fn check(&self, site: &Site) -> Result<Run, Absent> {
        let measured = self.once(site, Self::DATABASE, &["check"])?;
        Ok(timed(&measured, measured.seconds))
    }

    fn once(&self, site: &Site, database: &str, words: &[&str]) -> Result<Measured, Absent> {
        let mut command = self.command(site, database, LOADERS);
        Ok(measure(command.args(words))?)
    }

    pub(in super::super) fn run(
        &self,
        site: &Site,
        connections: u32,
        seconds: u64,
    ) -> Result<Run, Absent> {
        let mut command = self.command(site, Self::DATABASE, connections);
        // A deadlock would end its thread.
        command
            .args(["run", "--ignore-error", "--output", "json"])
            // Only the summary.
            .args(["--interval", "24h"])
            .arg(format!("--time={seconds}s"));
        let measured = measure(&mut command)?;
        let told = parse(&measured.stdout).ok_or_else(|| not_told("go-tpc"))?;
        Ok(told.run(&measured, measured.cpu_s))
    }

    fn command(&self, site: &Site, database: &str, threads: u32) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(["tpcc", "--host", "127.0.0.1"])
            .args(["--user", site.user(), "--db", database])
            .arg(format!("--port={}", site.port()))
            .arg(format!("--threads={threads}"))
            .arg(format!("--warehouses={WAREHOUSES}"));
        match site.engine {
            Engine::Postgres => {
                command.args(["--driver", "postgres", "--conn-params", "sslmode=disable"])
            }
            Engine::MariaDb => command.args(["--driver", "mysql"]),
        };
        command
    }
}

/// With `--output json` the summary is a list of one object a transaction, all values as text.
fn parse(output: &str) -> Option<Told> {
    let lists = output
        .lines()
        .filter_map(|line| serde_json::from_str::<Vec<Value>>(line).ok());
    let mut told = Told::default();
    for operation in lists.flatten() {
        let text = |name: &str| operation.get(name)?.as_str();
        let number = |name: &str| text(name)?.parse::<f64>().ok();
        let (Some("[Summary] "), Some(name)) = (text("Prefix"), text("Operation")) else {
            continue;
        };
        if name.ends_with("_ERR") {
            continue;
        }
        told.transactions += number("Count")?;
        told.tps += number("TPM")? / 60.0;
        if name == "NEW_ORDER" {
            told.new_order_p99_ms = number("99th(ms)");
        }
    }
    (told.transactions > 0.0).then_some(told)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(prefix: &str, name: &str, count: u32, tpm: f64, p99: f64) -> String {
        format!(
            r#"{{"50th(ms)":"9.4","90th(ms)":"15.2","95th(ms)":"18.9","99.9th(ms)":"46.1","99th(ms)":"{p99}","Avg(ms)":"8.1","Count":"{count}","Max(ms)":"67.1","Operation":"{name}","Prefix":"{prefix}","Sum(ms)":"65001.2","TPM":"{tpm}","Takes(s)":"20.0"}}"#
        )
    }

    #[test]
    fn transactions_are_added_up_and_errors_are_none() {
        let current = operation("[Current] ", "NEW_ORDER", 5, 30.0, 1.0);
        let summary = [
            operation("[Summary] ", "DELIVERY", 400, 1_200.0, 60.5),
            operation("[Summary] ", "NEW_ORDER", 4_500, 13_500.0, 39.8),
            operation("[Summary] ", "NEW_ORDER_ERR", 3, 9.0, 2.0),
        ]
        .join(",");
        let output = format!(
            "[{current}]\nFinished\n[{summary}]\n[{{\"tpmC\":\"13500.0\",\"tpmTotal\":\"14700.0\",\
             \"efficiency\":\"10497.7%\"}}]\n"
        );
        let told = parse(&output).unwrap();
        assert_eq!(told.transactions, 4_900.0);
        assert!((told.tps - 245.0).abs() < 1e-9);
        assert_eq!(told.new_order_p99_ms, Some(39.8));
        assert_eq!(told.p99_ms, None);
        assert_eq!(told.statements, None);
    }

    #[test]
    fn a_run_without_a_summary_is_not_understood() {
        assert_eq!(parse("Finished\n"), None);
        let current = operation("[Current] ", "NEW_ORDER", 5, 30.0, 1.0);
        assert_eq!(parse(&format!("[{current}]\n")), None);
    }
}
