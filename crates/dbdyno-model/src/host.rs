//! Facts of a Linux host: what the machine, its kernel and its storage offer a database.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Fact;

mod boot;
mod cgroup;
mod counters;
mod numa;
mod process;
mod time;
mod volume;

pub use boot::{SysctlLine, Tuned, TunedSetting};
pub use cgroup::Cgroup;
pub use counters::{DiskCounters, ListenCounters, Traffic};
pub use numa::NumaNode;
pub use process::{Libc, ServerProcess, Unit, UnitDirective};
pub use time::TimeSync;
pub use volume::{Mapped, Mapper, MountPoint, PhysicalVolume, VolumeGroup, is_container_layer};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Host {
    pub kernel_release: Fact<String>,
    pub cpu: Cpu,
    pub memory: Memory,
    /// Sysctls by name (`vm.swappiness`), as the kernel has them now.
    pub sysctl: BTreeMap<String, Fact<i64>>,
    pub transparent_huge_pages: HugePagePolicy,
    pub numa_nodes: Fact<u32>,
    pub pressure: Pressure,
    /// Counters of /proc/vmstat at both ends of the window.
    pub vmstat: Sampled<VmStat>,
    pub cpu_time: Sampled<CpuTime>,
    /// Storage under the data directory.
    pub data: Fact<Storage>,
    /// Storage under the write-ahead log; the data's mount point again where it is not apart.
    pub wal: Fact<Storage>,
    /// Storage under the server's tablespaces; unknown where the server did not say which it has.
    pub tablespaces: Fact<Vec<TablespaceStorage>>,
    pub dev_shm_bytes: Fact<u64>,
    pub virtualisation: Fact<Virtualisation>,
    pub container: Fact<bool>,
    pub clocksource: Fact<String>,
    pub governors: Fact<Vec<String>>,
    /// Drivers that scale the frequency: under `intel_pstate`, `powersave` is not the slow governor of old.
    pub frequency_drivers: Fact<Vec<String>>,
    /// `performance`, `balance_performance`, …, where the processor scales itself.
    pub energy_preferences: Fact<Vec<String>>,
    /// The server's main process; unknown where it is not visible from here.
    pub server_process: Fact<ServerProcess>,
    /// Options of the kernel's command line that bear on a database (`elevator=noop`), and no others.
    pub kernel_options: Fact<Vec<String>>,
    /// What files of sysctl.d set, in the order in which systemd applies them: the last of a name wins.
    pub sysctl_lines: Fact<Vec<SysctlLine>>,
    pub tuned: Fact<Tuned>,
    pub numa: Fact<Vec<NumaNode>>,
    /// The server's control group and all above it, its own first.
    pub cgroups: Fact<Vec<Cgroup>>,
    pub traffic: Sampled<Traffic>,
    pub time_sync: Fact<TimeSync>,
    /// Database servers that run here, by the names of their programs: `mongod`, `postgres`.
    pub engines: Fact<Vec<String>>,
    /// `enforcing`, `permissive` or `disabled`.
    pub selinux: Fact<String>,
    pub apparmor: Fact<bool>,
    /// Whether systemd-logind removes shared memory of users who log out.
    pub removes_ipc: Fact<bool>,
    /// Who made the machine and what it is called: a cloud's machine type stands here.
    pub vendor: Fact<String>,
    pub product: Fact<String>,
    pub nvme_timeout_s: Fact<u64>,
    /// What ZFS may keep in its cache (ARC).
    pub zfs_cache_max_bytes: Fact<u64>,
    /// File systems that the server sees.
    pub mounts: Fact<Vec<MountPoint>>,
}

/// A set of counters read twice, with the seconds between.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sampled<T> {
    pub before: Fact<T>,
    pub after: Fact<T>,
    pub seconds: f64,
}

impl<T> Default for Sampled<T> {
    fn default() -> Self {
        Self {
            before: Fact::default(),
            after: Fact::default(),
            seconds: 0.0,
        }
    }
}

impl<T> Sampled<T> {
    /// Rate per second of one counter over the window; unknown without two samples.
    pub fn rate(&self, counter: impl Fn(&T) -> Option<f64>) -> Option<f64> {
        let before = counter(self.before.value()?)?;
        let after = counter(self.after.value()?)?;
        // A counter that went backwards was reset: the window says nothing.
        (self.seconds > 0.0 && after >= before).then(|| (after - before) / self.seconds)
    }

    /// The newest sample there is.
    pub fn latest(&self) -> Option<&T> {
        self.after.value().or(self.before.value())
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Cpu {
    pub model: Fact<String>,
    pub online: Fact<u32>,
    /// CPUs that the affinity mask and cpuset leave.
    pub affinity: Fact<u32>,
    /// Every ancestor cgroup's quota in CPUs (quota / period); empty where there is none.
    pub quotas: Fact<Vec<CpuQuota>>,
    /// min(affinity, cpuset, ceil(quota / period)).
    pub effective: Fact<u32>,
    /// The own cgroup's throttling since it was made: periods and throttled periods.
    pub throttling: Fact<Throttling>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuQuota {
    pub cgroup: String,
    pub cpus: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Throttling {
    pub periods: u64,
    pub throttled: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Memory {
    pub total_bytes: Fact<u64>,
    pub available_bytes: Fact<u64>,
    pub swap_total_bytes: Fact<u64>,
    pub swap_free_bytes: Fact<u64>,
    /// Devices and files that are swapped to (`/dev/zram0`); empty where swap is off.
    pub swap_devices: Fact<Vec<String>>,
    /// Whether pages are compressed in memory on their way to swap.
    pub zswap: Fact<bool>,
    pub commit_limit_bytes: Fact<u64>,
    pub committed_bytes: Fact<u64>,
    pub page_tables_bytes: Fact<u64>,
    pub huge_page_size_bytes: Fact<u64>,
    pub huge_pages_total: Fact<u64>,
    pub huge_pages_free: Fact<u64>,
    pub huge_pages_reserved: Fact<u64>,
    /// Every ancestor cgroup's limit; an absent or unlimited one is not listed.
    pub limits: Fact<Vec<MemoryLimit>>,
    /// min(MemTotal, every limit). Swap never counts.
    pub effective_bytes: Fact<u64>,
    /// Out-of-memory kills in the own cgroup, where it counts them.
    pub oom_kills: Fact<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemoryLimit {
    pub cgroup: String,
    /// `memory.max`, `memory.high` or v1's `memory.limit_in_bytes`.
    pub control: String,
    pub bytes: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct HugePagePolicy {
    pub enabled: Fact<String>,
    pub defrag: Fact<String>,
}

/// Pressure stall information: share of time (percent, last 10 and 60 s) in which some task waited.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Pressure {
    pub cpu: Fact<Stall>,
    pub memory: Fact<Stall>,
    pub io: Fact<Stall>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stall {
    pub some_avg10: f64,
    pub some_avg60: f64,
    /// Total stalled time since boot, microseconds.
    pub some_total_us: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct VmStat {
    pub pswpin: Option<u64>,
    pub pswpout: Option<u64>,
    pub compact_stall: Option<u64>,
    pub oom_kill: Option<u64>,
    /// Pages that came from the node they were meant to come from, and those that came from another
    /// because it had none free; interleaved pages are meant to lie on every node.
    pub numa_hit: Option<u64>,
    pub numa_miss: Option<u64>,
    /// Pages that wait to be written, those under way, and how many make writers wait.
    pub nr_dirty: Option<u64>,
    pub nr_writeback: Option<u64>,
    pub nr_dirty_threshold: Option<u64>,
}

/// /proc/stat's first line, in clock ticks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuTime {
    pub user: u64,
    pub nice: u64,
    pub system: u64,
    pub idle: u64,
    pub iowait: u64,
    pub irq: u64,
    pub softirq: u64,
    pub steal: u64,
}

impl CpuTime {
    /// Time in which the CPUs did anything for this machine.
    pub fn busy(&self) -> u64 {
        self.user + self.nice + self.system + self.irq + self.softirq
    }

    pub fn total(&self) -> u64 {
        self.busy() + self.idle + self.iowait + self.steal
    }
}

/// What lies under one tablespace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TablespaceStorage {
    /// As the server names it.
    pub location: String,
    pub storage: Fact<Storage>,
}

/// A directory's way down to the disks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Storage {
    pub path: String,
    pub mount_point: String,
    /// What is mounted, as the kernel names it.
    pub source: String,
    pub filesystem: String,
    pub mount_options: Vec<String>,
    pub total_bytes: Fact<u64>,
    /// Free to an unprivileged user.
    pub free_bytes: Fact<u64>,
    /// 0 where the file system makes them as it goes.
    pub total_inodes: Fact<u64>,
    pub free_inodes: Fact<u64>,
    /// From the mounted device down to the disks; empty for file systems without one.
    pub devices: Fact<Vec<BlockDevice>>,
    /// The file system's block; on ZFS its record.
    #[serde(default)]
    pub block_bytes: Fact<u64>,
    /// Whether the directory is exempt from copy-on-write (`chattr +C`).
    #[serde(default)]
    pub no_copy_on_write: Fact<bool>,
    /// Mount options in /etc/fstab.
    #[serde(default)]
    pub fstab_options: Fact<Vec<String>>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BlockDevice {
    pub name: String,
    pub kind: BlockDeviceKind,
    /// Start of a partition in 512-byte sectors.
    pub start_sector: Option<u64>,
    pub scheduler: Fact<String>,
    pub read_ahead_kib: Fact<u64>,
    pub rotational: Fact<bool>,
    /// `write back` or `write through`, as the kernel believes it.
    pub write_cache: Fact<String>,
    pub fua: Fact<bool>,
    pub nr_requests: Fact<u64>,
    /// How far the device's start is off its physical blocks; anything but 0 is misaligned.
    #[serde(default)]
    pub alignment_offset_bytes: Fact<u64>,
    #[serde(default)]
    pub physical_block_bytes: Fact<u64>,
    /// Whether the kernel finds the device off the boundaries of those below it.
    #[serde(default)]
    pub misaligned: Fact<bool>,
    /// The smallest request that costs no more than it must, for an array its chunk.
    #[serde(default)]
    pub minimum_io_bytes: Fact<u64>,
    /// The device's preferred size, for an array its full stripe; 0 where it has none.
    #[serde(default)]
    pub optimal_io_bytes: Fact<u64>,
    /// An md array's geometry and state.
    #[serde(default)]
    pub raid: Option<Raid>,
    /// A logical volume's group.
    #[serde(default)]
    pub volume_group: Option<VolumeGroup>,
    /// What device mapper says of a device of its own.
    #[serde(default)]
    pub mapped: Option<Mapped>,
    /// Whether it is one path to a disk that multipath puts together.
    #[serde(default)]
    pub is_path: Fact<bool>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Raid {
    /// `raid0`, `raid10`, …, as the kernel writes it.
    pub level: Fact<String>,
    pub disks: Fact<u64>,
    pub chunk_bytes: Fact<u64>,
    /// Disks that are missing; levels without redundancy do not count them.
    pub degraded_disks: Fact<u64>,
    /// `resync`, `bitmap`, `journal` or `ppl`: what closes the write hole.
    pub consistency_policy: Fact<String>,
    /// `idle`, `resync`, `recover`, `check`, …
    pub sync_action: Fact<String>,
    /// Entries of RAID 4, 5 and 6 for stripes that are being written, and those in use.
    pub stripe_cache_size: Fact<u64>,
    pub stripe_cache_active: Fact<u64>,
    /// Of its superblock, whatever number the device has after a boot.
    pub uuid: Fact<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum BlockDeviceKind {
    Partition,
    Disk,
    Nvme,
    Virtio,
    DeviceMapper,
    MdRaid,
    Loop,
    #[default]
    Other,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Virtualisation {
    /// `none`, or the hypervisor as far as it shows itself (`kvm`, `firecracker`, `amazon`, …).
    pub kind: String,
}
