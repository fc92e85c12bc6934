//! Trees written by hand for machines that cannot be had: who sets what, LVM on RAID, groups out of memory, a cloud.

use dbdyno_model::host::{BlockDeviceKind, Cgroup, Host, Mapper};

use super::{HostOptions, assert_unknown, collect, devices, options, tree};
use crate::host::traffic;

/// Values of one sysctl in the files, with their places.
fn assignments<'a>(host: &'a Host, name: &str) -> Vec<(&'a str, String)> {
    let lines = host.sysctl_lines.value().unwrap().iter();
    lines
        .filter(|line| line.name == name)
        .map(|line| (line.value.as_str(), line.place()))
        .collect()
}

#[test]
fn who_sets_what_is_read_from_the_machines_files() {
    let root = tree("rhel-tuned");
    let options = options("/var/lib/pgsql/16/data", None, Some(700));
    let host = collect(&root, &options);
    assert_eq!(
        host.kernel_options.value().unwrap(),
        &["elevator=noop", "transparent_hugepage=always"]
    );
    let swappiness = [
        ("1", "/etc/sysctl.d/50-database.conf:2".to_owned()),
        ("60", "/usr/lib/sysctl.d/50-default.conf:2".to_owned()),
    ];
    assert_eq!(assignments(&host, "vm.swappiness"), swappiness);
    let backup = [("1073741824", "/etc/sysctl.d/60-backup.conf:1".to_owned())];
    assert_eq!(assignments(&host, "vm.dirty_bytes"), backup);
    assert!(assignments(&host, "kernel.hostname").is_empty());

    let tuned = host.tuned.value().unwrap();
    assert_eq!(tuned.profile.as_deref(), Some("postgresql"));
    assert!(!tuned.reapplies_sysctl);
    assert!(tuned.missing.is_empty());
    let set = |section: &str, name: &str| {
        let mut settings = tuned.settings.iter();
        settings
            .find(|setting| setting.section == section && setting.name == name)
            .map(|setting| setting.value.as_str())
    };
    assert_eq!(set("sysctl", "vm.swappiness"), Some("3"));
    assert_eq!(set("vm", "transparent_hugepages"), Some("never"));
    assert_eq!(set("disk", "readahead"), Some(">4096"));

    assert_eq!(host.selinux.value().unwrap(), "enforcing");
    assert_eq!(host.apparmor.get(), Some(false));
    assert_eq!(host.memory.zswap.get(), Some(false));
    assert_eq!(host.removes_ipc.get(), Some(true));
    assert_eq!(host.engines.value().unwrap(), &["postgres"]);
    let sync = host.time_sync.value().unwrap();
    assert_eq!(sync.daemons, ["chronyd"]);
    assert_unknown(&sync.synchronised, "only when it is asked");
    assert_eq!(host.product.value().unwrap(), "PowerEdge R650");

    let data = host.data.value().unwrap();
    assert_eq!(
        data.fstab_options.value().unwrap(),
        &["noatime", "nobarrier", "inode32"]
    );
    assert_unknown(&data.block_bytes, "only the running machine");
    assert_unknown(&data.no_copy_on_write, "only btrfs");
    let points = host.mounts.value().unwrap();
    assert_eq!(points.len(), 3);
    assert_eq!(points[1].path, "/var/lib/pgsql");

    let counters = traffic(&root, &options);
    let counters = counters.value().unwrap();
    assert_eq!(counters.disk("sda3").unwrap().busy_ms, 650);
    assert_eq!(counters.listening.get().unwrap().overflows, 12);
    assert_unknown(&counters.pressure.cpu, "no such file");
}

#[test]
fn the_servers_process_tells_of_its_unit_and_library() {
    let root = tree("rhel-tuned");
    let host = collect(&root, &options("/var/lib/pgsql", None, Some(700)));
    let server = host.server_process.value().unwrap();
    assert_eq!(server.uid.get(), Some(1001));
    assert_eq!(server.shared_memory_bytes.get(), Some(0x8_9000_0000));
    let libc = server.libc.value().unwrap();
    assert_eq!(libc.path, "/usr/lib64/libc.so.6");
    assert!(libc.replaced);
    assert_eq!(libc.version, None);
    assert_eq!(
        server.confinement.value().unwrap(),
        "system_u:system_r:postgresql_t:s0"
    );
    assert_unknown(&server.same_network, "not visible");
    let unit = server.unit.value().unwrap();
    assert_eq!(unit.name, "postgresql-16.service");
    let files = unit.directive("LimitNOFILE").unwrap();
    assert_eq!(files.value, "65536");
    assert_eq!(
        files.file,
        "/etc/systemd/system/postgresql-16.service.d/10-limits.conf"
    );
    assert_eq!(unit.directive("OOMScoreAdjust").unwrap().value, "-1000");
    assert_eq!(unit.directive("TasksMax").unwrap().line, 3);
    let text = serde_json::to_string(&host).unwrap();
    assert!(!text.contains("not-for-facts") && !text.contains("db1.example"));
}

#[test]
fn an_instance_of_a_template_is_found_under_the_templates_name() {
    let root = tree("cgroup2-oom");
    let host = collect(&root, &options("/", None, Some(900)));
    let server = host.server_process.value().unwrap();
    let unit = server.unit.value().unwrap();
    assert_eq!(unit.name, "postgresql@15-main.service");
    assert_eq!(unit.directive("OOMScoreAdjust").unwrap().value, "-900");
    assert_unknown(&server.libc, "no such file");
    let host = collect(&root, &HostOptions::default());
    assert_unknown(&host.server_process, "not visible");
    assert_eq!(host.engines.value().unwrap(), &["mongod", "postgres"]);
    let sync = host.time_sync.value().unwrap();
    assert_eq!(sync.synchronised.get(), Some(false));
}

#[test]
fn every_group_above_the_server_tells_what_it_counts() {
    let root = tree("cgroup2-oom");
    let host = collect(&root, &options("/", None, Some(900)));
    let groups: &[Cgroup] = host.cgroups.value().unwrap();
    let paths: Vec<&str> = groups.iter().map(|group| group.cgroup.as_str()).collect();
    assert_eq!(
        paths,
        [
            "/sys/fs/cgroup/database.slice/postgresql@15-main.service",
            "/sys/fs/cgroup/database.slice",
            "/sys/fs/cgroup",
        ]
    );
    let (own, slice) = (&groups[0], &groups[1]);
    assert_eq!((own.oom_kills, own.out_of_memory), (Some(2), Some(0)));
    assert_eq!((own.tasks, own.tasks_max), (Some(20), None));
    assert_eq!((slice.oom_kills, slice.out_of_memory), (Some(2), Some(3)));
    assert_eq!(slice.memory_bytes, Some(8_580_000_000));
    assert_eq!(slice.tasks_max, Some(4096));
    assert_eq!(slice.throttling.unwrap().throttled, 1500);
    assert_eq!(slice.memory_stall.unwrap().some_avg60, 18.5);
    assert_eq!(groups[2].oom_kills, None);
}

#[test]
fn groups_of_version_1_are_listed_controller_by_controller() {
    let root = tree("vm-2cpu-cgroup1");
    let host = collect(&root, &options("/", None, Some(4242)));
    let groups = host.cgroups.value().unwrap();
    let own = &groups[0];
    assert_eq!(own.cgroup, "/sys/fs/cgroup/memory/services/database");
    assert_eq!(own.oom_kills, Some(0));
    assert!(groups.iter().any(|group| group.throttling.is_some()));
}

#[test]
fn a_volume_group_is_read_with_the_starts_of_its_volumes() {
    let root = tree("lvm-on-md");
    let host = collect(&root, &options("/data/pg", None, None));
    let data = host.data.value().unwrap();
    let chain = devices(data);
    assert_eq!(chain[0], ("dm-0", BlockDeviceKind::DeviceMapper));
    assert_eq!(chain[1], ("md0", BlockDeviceKind::MdRaid));
    assert_eq!(chain.len(), 2 + 2 * 5);
    let found = data.devices.value().unwrap();
    let group = found[0].volume_group.as_ref().unwrap();
    assert_eq!(group.name, "vg-data");
    let volumes = group.physical_volumes.value().unwrap();
    assert_eq!(volumes[0].device, "/dev/md0");
    assert_eq!(volumes[0].pe_start_bytes, 192 << 10);
    assert_eq!(found[0].misaligned.get(), Some(true));
    assert_unknown(&found[0].alignment_offset_bytes, "no alignment that fits");
    assert_eq!(found[1].minimum_io_bytes.get(), Some(512 << 10));
    let raid = found[1].raid.as_ref().unwrap();
    assert_eq!(raid.sync_action.value().unwrap(), "recover");
    assert_eq!(raid.stripe_cache_active.get(), Some(250));
    assert!(found[1].volume_group.is_none());
    let mapped = found[0].mapped.as_ref().unwrap();
    assert_eq!(mapped.name.value().unwrap(), "vg--data-pg");
    assert_eq!(mapped.mapper.get(), Some(Mapper::Lvm));
    assert!(found[1].mapped.is_none());
    assert_unknown(&raid.uuid, "no such file");
    let mut all = found.iter();
    assert!(all.all(|device| device.is_path.get() == Some(false)));
    assert_unknown(&found[2].minimum_io_bytes, "see its disk");
}

/// LVM on a multipath disk with two paths, and a mapped disk whose maker is not shown.
#[test]
fn paths_are_told_from_disks_and_are_unknown_below_a_device_of_unknown_make() {
    let directory = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = directory.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write(
        "proc/self/mountinfo",
        "1 0 253:1 / / rw - xfs /dev/mapper/san-pg rw\n\
         2 1 253:2 / /wal rw - xfs /dev/mapper/odd rw\n",
    );
    for (device, number, name, uuid) in [
        ("dm-0", "253:0", "mpatha", "mpath-3600508b400105e21"),
        ("dm-1", "253:1", "san-pg", "LVM-AAAACCCC"),
    ] {
        write(&format!("sys/block/{device}/dev"), number);
        write(&format!("sys/block/{device}/dm/name"), name);
        write(&format!("sys/block/{device}/dm/uuid"), uuid);
    }
    write("sys/block/dm-2/dev", "253:2");
    write("sys/block/dm-2/dm/name", "odd");
    for place in [
        "dm-1/slaves/dm-0",
        "dm-0/slaves/sda",
        "dm-0/slaves/sdb",
        "dm-2/slaves/sdc",
    ] {
        write(&format!("sys/block/{place}/.keep"), "");
    }
    for (disk, number) in [("sda", "8:0"), ("sdb", "8:16"), ("sdc", "8:32")] {
        write(&format!("sys/block/{disk}/dev"), number);
    }
    let root = crate::host::Root::new(directory.path());
    let host = collect(&root, &options("/pg", Some("/wal"), None));
    let paths = |storage: &dbdyno_model::host::Storage| -> Vec<(String, Option<bool>)> {
        let devices = storage.devices.value().unwrap().iter();
        devices
            .map(|device| (device.name.clone(), device.is_path.get()))
            .collect()
    };
    let known = |name: &str, is_path| (name.to_owned(), is_path);
    assert_eq!(
        paths(host.data.value().unwrap()),
        [
            known("dm-1", Some(false)),
            known("dm-0", Some(false)),
            known("sda", Some(true)),
            known("sdb", Some(true)),
        ]
    );
    assert_eq!(
        paths(host.wal.value().unwrap()),
        [known("dm-2", Some(false)), known("sdc", None)]
    );
}

#[test]
fn a_rented_machine_names_its_type_and_its_disks_time_limit() {
    let root = tree("ec2-nvme");
    let host = collect(&root, &options("/pgdata/16", None, None));
    assert_eq!(host.virtualisation.value().unwrap().kind, "amazon");
    assert_eq!(host.vendor.value().unwrap(), "Amazon EC2");
    assert_eq!(host.product.value().unwrap(), "t3.large");
    assert_eq!(host.nvme_timeout_s.get(), Some(30));
    assert_eq!(host.zfs_cache_max_bytes.get(), Some(4_160_749_568));
    assert_eq!(host.engines.value().unwrap().len(), 0);
    let tuned = host.tuned.why_unknown();
    assert!(tuned.is_some_and(|why| why.contains("no such file")));
}

#[test]
fn the_nodes_share_of_the_memory_is_read() {
    let root = tree("numa-md-raid");
    let host = collect(&root, &HostOptions::default());
    let nodes = host.numa.value().unwrap();
    let shared: Vec<u64> = nodes.iter().map(|node| node.shared_bytes >> 30).collect();
    assert_eq!(shared, [58, 6]);
    assert_eq!(nodes[0].total_bytes, 128 << 30);
}

#[test]
fn an_empty_tree_tells_why_each_of_them_is_unknown() {
    let empty = tempfile::tempdir().unwrap();
    let root = crate::host::Root::new(empty.path());
    let host = collect(&root, &HostOptions::default());
    assert_unknown(&host.sysctl_lines, "/etc: no such directory");
    assert_unknown(&host.tuned, "no such file");
    assert_unknown(&host.removes_ipc, "systemd does not run");
    assert_unknown(&host.engines, "no such file");
    assert_unknown(&host.selinux, "no such file");
    assert_unknown(&host.memory.zswap, "no such file");
    assert_unknown(&host.numa, "no such file");
    let counters = traffic(&root, &HostOptions::default());
    assert_unknown(&counters.value().unwrap().disks, "no such file");
}
