//! The drivers that ours is measured beside: how each is started, and what its summary says.

mod bare;
mod benchbase;
mod go_tpc;
mod pgbench;
mod sysbench;
mod sysbench_tpcc;

pub(super) use bare::Bare;
pub(super) use benchbase::BenchBase;
pub(super) use go_tpc::GoTpc;
pub(super) use pgbench::PgBench;
pub(super) use sysbench::Sysbench;
pub(super) use sysbench_tpcc::SysbenchTpcc;

use super::figures::Absent;
use super::options::Options;

/// As far as they are here.
#[derive(Debug)]
pub(super) struct Peers {
    pub(super) go_tpc: Result<GoTpc, Absent>,
    pub(super) benchbase: Result<BenchBase, Absent>,
    pub(super) sysbench: Result<Sysbench, Absent>,
    pub(super) sysbench_tpcc: Result<SysbenchTpcc, Absent>,
}

impl Peers {
    pub(super) fn find(options: &Options) -> Self {
        let sysbench = Sysbench::find();
        Self {
            go_tpc: GoTpc::find(options.go_tpc.as_deref()),
            benchbase: BenchBase::find(options.benchbase.as_deref(), &options.java),
            sysbench_tpcc: SysbenchTpcc::find(options.sysbench_tpcc.as_deref(), sysbench.as_ref()),
            sysbench,
        }
    }

    /// Of those that tell it.
    pub(super) fn versions(&self) -> Vec<String> {
        let told = [
            self.go_tpc.as_ref().ok().and_then(GoTpc::version),
            self.benchbase.as_ref().ok().and_then(BenchBase::version),
            self.sysbench.as_ref().ok().map(Sysbench::version),
            self.sysbench_tpcc
                .as_ref()
                .ok()
                .and_then(SysbenchTpcc::version),
        ];
        told.into_iter().flatten().collect()
    }
}

fn not_told(tool: &str) -> Absent {
    Absent::Failed(format!("{tool}: its summary was not understood"))
}
