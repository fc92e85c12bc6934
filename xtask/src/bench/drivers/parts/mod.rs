//! What is measured, a part at a time.

mod load;
mod memory;
mod rate;
mod sbtest;
mod tpcc;
mod unbatched;
mod verify;

use super::figures::Absent;
use super::options::Options;
use super::ours;
use super::peers::{BenchBase, GoTpc, Peers, SysbenchTpcc};
use super::rows::Row;
use super::site::{Site, Transport};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Load,
    Tpcc,
    Unbatched,
    Rate,
    Memory,
    Verify,
    PointSelect,
    ReadWrite,
    Insert,
}

/// What all parts are handed.
#[derive(Debug)]
pub(super) struct Context<'a> {
    pub(super) options: &'a Options,
    pub(super) peers: &'a Peers,
}

impl Part {
    pub(super) const ALL: [Self; 9] = [
        Self::Load,
        Self::Tpcc,
        Self::Unbatched,
        Self::Rate,
        Self::Memory,
        Self::Verify,
        Self::PointSelect,
        Self::ReadWrite,
        Self::Insert,
    ];

    /// As it is typed.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Tpcc => "tpcc",
            Self::Unbatched => "unbatched",
            Self::Rate => "rate",
            Self::Memory => "memory",
            Self::Verify => "verify",
            Self::PointSelect => "point-select",
            Self::ReadWrite => "read-write",
            Self::Insert => "insert",
        }
    }

    /// # Errors
    /// Where ours cannot even begin; what becomes of a peer stands in its rows.
    pub(super) fn run(self, site: &mut Site, context: &Context<'_>) -> Result<Vec<Row>, Absent> {
        match self {
            Self::Load => load::run(site, context),
            Self::Tpcc => tpcc::run(site, context),
            Self::Unbatched => unbatched::run(site, context),
            Self::Rate => rate::run(site, context),
            Self::Memory => memory::run(site, context),
            Self::Verify => verify::run(site, context),
            Self::PointSelect => sbtest::point_select(site, context),
            Self::ReadWrite => sbtest::read_write(site, context),
            Self::Insert => sbtest::insert(site, context),
        }
    }
}

impl Context<'_> {
    /// TPC-C's data of ours.
    fn load_ours(&self, site: &mut Site) -> Result<(), Absent> {
        site.have(ours::DATABASE, |site| {
            ours::load(site, Transport::Socket, ours::DATABASE, true).map(drop)
        })
    }

    /// The same without foreign keys.
    fn load_keyless(&self, site: &mut Site) -> Result<(), Absent> {
        site.have(ours::KEYLESS, |site| {
            ours::load(site, Transport::Socket, ours::KEYLESS, false).map(drop)
        })
    }

    /// With its data.
    fn go_tpc(&self, site: &mut Site) -> Result<GoTpc, Absent> {
        let tool = self.peers.go_tpc.clone()?;
        site.have(GoTpc::DATABASE, |site| {
            tool.load(site, GoTpc::DATABASE).map(drop)
        })?;
        Ok(tool)
    }

    /// With its data.
    fn benchbase(&self, site: &mut Site) -> Result<BenchBase, Absent> {
        let tool = self.peers.benchbase.clone()?;
        site.have(BenchBase::DATABASE, |site| tool.load(site))?;
        Ok(tool)
    }

    /// With its data.
    fn sysbench_tpcc(&self, site: &mut Site) -> Result<SysbenchTpcc, Absent> {
        let tool = self.peers.sysbench_tpcc.clone()?;
        site.have(SysbenchTpcc::DATABASE, |site| tool.load(site))?;
        Ok(tool)
    }
}
