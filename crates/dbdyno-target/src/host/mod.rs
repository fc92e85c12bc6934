//! Facts of the host: each subject's file reads under a root and parses with a pure function.

mod accounts;
mod block;
mod boot;
mod capture;
mod cgroup;
mod clock;
mod cpu;
mod fstab;
mod ini;
mod limits;
mod logind;
mod lvm;
mod machine;
mod mapped;
mod maps;
mod memory;
mod module;
mod mounts;
mod numa;
mod other_servers;
mod patience;
mod postmasters;
mod pressure;
mod programs;
mod root;
mod space;
mod stat;
mod storage;
mod sysctl_files;
mod text;
mod traffic;
mod tuned;
mod unit;
mod virtualisation;
mod vm;
mod vmstat;
mod zfs;

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use dbdyno_model::Fact;
use dbdyno_model::host::{CpuTime, Host, Sampled, Storage, TablespaceStorage, Traffic, VmStat};

pub use accounts::account_of;
pub use capture::Capture;
pub use limits::{held_bytes, resident_bytes};
pub use other_servers::{OtherServer, other_servers};
pub use postmasters::{Postmaster, postgres_sockets, postmasters};
pub use root::{ReadError, Root};

/// The pure parsers, for whoever holds the text of a file.
pub mod parse {
    pub use super::accounts::account_name;
    pub use super::block::{alignment, kind, misaligned, scheduler};
    pub use super::boot::kernel_options;
    pub use super::cgroup::{Membership, byte_limit, counter, cpu_max, memberships, throttling};
    pub use super::cpu::{allowed, model};
    pub use super::fstab::fstab_options;
    pub use super::ini::{Entry, entries};
    pub use super::limits::{confinement, hard_limits, limits, status_bytes, status_uid};
    pub use super::logind::{remove_ipc, remove_ipc_default};
    pub use super::lvm::{group_name, physical_volumes};
    pub use super::mapped::mapper;
    pub use super::maps::{libc, libc_banner_version, libc_name_version, shared_memory};
    pub use super::memory::{meminfo, swaps};
    pub use super::module::switch;
    pub use super::mounts::{Mount, mountinfo};
    pub use super::numa::{node, nodes};
    pub use super::postmasters::{LockFile, Status, data_argument, lock_file, sockets, status};
    pub use super::pressure::stall;
    pub use super::space::size;
    pub use super::stat::{cpu_time, cpus};
    pub use super::sysctl_files::{sysctl_lines, sysctl_name};
    pub use super::text::{cpu_list, first_number, flag, number, phrase, selected};
    pub use super::traffic::{diskstats, listening};
    pub use super::tuned::{profile, reapplies_sysctl};
    pub use super::unit::{directives, service};
    pub use super::virtualisation::{acpi_vendor, hypervisor_flag, is_container_group, vendor};
    pub use super::vm::sysctl;
    pub use super::vmstat::vmstat;
    pub use super::zfs::cache_max;
}

/// What the server adds to the question: where it keeps its data and which process it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostOptions {
    pub data_directory: Option<PathBuf>,
    pub wal_directory: Option<PathBuf>,
    /// Of each tablespace, as the server names it; in the data directory where that is not absolute.
    pub tablespaces: Fact<Vec<String>>,
    /// With it, limits and mounts are the server's, not this program's.
    pub server_pid: Option<u32>,
}

impl HostOptions {
    /// The process whose view counts, as it stands in /proc.
    fn process(&self) -> String {
        match self.server_pid {
            Some(pid) => pid.to_string(),
            None => "self".to_owned(),
        }
    }
}

/// Reads everything about the host except the counters, which [`sample`] and [`traffic`] read at both ends of a window.
pub fn collect(root: &Root, options: &HostOptions) -> Host {
    let process = options.process();
    let running = programs::running(root);
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
        tablespaces: tablespaces(root, &process, options),
        dev_shm_bytes: space::dev_shm(root, &process),
        virtualisation: virtualisation::collect(root),
        container: virtualisation::container(root),
        clocksource: clock::source(root),
        governors: clock::frequency(root, "scaling_governor"),
        frequency_drivers: clock::frequency(root, "scaling_driver"),
        energy_preferences: clock::frequency(root, "energy_performance_preference"),
        server_process: limits::collect(root, options.server_pid),
        kernel_options: boot::options(root),
        sysctl_lines: sysctl_files::collect(root),
        tuned: tuned::collect(root),
        numa: numa::memory(root),
        cgroups: cgroup::states(root, &process),
        traffic: Sampled::default(),
        time_sync: programs::time_sync(root, &running),
        engines: programs::engines(&running),
        selinux: machine::selinux(root),
        apparmor: module::is_on(root, "apparmor", "enabled"),
        removes_ipc: logind::collect(root),
        vendor: machine::name(root, "sys_vendor"),
        product: machine::name(root, "product_name"),
        nvme_timeout_s: module::number(root, "nvme_core", "io_timeout"),
        zfs_cache_max_bytes: zfs::collect(root),
        mounts: mounts::points(root, &process),
    }
}

fn tablespaces(root: &Root, process: &str, options: &HostOptions) -> Fact<Vec<TablespaceStorage>> {
    let of = |location: &String| {
        let directory = match &options.data_directory {
            Some(data) => data.join(location),
            None => PathBuf::from(location),
        };
        TablespaceStorage {
            location: location.clone(),
            storage: storage::collect(root, process, &directory),
        }
    };
    let locations = options.tablespaces.clone();
    locations.map(|all| all.iter().map(of).collect())
}

/// Reads the counters once; two samples and the seconds between make a window.
pub fn sample(root: &Root) -> (Fact<VmStat>, Fact<CpuTime>) {
    (vmstat::sample(root), stat::sample(root))
}

/// Reads what moves on disks and network once; two readings make [`Host::traffic`].
pub fn traffic(root: &Root, options: &HostOptions) -> Fact<Traffic> {
    traffic::sample(root, &options.process())
}

/// Pressure stall information alone, for a reading once a second.
pub fn pressure(root: &Root) -> dbdyno_model::host::Pressure {
    pressure::collect(root)
}
