//! Facts of the host: each subject's file reads under a root and parses with a pure function.

mod block;
mod cgroup;
mod clock;
mod cpu;
mod limits;
mod memory;
mod mounts;
mod numa;
mod postmasters;
mod pressure;
mod root;
mod space;
mod stat;
mod storage;
mod text;
mod virtualisation;
mod vm;
mod vmstat;

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use dbdyno_model::Fact;
use dbdyno_model::host::{CpuTime, Host, Sampled, Storage, VmStat};

pub use postmasters::{Postmaster, postgres_sockets, postmasters};
pub use root::{ReadError, Root};

/// The pure parsers, for whoever holds the text of a file.
pub mod parse {
    pub use super::block::{alignment, kind, scheduler};
    pub use super::cgroup::{Membership, byte_limit, counter, cpu_max, memberships, throttling};
    pub use super::cpu::{allowed, model};
    pub use super::limits::{limits, status_bytes};
    pub use super::memory::{meminfo, swaps};
    pub use super::mounts::{Mount, mountinfo};
    pub use super::numa::nodes;
    pub use super::postmasters::{LockFile, lock_file, sockets};
    pub use super::pressure::stall;
    pub use super::space::size;
    pub use super::stat::{cpu_time, cpus};
    pub use super::text::{cpu_list, first_number, flag, number, phrase, selected};
    pub use super::virtualisation::{acpi_vendor, hypervisor_flag, is_container_group, vendor};
    pub use super::vm::sysctl;
    pub use super::vmstat::vmstat;
}

/// What the server adds to the question: where it keeps its data and which process it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostOptions {
    pub data_directory: Option<PathBuf>,
    pub wal_directory: Option<PathBuf>,
    /// With it, limits and mounts are the server's, not this program's.
    pub server_pid: Option<u32>,
}

/// Reads everything about the host except the counters, which [`sample`] reads at both ends of a window.
pub fn collect(root: &Root, options: &HostOptions) -> Host {
    let process = match options.server_pid {
        Some(pid) => pid.to_string(),
        None => "self".to_owned(),
    };
    let storage = |directory: &Option<PathBuf>, name: &str| -> Fact<Storage> {
        match directory {
            Some(directory) => storage::collect(root, &process, directory),
            None => Fact::unknown(format!("no {name} directory is known"), ""),
        }
    };
    Host {
        kernel_release: root.fact("/proc/sys/kernel/osrelease", text::phrase),
        cpu: cpu::collect(root, &process),
        memory: memory::collect(root, &process),
        sysctl: vm::sysctls(root),
        transparent_huge_pages: vm::transparent_huge_pages(root),
        numa_nodes: numa::collect(root),
        pressure: pressure::collect(root),
        vmstat: Sampled::default(),
        cpu_time: Sampled::default(),
        data: storage(&options.data_directory, "data"),
        wal: storage(&options.wal_directory, "write-ahead log"),
        dev_shm_bytes: space::dev_shm(root, &process),
        virtualisation: virtualisation::collect(root),
        container: virtualisation::container(root),
        clocksource: clock::source(root),
        governors: clock::frequency(root, "scaling_governor"),
        frequency_drivers: clock::frequency(root, "scaling_driver"),
        energy_preferences: clock::frequency(root, "energy_performance_preference"),
        server_process: limits::collect(root, options.server_pid),
    }
}

/// Reads the counters once; two samples and the seconds between make a window.
pub fn sample(root: &Root) -> (Fact<VmStat>, Fact<CpuTime>) {
    (vmstat::sample(root), stat::sample(root))
}

/// Pressure stall information alone, for a reading once a second.
pub fn pressure(root: &Root) -> dbdyno_model::host::Pressure {
    pressure::collect(root)
}
