//! Hands the driver the counters of the lab server and of this machine.

use dbdyno_bench::driver::{Sampler, ServerCounters};
use dbdyno_target::host::{self, Root};
use dbdyno_target::postgres::CounterReader;
use dbdyno_target::process;

pub(crate) struct LabSampler {
    reader: CounterReader,
    root: Root,
    postmaster: u32,
}

impl LabSampler {
    pub(crate) fn new(reader: CounterReader, postmaster: u32) -> Self {
        Self {
            reader,
            root: Root::host(),
            postmaster,
        }
    }
}

impl Sampler for LabSampler {
    fn sample(&mut self) -> ServerCounters {
        // A server that is going down is the driver's to report.
        let server = self.reader.read().ok();
        let usage = process::usage(self.postmaster);
        let (_, cpu_time) = host::sample(&self.root);
        let pressure = host::pressure(&self.root);
        let total = |stall: &dbdyno_model::Fact<dbdyno_model::host::Stall>| {
            stall.value().map(|stall| stall.some_total_us)
        };
        ServerCounters {
            wal_bytes: server.and_then(|server| server.wal_position_bytes),
            full_page_images: server.and_then(|server| server.full_page_images),
            checkpoints_timed: server.map(|server| server.checkpoints_timed),
            checkpoints_requested: server.map(|server| server.checkpoints_requested),
            blocks_hit: server.map(|server| server.blocks_hit),
            blocks_read: server.map(|server| server.blocks_read),
            dead_tuples: server.map(|server| server.dead_tuples),
            database_bytes: server.and_then(|server| server.database_bytes),
            server_cpu_s: usage.map(|usage| usage.cpu_s),
            server_read_bytes: usage.and_then(|usage| usage.read_bytes),
            server_write_bytes: usage.and_then(|usage| usage.write_bytes),
            steal_ticks: cpu_time.value().map(|time| time.steal),
            total_ticks: cpu_time.value().map(dbdyno_model::host::CpuTime::total),
            psi_cpu_some_us: total(&pressure.cpu),
            psi_io_some_us: total(&pressure.io),
            psi_memory_some_us: total(&pressure.memory),
        }
    }
}
