//! BenchBase's TPC-C: a JVM, whose start and whose first seconds of compiling are not counted.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::super::figures::{Absent, Run};
use super::super::site::{Engine, Site};
use super::super::told::Told;
use super::super::{LOADERS, WAREHOUSES};
use super::not_told;
use crate::bench::measure::{Measured, Window, measure_within};
use crate::command;

const NAME: &str = "BenchBase";

/// Load before the measured window.
const WARM_UP_S: u64 = 10;

/// What its log says where its window begins and ends.
const WINDOW: Window = Window {
    begin: "Warmup complete, starting measurements",
    end: "Waiting for all terminals to finish",
};

#[derive(Debug, Clone)]
pub(in super::super) struct BenchBase {
    directory: PathBuf,
    java: PathBuf,
}

impl BenchBase {
    pub(in super::super) const DATABASE: &str = "benchbase";

    pub(super) fn find(directory: Option<&Path>, java: &Path) -> Result<Self, Absent> {
        let directory = directory
            .ok_or_else(|| Absent::NotMeasured("no --benchbase".to_owned()))?
            .to_path_buf();
        let java = java.to_path_buf();
        let found = Self { directory, java };
        let homes = [Engine::Postgres, Engine::MariaDb].map(|engine| found.home(engine));
        if homes.iter().any(|home| home.join("benchbase.jar").exists()) {
            return Ok(found);
        }
        let shown = found.directory.display();
        Err(Absent::Failed(format!("{shown} holds no benchbase.jar")))
    }

    /// The builds of its profiles unpack into directories of their own.
    fn home(&self, engine: Engine) -> PathBuf {
        let own = format!("benchbase-{}", engine.word());
        let own = self.directory.join(own);
        match own.exists() {
            true => own,
            false => self.directory.clone(),
        }
    }

    pub(super) fn version(&self) -> Option<String> {
        // It tells none of itself; the JVM is half of what is measured.
        let mut java = Command::new(&self.java);
        let text = command::read(java.arg("--version")).ok()?;
        Some(format!("{NAME} on {}", text.lines().next()?))
    }

    pub(in super::super) fn load(&self, site: &Site) -> Result<(), Absent> {
        let steps = ["--create=true", "--load=true", "--execute=false"];
        self.start(site, 1, 1, &steps).map(drop)
    }

    pub(in super::super) fn run(
        &self,
        site: &Site,
        connections: u32,
        seconds: u64,
    ) -> Result<Run, Absent> {
        let results = site.scratch().join("benchbase");
        if results.exists() {
            fs::remove_dir_all(&results).map_err(|error| error.to_string())?;
        }
        let into = results.display().to_string();
        let steps = ["--execute=true", "--directory", &into];
        let measured = self.start(site, connections, seconds, &steps)?;
        let told = summary(&results)
            .and_then(|text| parse(&text))
            .ok_or_else(|| not_told(NAME))?;
        let cpu_s = measured.window_cpu_s.ok_or_else(|| {
            Absent::Failed(format!("{NAME} does not say where its window begins"))
        })?;
        Ok(told.run(&measured, cpu_s))
    }

    fn start(
        &self,
        site: &Site,
        terminals: u32,
        seconds: u64,
        steps: &[&str],
    ) -> Result<Measured, Absent> {
        let file = site.scratch().join("benchbase.xml");
        let text = configuration(site.engine, site.port(), site.user(), terminals, seconds);
        fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
        let mut java = Command::new(&self.java);
        java.args(["-jar", "benchbase.jar", "--bench", "tpcc", "--config"])
            .arg(&file)
            .args(steps)
            // It looks for its plugins there.
            .current_dir(self.home(site.engine));
        Ok(measure_within(&mut java, Some(WINDOW))?)
    }
}

/// At the isolation that the server has by itself, as the others; prepared by the server, and with
/// batches, as its own samples ask for.
fn configuration(engine: Engine, port: u16, user: &str, terminals: u32, seconds: u64) -> String {
    let database = BenchBase::DATABASE;
    let (kind, driver, url, isolation) = match engine {
        Engine::Postgres => (
            "POSTGRES",
            "org.postgresql.Driver",
            format!(
                "jdbc:postgresql://127.0.0.1:{port}/{database}?sslmode=disable&amp;reWriteBatchedInserts=true"
            ),
            "TRANSACTION_READ_COMMITTED",
        ),
        Engine::MariaDb => (
            "MARIADB",
            "org.mariadb.jdbc.Driver",
            format!("jdbc:mariadb://127.0.0.1:{port}/{database}?useServerPrepStmts=true"),
            "TRANSACTION_REPEATABLE_READ",
        ),
    };
    let transactions = [
        "NewOrder",
        "Payment",
        "OrderStatus",
        "Delivery",
        "StockLevel",
    ]
    .map(|name| format!("<transactiontype><name>{name}</name></transactiontype>"))
    .concat();
    format!(
        "<?xml version=\"1.0\"?>
<parameters>
  <type>{kind}</type>
  <driver>{driver}</driver>
  <url>{url}</url>
  <username>{user}</username>
  <password></password>
  <isolation>{isolation}</isolation>
  <batchsize>128</batchsize>
  <scalefactor>{WAREHOUSES}</scalefactor>
  <loaderThreads>{LOADERS}</loaderThreads>
  <terminals>{terminals}</terminals>
  <works>
    <work>
      <warmup>{WARM_UP_S}</warmup>
      <time>{seconds}</time>
      <rate>unlimited</rate>
      <weights>45,43,4,4,4</weights>
    </work>
  </works>
  <transactiontypes>{transactions}</transactiontypes>
</parameters>
"
    )
}

/// Of the run that wrote there.
fn summary(results: &Path) -> Option<String> {
    let mut files = fs::read_dir(results).ok()?.flatten();
    let file = files.find(|file| {
        let name = file.file_name();
        name.to_string_lossy().ends_with(".summary.json")
    })?;
    fs::read_to_string(file.path()).ok()
}

/// Goodput is left alone: it counts the warm-up too.
fn parse(summary: &str) -> Option<Told> {
    let summary: Value = serde_json::from_str(summary).ok()?;
    let latency = summary.get("Latency Distribution")?;
    let p99_us = latency.get("99th Percentile Latency (microseconds)")?;
    Some(Told {
        transactions: summary.get("Measured Requests")?.as_f64()?,
        statements: None,
        tps: summary.get("Throughput (requests/second)")?.as_f64()?,
        p99_ms: p99_us.as_f64().map(|us| us / 1e3),
        new_order_p99_ms: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_understood() {
        let summary = r#"{
            "Start timestamp (milliseconds)": 1795000000000,
            "Elapsed Time (nanoseconds)": 20000123456,
            "DBMS Type": "POSTGRES",
            "Final State": "EXIT",
            "Measured Requests": 19321,
            "isolation": "TRANSACTION_READ_COMMITTED",
            "scalefactor": "10",
            "terminals": "8",
            "Latency Distribution": {
                "95th Percentile Latency (microseconds)": 22110,
                "Maximum Latency (microseconds)": 110231,
                "Median Latency (microseconds)": 7012,
                "Minimum Latency (microseconds)": 402,
                "99th Percentile Latency (microseconds)": 35120
            },
            "Throughput (requests/second)": 966.0440367,
            "Goodput (requests/second)": 1420.1
        }"#;
        let told = parse(summary).unwrap();
        assert_eq!(told.transactions, 19_321.0);
        assert!((told.tps - 966.044).abs() < 0.001);
        assert_eq!(told.p99_ms, Some(35.12));
        assert_eq!(parse("{}"), None);
        assert_eq!(parse(&summary.replace("Measured", "Other")), None);
    }

    #[test]
    fn a_configuration_names_server_scale_and_time() {
        let postgres = configuration(Engine::Postgres, 5433, "postgres", 8, 20);
        for part in [
            "<type>POSTGRES</type>",
            "//127.0.0.1:5433/benchbase?sslmode=disable&amp;",
            "<scalefactor>10</scalefactor>",
            "<terminals>8</terminals>",
            "<time>20</time>",
            "<name>StockLevel</name>",
        ] {
            assert!(postgres.contains(part), "{part}");
        }
        let mariadb = configuration(Engine::MariaDb, 3307, "root", 32, 20);
        assert!(mariadb.contains("jdbc:mariadb://127.0.0.1:3307/benchbase?"));
        assert!(mariadb.contains("REPEATABLE_READ"));
    }
}
