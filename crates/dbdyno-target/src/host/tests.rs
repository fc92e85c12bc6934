//! Whole trees through the collectors: captured, constructed, damaged, and the running machine.

use std::path::{Path, PathBuf};

use super::{HostOptions, Root, collect, sample};
use dbdyno_model::Fact;
use dbdyno_model::host::{BlockDeviceKind, Host, Storage};

mod constructed;
mod damage;
mod noise;
mod round_trips;

fn tree(name: &str) -> Root {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/hosts");
    let tree = fixtures.join(name);
    assert!(tree.is_dir(), "{} is missing", tree.display());
    Root::new(tree)
}

fn options(data: &str, wal: Option<&str>, server_pid: Option<u32>) -> HostOptions {
    HostOptions {
        data_directory: Some(PathBuf::from(data)),
        wal_directory: wal.map(PathBuf::from),
        server_pid,
        ..HostOptions::default()
    }
}

fn assert_unknown<T: std::fmt::Debug>(fact: &Fact<T>, why: &str) {
    let found = fact.why_unknown().unwrap_or("known");
    assert!(found.contains(why), "{fact:?} should say: {why}");
}

fn devices(storage: &Storage) -> Vec<(&str, BlockDeviceKind)> {
    let devices = storage.devices.value().unwrap().iter();
    devices
        .map(|device| (device.name.as_str(), device.kind))
        .collect()
}

#[test]
fn the_captured_vm_is_read_whole() {
    let root = tree("vm-2cpu-cgroup1");
    let host = collect(&root, &options("/var/lib/postgresql", None, Some(4242)));
    assert_eq!(host.kernel_release.value().unwrap(), "6.18.44");
    assert_eq!(host.memory.total_bytes.get(), Some(24_684_084 << 10));
    assert_eq!(host.memory.total_bytes.origin, "/proc/meminfo MemTotal");
    assert_eq!(host.memory.limits.value(), Some(&vec![]));
    assert_eq!(host.memory.effective_bytes.get(), Some(24_684_084 << 10));
    assert_eq!(host.memory.oom_kills.get(), Some(0));
    assert_eq!(
        host.memory.oom_kills.origin,
        "/sys/fs/cgroup/memory/services/database/memory.oom_control"
    );
    assert_eq!(host.memory.swap_devices.value(), Some(&vec![]));
    assert_eq!(host.cpu.online.get(), Some(2));
    assert_eq!(host.cpu.affinity.get(), Some(2));
    assert_eq!(host.cpu.effective.get(), Some(2));
    assert_eq!(host.cpu.throttling.get().unwrap().throttled, 0);
    assert_eq!(
        host.cpu.model.value().unwrap(),
        "Intel(R) Xeon(R) Processor"
    );
    assert_eq!(host.sysctl["vm.swappiness"].get(), Some(60));
    let origin = &host.sysctl["net.core.somaxconn"].origin;
    assert_eq!(origin, "/proc/sys/net/core/somaxconn");
    assert_eq!(
        host.transparent_huge_pages.enabled.value().unwrap(),
        "madvise"
    );
    assert_eq!(host.numa_nodes.get(), Some(1));
    assert!(host.pressure.cpu.get().is_some());
    assert_eq!(host.virtualisation.value().unwrap().kind, "firecracker");
    assert_eq!(host.container.get(), Some(false));
    assert_eq!(host.clocksource.value().unwrap(), "tsc");
    assert_unknown(&host.governors, "the processor's frequency");
    assert_eq!(host.dev_shm_bytes.get(), Some(24_684_084 << 10));

    let data = host.data.value().unwrap();
    assert_eq!(
        (data.mount_point.as_str(), data.filesystem.as_str()),
        ("/", "ext4")
    );
    assert_eq!(devices(data), [("vda", BlockDeviceKind::Virtio)]);
    let disk = &data.devices.value().unwrap()[0];
    assert_eq!(disk.scheduler.value().unwrap(), "mq-deadline");
    assert_eq!(disk.read_ahead_kib.get(), Some(8192));
    assert_eq!(disk.write_cache.value().unwrap(), "write back");
    assert_unknown(&data.free_bytes, "only the running machine");
    assert_unknown(&host.wal, "no write-ahead log directory");

    let server = host.server_process.value().unwrap();
    assert_eq!(server.limits["Max open files"], Some(20_000));
    assert_eq!(server.oom_score_adj.get(), Some(0));
    assert_eq!(server.swap_bytes.get(), Some(0));

    let (vmstat, cpu_time) = sample(&root);
    assert!(vmstat.get().unwrap().pswpin.is_some());
    assert!(cpu_time.get().unwrap().total() > 0);
}

#[test]
fn a_container_is_held_to_the_lowest_limit_of_all_its_groups() {
    let root = tree("container-cgroup2");
    let host = collect(&root, &options("/var/lib/postgresql/data", None, Some(701)));
    let limits: Vec<(&str, u64)> = (host.memory.limits.value().unwrap().iter())
        .map(|limit| (limit.control.as_str(), limit.bytes >> 30))
        .collect();
    let expected = [
        ("memory.max", 7),
        ("memory.max", 8),
        ("memory.high", 6),
        ("memory.max", 60),
    ];
    assert_eq!(limits, expected);
    assert_eq!(host.memory.effective_bytes.get(), Some(6 << 30));
    assert_eq!(host.memory.oom_kills.get(), Some(1));
    assert_eq!(host.cpu.online.get(), Some(16));
    assert_eq!(host.cpu.affinity.get(), Some(6));
    let quotas: Vec<f64> = (host.cpu.quotas.value().unwrap().iter())
        .map(|quota| quota.cpus)
        .collect();
    assert_eq!(quotas, [8.0, 3.5]);
    assert_eq!(host.cpu.effective.get(), Some(4));
    assert_eq!(host.cpu.throttling.get().unwrap().throttled, 20);
    assert_eq!(host.dev_shm_bytes.get(), Some(64 << 20));
    assert_eq!(host.virtualisation.value().unwrap().kind, "amazon");

    let data = host.data.value().unwrap();
    assert_eq!(data.filesystem, "xfs");
    assert_eq!(devices(data), [("nvme1n1", BlockDeviceKind::Nvme)]);
    let server = host.server_process.value().unwrap();
    assert_eq!(server.oom_score_adj.get(), Some(-997));
    assert_eq!(server.limits["Max cpu time"], None);
    assert_eq!(server.swap_bytes.get(), Some(512 << 10));

    // The node's own processes are in another group.
    let host = collect(&root, &HostOptions::default());
    assert_eq!(host.memory.effective_bytes.get(), Some(64 << 30));
    // And a process that is not there has no limits that anyone could know.
    let host = collect(&root, &options("/", None, Some(702)));
    assert_unknown(
        &host.memory.effective_bytes,
        "/proc/702/cgroup: no such file",
    );
    assert_unknown(&host.cpu.effective, "no such file");
    assert_unknown(&host.server_process, "no process 702");
}

#[test]
fn storage_is_followed_down_to_the_disks() {
    use BlockDeviceKind::*;
    let root = tree("numa-md-raid");
    let host = collect(
        &root,
        &options("/var/lib/my data/16/main", Some("/wal/pg"), None),
    );
    assert_eq!(host.numa_nodes.get(), Some(2));
    assert_eq!(host.cpu.effective.get(), Some(64));
    assert_eq!(host.memory.effective_bytes.get(), Some(256 << 30));
    assert_eq!(host.memory.swap_devices.value().unwrap(), &["/dev/dm-1"]);
    assert_eq!(host.virtualisation.value().unwrap().kind, "none");
    assert_eq!(
        host.governors.value().unwrap(),
        &["performance", "powersave"]
    );
    assert_eq!(host.frequency_drivers.value().unwrap(), &["intel_pstate"]);
    assert_eq!(
        host.transparent_huge_pages.enabled.value().unwrap(),
        "always"
    );

    let data = host.data.value().unwrap();
    assert_eq!(data.mount_point, "/var/lib/my data");
    assert!(data.mount_options.contains(&"swidth=2048".to_owned()));
    let expected = [
        ("dm-2", DeviceMapper),
        ("md0", MdRaid),
        ("sda1", Partition),
        ("sda", Disk),
        ("sdb1", Partition),
        ("sdb", Disk),
    ];
    assert_eq!(devices(data), expected);
    let chain = data.devices.value().unwrap();
    let raid = chain[1].raid.as_ref().unwrap();
    assert_eq!(raid.level.value().unwrap(), "raid10");
    assert_eq!(raid.chunk_bytes.get(), Some(512 << 10));
    assert_eq!(raid.degraded_disks.get(), Some(0));
    assert_eq!(chain[4].start_sector, Some(63));
    assert_eq!(chain[4].alignment_offset_bytes.get(), Some(512));
    assert_unknown(&chain[4].scheduler, "see its disk");
    assert_eq!(chain[5].scheduler.value().unwrap(), "bfq");
    assert_eq!(chain[5].fua.get(), Some(false));
    assert_eq!(chain[0].optimal_io_bytes.get(), Some(1 << 20));

    let wal = host.wal.value().unwrap();
    assert_eq!(
        (wal.mount_point.as_str(), wal.filesystem.as_str()),
        ("/wal", "btrfs")
    );
    assert_eq!(devices(wal), [("nvme0n1p1", Partition), ("nvme0n1", Nvme)]);
}

#[test]
fn without_sys_what_cannot_be_read_is_unknown() {
    let root = tree("no-sys");
    let host = collect(
        &root,
        &options("/var/lib/postgresql/data", Some("/srv/wal"), None),
    );
    assert_eq!(host.container.get(), Some(true));
    assert_eq!(host.memory.total_bytes.get(), Some(8 << 30));
    assert_unknown(
        &host.memory.effective_bytes,
        "no cgroup file system is mounted",
    );
    assert_eq!(host.cpu.online.get(), Some(4));
    assert_eq!(host.cpu.affinity.get(), Some(2));
    assert_unknown(&host.cpu.effective, "no cgroup file system is mounted");
    assert_unknown(&host.cpu.model, "no model name");
    assert_unknown(&host.numa_nodes, "no such file");
    assert_unknown(&host.virtualisation, "neither processor nor firmware");
    assert_unknown(&host.pressure.io, "no such file");
    assert_eq!(host.sysctl["vm.swappiness"].get(), Some(60));
    assert_unknown(&host.sysctl["vm.dirty_ratio"], "no such file");
    assert_eq!(host.dev_shm_bytes.get(), Some(64 << 20));
    let data = host.data.value().unwrap();
    assert_eq!(data.source, "/dev/vda1");
    assert_unknown(&data.devices, "/sys/block: no such file");
    let wal = host.wal.value().unwrap();
    assert_unknown(&wal.devices, "an overlay does not show");
}

#[test]
fn damage_makes_unknowns_and_stops_nothing() {
    let root = tree("damaged");
    let host = collect(&root, &options("/data", None, Some(4242)));
    assert_unknown(&host.kernel_release, "empty");
    assert_eq!(host.memory.total_bytes.get(), Some(1 << 20));
    assert_eq!(host.memory.available_bytes.get(), None);
    assert_unknown(&host.memory.swap_devices, "not text");
    assert_unknown(&host.memory.effective_bytes, "no such file");
    assert_unknown(&host.cpu.online, "empty");
    assert_unknown(&host.cpu.model, "not text");
    assert_unknown(&host.numa_nodes, "not a list");
    assert_unknown(&host.pressure.cpu, "avg60");
    assert_unknown(&host.sysctl["vm.dirty_ratio"], "\"twenty\"");
    assert_unknown(&host.sysctl["vm.dirty_bytes"], "out of the captured tree");
    assert_unknown(
        &host.transparent_huge_pages.enabled,
        "no choice in brackets",
    );
    assert_unknown(&host.governors, "empty");
    let server = host.server_process.value().unwrap();
    assert!(server.limits.is_empty());
    assert_unknown(&server.resident_bytes, "not a number");
    assert_unknown(&host.data, "4242/mountinfo: no such file");

    let host = collect(&root, &options("/data", None, None));
    assert_unknown(
        &host.memory.effective_bytes,
        "/sys/fs/cgroup/memory.max: not a number",
    );
    assert_unknown(&host.cpu.quotas, "cpu.max: neither quota nor max");
    assert_unknown(&host.cpu.affinity, "not a list of CPUs");
    let data = host.data.value().unwrap();
    let expected = [
        ("sda1", BlockDeviceKind::Partition),
        ("sda", BlockDeviceKind::Disk),
    ];
    assert_eq!(devices(data), expected);
    let disk = &data.devices.value().unwrap()[1];
    assert_unknown(&disk.rotational, "neither 0 nor 1");
    assert_eq!(disk.write_cache.value(), None);
    let (vmstat, cpu_time) = sample(&root);
    assert_unknown(&vmstat, "not text");
    assert_unknown(&cpu_time, "has 3 numbers");
}

#[test]
fn an_empty_tree_knows_nothing_and_says_so() {
    let empty = tempfile::tempdir().unwrap();
    let host = collect(&Root::new(empty.path()), &options("/data", None, Some(1)));
    assert_unknown(&host.memory.total_bytes, "no such file");
    assert_unknown(&host.memory.effective_bytes, "no such file");
    assert_unknown(&host.cpu.effective, "no such file");
    assert_unknown(&host.data, "no such file");
}

/// A v1 tree in which a container sees only its own group, at the mount point.
#[test]
fn a_version_1_container_reads_its_own_group_and_the_hidden_limit() {
    let directory = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = directory.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("proc/meminfo", "MemTotal: 16777216 kB\n");
    write("proc/stat", "cpu0 0\ncpu1 0\ncpu2 0\ncpu3 0\n");
    write("proc/self/status", "Cpus_allowed_list:\t0-3\n");
    write(
        "proc/self/cgroup",
        "4:memory:/docker/7\n3:cpu,cpuacct:/docker/7\n2:cpuset:/docker/7\n",
    );
    write(
        "proc/self/mountinfo",
        "1 0 0:1 /docker/7 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n\
         2 0 0:2 /docker/7 /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n\
         3 0 0:3 /docker/7 /sys/fs/cgroup/cpuset ro - cgroup cgroup rw,cpuset\n",
    );
    let memory = "sys/fs/cgroup/memory";
    write(
        &format!("{memory}/memory.limit_in_bytes"),
        "9223372036854771712\n",
    );
    write(
        &format!("{memory}/memory.stat"),
        "cache 1\nhierarchical_memory_limit 4294967296\n",
    );
    write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
    write("sys/fs/cgroup/cpuset/cpuset.cpus", "1,3\n");
    let root = Root::new(directory.path());
    let host = collect(&root, &HostOptions::default());
    assert_eq!(host.memory.effective_bytes.get(), Some(4 << 30));
    assert_eq!(host.cpu.quotas.value(), Some(&vec![]));
    assert_eq!(host.cpu.effective.get(), Some(2));

    write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000\n");
    write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    assert_eq!(
        collect(&root, &HostOptions::default()).cpu.effective.get(),
        Some(1)
    );

    // A sibling container's group cannot be read from here, and ours is not an answer.
    write("proc/self/cgroup", "4:memory:/../8\n");
    let host = collect(&root, &HostOptions::default());
    assert_unknown(&host.memory.effective_bytes, "outside the namespace");
}

#[test]
fn without_a_cgroup_mount_only_the_first_namespace_is_free() {
    let directory = tempfile::tempdir().unwrap();
    let own = directory.path().join("proc/self");
    std::fs::create_dir_all(own.join("ns")).unwrap();
    std::fs::write(directory.path().join("proc/meminfo"), "MemTotal: 1024 kB\n").unwrap();
    std::fs::write(
        own.join("mountinfo"),
        "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n",
    )
    .unwrap();
    let effective = || {
        let root = Root::new(directory.path());
        collect(&root, &HostOptions::default())
            .memory
            .effective_bytes
    };
    // A kernel without control groups.
    assert_eq!(effective().get(), Some(1 << 20));
    std::fs::write(own.join("cgroup"), "0::/\n").unwrap();
    assert_eq!(effective().get(), None);
    std::os::unix::fs::symlink("cgroup:[4026531835]", own.join("ns/cgroup")).unwrap();
    assert_eq!(effective().get(), Some(1 << 20));
    std::fs::write(own.join("cgroup"), "0::/a\n").unwrap();
    assert_eq!(effective().get(), None);
}

#[test]
fn the_running_machine_is_read() {
    let root = Root::host();
    let options = options("/", Some("relative"), Some(std::process::id()));
    let host: Host = collect(&root, &options);
    assert!(host.kernel_release.value().is_some());
    let total = host.memory.total_bytes.get().unwrap();
    assert!(total > 0);
    if let Some(effective) = host.memory.effective_bytes.get() {
        assert!(effective <= total);
    }
    assert!(host.cpu.effective.get().is_none_or(|cpus| cpus > 0));
    let data = host.data.value().unwrap();
    assert_eq!(data.mount_point, "/");
    assert!(data.total_bytes.get().unwrap() >= data.free_bytes.get().unwrap());
    assert_unknown(&host.wal, "not an absolute path");
    assert!(host.server_process.value().is_some());
    assert!(sample(&root).1.value().is_some());
}
