//! Random bytes through every parser, and random trees through the collectors.

use proptest::prelude::*;

use crate::host::{
    Root, account_of, collect, parse, postgres_sockets, postmasters, sample, traffic,
};

/// Text made of pieces that the parsers look for, which plain noise would seldom hit.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("some avg10=0.1 avg60="),
        Just("cpu  1 2 3 4 5 6 7 8"),
        Just("0::/"),
        Just("4:memory:/a/../b"),
        Just("22 1 8:1 / /a\\040 rw - ext4 /dev/sda1 rw,size=1k"),
        Just("MemTotal: 5 kB"),
        Just("max "),
        Just("0-3,"),
        Just("Max open files  "),
        Just("VmRSS:"),
        Just("[Service]\nLimitNOFILE=1"),
        Just("[main]\ninclude="),
        Just("vm/swappiness = 1"),
        Just("vg { physical_volumes {"),
        Just("pe_start = 9"),
        Just("}"),
        Just("7f00-7f10 rw-s 0 0:1 1 /dev/zero (deleted)"),
        Just("TcpExt: ListenOverflows ListenDrops"),
        Just("Node 0 MemTotal: 5 kB"),
        Just("postgres\n"),
        Just("8 0 sda 1 2 3 4 5 6 7 8 9 10"),
        Just("99999999999999999999999"),
        Just("-1"),
        Just("["),
        Just("]"),
        Just(" - "),
        Just("\n"),
        Just("\\"),
        Just("é"),
        Just(" "),
    ];
    prop::collection::vec(piece, 0..20).prop_map(|pieces| pieces.concat())
}

fn noise() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..300),
        pieces().prop_map(String::into_bytes),
    ]
}

const NOISY: &[&str] = &[
    "proc/meminfo",
    "proc/stat",
    "proc/cpuinfo",
    "proc/vmstat",
    "proc/swaps",
    "proc/cmdline",
    "proc/diskstats",
    "proc/1/comm",
    "proc/7/comm",
    "proc/self/net/netstat",
    "proc/1/cgroup",
    "proc/self/cgroup",
    "proc/self/mountinfo",
    "proc/self/status",
    "proc/pressure/cpu",
    "proc/sys/vm/swappiness",
    "sys/devices/system/cpu/online",
    "sys/devices/system/node/online",
    "sys/devices/system/node/node0/meminfo",
    "sys/module/zswap/parameters/enabled",
    "sys/fs/selinux/enforce",
    "etc/fstab",
    "etc/sysctl.d/a.conf",
    "etc/tuned/active_profile",
    "etc/tuned/a/tuned.conf",
    "etc/systemd/logind.conf",
    "sys/block/sda/dev",
    "sys/block/sda/sda1/partition",
    "sys/block/sda/sda1/dev",
    "sys/block/sda/queue/scheduler",
    "sys/block/sda/md/level",
    "sys/block/dm-0/dm/uuid",
    "sys/block/dm-0/dm/name",
    "sys/class/dmi/id/sys_vendor",
    "sys/firmware/acpi/tables/FACP",
    "sys/fs/cgroup/memory.max",
    "sys/fs/cgroup/memory.events",
    "sys/fs/cgroup/cpu.max",
    "sys/fs/cgroup/cpu.stat",
    "sys/devices/system/cpu/cpufreq/policy0/scaling_governor",
    "etc/passwd",
    "etc/lvm/backup/vg",
    "etc/systemd/system/a.service",
    "proc/net/unix",
    "proc/spl/kstat/zfs/arcstats",
    "proc/7/status",
    "proc/7/limits",
    "proc/7/maps",
    "proc/7/cgroup",
    "proc/7/mountinfo",
    "proc/7/oom_score_adj",
    "proc/7/attr/current",
    "proc/7/cmdline",
    "proc/7/cwd/postmaster.pid",
    "proc/7/net/netstat",
];

proptest! {
    #[test]
    fn no_parser_panics(bytes in noise()) {
        let text = String::from_utf8_lossy(&bytes);
        let _ = (parse::alignment(&text), parse::kind(&text), parse::scheduler(&text));
        let _ = (parse::byte_limit(&text), parse::cpu_max(&text), parse::memberships(&text));
        let _ = (parse::counter(&text, "oom_kill"), parse::throttling(&text));
        let _ = (parse::allowed(&text), parse::model(&text), parse::hypervisor_flag(&text));
        let _ = (parse::limits(&text), parse::status_bytes(&text, "VmRSS"));
        let _ = parse::hard_limits(&text);
        let _ = (parse::meminfo(&text), parse::swaps(&text), parse::mountinfo(&text));
        let _ = (parse::nodes(&text), parse::stall(&text), parse::size(&text));
        let _ = (parse::cpus(&text), parse::vmstat(&text), parse::sysctl(&text));
        let _ = (parse::cpu_list(&text), parse::first_number(&text), parse::flag(&text));
        let _ = (parse::phrase(&text), parse::selected(&text), parse::number::<u64>(&text));
        let _ = (parse::vendor(&text), parse::acpi_vendor(&bytes), parse::is_container_group(&text));
        let _ = (parse::entries(&text), parse::sysctl_lines(&text, "/f"), parse::sysctl_name(&text));
        let _ = (parse::profile(&text, "/f"), parse::reapplies_sysctl(&text));
        let _ = (parse::directives(&text, "/f"), parse::service(&text));
        let _ = (parse::remove_ipc(&text), parse::remove_ipc_default(&text));
        let _ = (parse::group_name(&text), parse::physical_volumes(&text));
        let _ = (parse::shared_memory(&text), parse::libc(&text), parse::libc_name_version(&text));
        let _ = (parse::libc_banner_version(&bytes), parse::status_uid(&text));
        let _ = (parse::confinement(&text), parse::kernel_options(&text), parse::mapper(&text));
        let _ = (parse::fstab_options(&text, "/"), parse::switch(&text));
        let _ = (parse::diskstats(&text), parse::listening(&text), parse::misaligned(&text));
        let _ = (parse::node(&text, 0), parse::cache_max(&text));
        let _ = (parse::lock_file(&text), parse::sockets(&text), parse::status(&text));
        let _ = parse::account_name(&text, 0);
        let _ = parse::data_argument(&text.split(' ').collect::<Vec<_>>());
        if let Ok(time) = parse::cpu_time(&text) {
            time.total();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn no_tree_stops_the_collection(contents in prop::collection::vec(noise(), NOISY.len())) {
        let directory = tempfile::tempdir().unwrap();
        for (path, content) in NOISY.iter().zip(contents) {
            let path = directory.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        let root = Root::new(directory.path());
        for pid in [None, Some(7)] {
            let options = super::options("/a /pg", Some("/"), pid);
            collect(&root, &options);
            traffic(&root, &options);
        }
        sample(&root);
        postmasters(&root);
        postgres_sockets(&root);
        account_of(&root, 0);
    }
}
