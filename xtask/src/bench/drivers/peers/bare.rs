//! Our own floor of a round trip: blocking sockets, a thread a connection, nothing counted or drawn
//! but an id.

use std::process::Command;

use super::super::figures::{Absent, Run};
use super::super::oltp;
use super::super::site::{Site, Transport};
use super::super::told::Told;
use super::not_told;
use crate::bench::measure::measure;
use crate::command;

const NAME: &str = "xtask-bare";

#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Bare;

impl Bare {
    pub(in super::super) fn build() -> Result<Self, Absent> {
        command::cargo(&["build", "--release", "--package", NAME])?;
        Ok(Self)
    }

    pub(in super::super) fn run(
        self,
        site: &Site,
        transport: Transport,
        connections: u32,
        seconds: u64,
    ) -> Result<Run, Absent> {
        let mut command = Command::new(command::root().join("target/release").join(NAME));
        command
            .arg(site.engine.word())
            .arg(site.address(transport))
            .args([site.user(), oltp::DATABASE])
            .args([connections.to_string(), seconds.to_string()])
            .args([oltp::TABLES.to_string(), oltp::ROWS.to_string()]);
        let measured = measure(&mut command)?;
        let told = parse(&measured.stdout).ok_or_else(|| not_told(NAME))?;
        Ok(told.run(&measured, measured.cpu_s))
    }
}

fn parse(output: &str) -> Option<Told> {
    let value = |label: &str| {
        let mut lines = output.lines();
        let value = lines.find_map(|line| line.strip_prefix(label))?;
        value.trim().parse::<f64>().ok()
    };
    let queries = value("queries:")?;
    Some(Told {
        transactions: queries,
        statements: Some(queries),
        tps: queries / value("seconds:")?,
        ..Told::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_prints_is_understood() {
        let told = parse("queries: 1000\nseconds: 2.000000\n").unwrap();
        assert_eq!((told.transactions, told.tps), (1_000.0, 500.0));
        assert_eq!(told.statements, Some(1_000.0));
        assert_eq!(parse("queries: 1000\n"), None);
    }
}
