//! pgbench's own point select.

use std::process::Command;

use super::super::figures::{Absent, Run};
use super::super::oltp;
use super::super::site::Site;
use super::super::told::Told;
use super::not_told;
use crate::bench::measure::measure;

const NAME: &str = "pgbench";

/// The one of the server's package.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct PgBench;

impl PgBench {
    pub(in super::super) const DATABASE: &str = "pgbench";

    fn command(site: &Site) -> Result<Command, Absent> {
        let mut command = site
            .program(NAME)
            .ok_or_else(|| Absent::NotMeasured(format!("the server's package has no {NAME}")))?;
        command
            .arg("--host")
            .arg(site.socket())
            .arg(format!("--port={}", site.port()))
            .args(["--username", site.user()]);
        Ok(command)
    }

    /// As many rows as the tables have that the others drive.
    pub(in super::super) fn load(self, site: &Site) -> Result<(), Absent> {
        /// Of each unit of its scale.
        const ROWS: u32 = 100_000;
        let scale = (oltp::TABLES * oltp::ROWS).div_ceil(ROWS);
        let mut command = Self::command(site)?;
        command
            .args(["--initialize", "--quiet"])
            .arg(format!("--scale={scale}"))
            .arg(Self::DATABASE);
        measure(&mut command)?;
        Ok(())
    }

    pub(in super::super) fn run(
        self,
        site: &Site,
        connections: u32,
        seconds: u64,
    ) -> Result<Run, Absent> {
        let mut command = Self::command(site)?;
        command
            .args(["--select-only", "--protocol=prepared", "--no-vacuum"])
            .arg(format!("--client={connections}"))
            .arg("--jobs=1")
            .arg(format!("--time={seconds}"))
            .arg(Self::DATABASE);
        let measured = measure(&mut command)?;
        let told = parse(&measured.stdout).ok_or_else(|| not_told(NAME))?;
        Ok(told.run(&measured, measured.cpu_s))
    }
}

/// Versions up to 13 tell two rates: the one without the time to connect is wanted.
fn parse(summary: &str) -> Option<Told> {
    let mut lines = summary.lines();
    let done = lines.find_map(|line| {
        let count = line.strip_prefix("number of transactions actually processed:")?;
        // `N/M` where a number of transactions was asked for.
        count.trim().split('/').next()?.parse::<f64>().ok()
    })?;
    let rate = |line: &str| {
        let rest = line.strip_prefix("tps = ")?;
        let (rate, note) = rest.split_once(' ')?;
        let without = note.contains("without") || note.contains("excluding");
        without.then(|| rate.parse::<f64>().ok())?
    };
    Some(Told {
        transactions: done,
        // Each is one SELECT.
        statements: Some(done),
        tps: lines.find_map(rate)?,
        ..Told::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_of_old_and_new_versions_are_understood() {
        let new = "pgbench (15.18)\ntransaction type: <builtin: select only>\nscaling factor: 4\n\
            query mode: prepared\nnumber of clients: 8\nnumber of threads: 1\nduration: 20 s\n\
            number of transactions actually processed: 860123\n\
            number of failed transactions: 0 (0.000%)\nlatency average = 0.186 ms\n\
            initial connection time = 12.3 ms\n\
            tps = 43012.512345 (without initial connection time)\n";
        let told = parse(new).unwrap();
        assert_eq!(told.transactions, 860_123.0);
        assert_eq!(told.statements, Some(860_123.0));
        assert_eq!(told.tps, 43_012.512_345);
        let old = "number of transactions actually processed: 10/10\n\
            tps = 5.5 (including connections establishing)\n\
            tps = 6.5 (excluding connections establishing)\n";
        assert_eq!(parse(old).unwrap().tps, 6.5);
    }

    #[test]
    fn one_that_was_cut_off_is_not() {
        assert_eq!(
            parse("number of transactions actually processed: 10\n"),
            None
        );
        assert_eq!(parse("tps = 5.5 (without initial connection time)\n"), None);
    }
}
