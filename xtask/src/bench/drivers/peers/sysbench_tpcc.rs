//! sysbench-tpcc: Percona's scripts for sysbench.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::super::figures::{Absent, Run};
use super::super::site::{Engine, Site, Transport};
use super::super::told::timed;
use super::super::{LOADERS, WAREHOUSES};
use super::sysbench::{Sysbench, drive};
use crate::bench::machine::revision;
use crate::bench::measure::{Measured, measure};

const SCRIPT: &str = "tpcc.lua";

#[derive(Debug, Clone)]
pub(in super::super) struct SysbenchTpcc {
    directory: PathBuf,
    sysbench: Sysbench,
}

impl SysbenchTpcc {
    pub(in super::super) const DATABASE: &str = "sbtpcc";

    pub(super) fn find(
        directory: Option<&Path>,
        sysbench: Result<&Sysbench, &Absent>,
    ) -> Result<Self, Absent> {
        let directory = directory
            .ok_or_else(|| Absent::NotMeasured("no --sysbench-tpcc".to_owned()))?
            .to_path_buf();
        if !directory.join(SCRIPT).exists() {
            let shown = directory.display();
            return Err(Absent::Failed(format!("{shown} holds no {SCRIPT}")));
        }
        let sysbench = sysbench.map_err(Absent::clone)?.clone();
        Ok(Self {
            directory,
            sysbench,
        })
    }

    pub(super) fn version(&self) -> Option<String> {
        let revision = revision(&self.directory)?;
        Some(format!("sysbench-tpcc {revision}"))
    }

    pub(in super::super) fn load(&self, site: &Site) -> Result<(), Absent> {
        self.once(site, "prepare").map(drop)
    }

    pub(in super::super) fn check(&self, site: &Site) -> Result<Run, Absent> {
        let measured = self.once(site, "check")?;
        Ok(timed(&measured, measured.seconds))
    }

    fn once(&self, site: &Site, what: &str) -> Result<Measured, Absent> {
        let mut command = self.command(site);
        command.arg(format!("--threads={LOADERS}")).arg(what);
        Ok(measure(&mut command)?)
    }

    pub(in super::super) fn run(
        &self,
        site: &Site,
        connections: u32,
        seconds: u64,
    ) -> Result<Run, Absent> {
        drive(&mut self.command(site), connections, seconds)
    }

    /// At the isolation that the server has by itself, as the others.
    fn command(&self, site: &Site) -> Command {
        let isolation = match site.engine {
            Engine::Postgres => "RC",
            Engine::MariaDb => "RR",
        };
        let script = format!("./{SCRIPT}");
        let mut command = self
            .sysbench
            .command(site, &script, Transport::Tcp, Self::DATABASE);
        // Its scripts find each other from there.
        command
            .current_dir(&self.directory)
            .arg("--tables=1")
            .arg(format!("--scale={WAREHOUSES}"))
            .arg(format!("--trx_level={isolation}"));
        command
    }
}
