//! Hands the driver the counters of a server and of this machine.

use dbdyno_bench::driver::{Sampler, ServerCounters};
use dbdyno_model::Fact;
use dbdyno_model::host::{CpuTime, Stall};
use dbdyno_target::host::{self, Root};
use dbdyno_target::postgres::{CounterReader, Counters};
use dbdyno_target::process;

pub(crate) struct LabSampler {
    reader: CounterReader,
    host: HostReader,
}

impl LabSampler {
    pub(crate) fn new(reader: CounterReader, postmaster: u32) -> Self {
        Self {
            reader,
            host: HostReader::new(Some(postmaster)),
        }
    }
}

impl Sampler for LabSampler {
    fn sample(&mut self) -> ServerCounters {
        // A server that is going down is the driver's to report.
        let server = self.reader.read().ok();
        let mut counters = server.as_ref().map(of_postgres).unwrap_or_default();
        self.host.read(&mut counters);
        counters
    }
}

/// What PostgreSQL counts, as the driver names it.
pub fn of_postgres(server: &Counters) -> ServerCounters {
    ServerCounters {
        wal_bytes: server.wal_position_bytes,
        full_page_images: server.full_page_images,
        checkpoints_timed: Some(server.checkpoints_timed),
        checkpoints_requested: Some(server.checkpoints_requested),
        blocks_hit: Some(server.blocks_hit),
        blocks_read: Some(server.blocks_read),
        dead_tuples: Some(server.dead_tuples),
        database_bytes: server.database_bytes,
        ..ServerCounters::default()
    }
}

/// This machine, and a server's processes where it runs here.
#[derive(Debug)]
pub struct HostReader {
    root: Root,
    server: Option<u32>,
}

impl HostReader {
    pub fn new(server: Option<u32>) -> Self {
        Self {
            root: Root::host(),
            server,
        }
    }

    pub fn read(&self, counters: &mut ServerCounters) {
        let usage = self.server.and_then(process::usage);
        let (_, cpu_time) = host::sample(&self.root);
        let pressure = host::pressure(&self.root);
        let total = |stall: &Fact<Stall>| stall.value().map(|stall| stall.some_total_us);
        counters.server_cpu_s = usage.map(|usage| usage.cpu_s);
        counters.server_read_bytes = usage.and_then(|usage| usage.read_bytes);
        counters.server_write_bytes = usage.and_then(|usage| usage.write_bytes);
        counters.steal_ticks = cpu_time.value().map(|time| time.steal);
        counters.total_ticks = cpu_time.value().map(CpuTime::total);
        counters.psi_cpu_some_us = total(&pressure.cpu);
        counters.psi_io_some_us = total(&pressure.io);
        counters.psi_memory_some_us = total(&pressure.memory);
    }
}
