//! Random bytes through every parser, and random trees through the collectors.

use proptest::prelude::*;

use crate::host::{Root, collect, parse, sample};

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
    "proc/1/cgroup",
    "proc/self/cgroup",
    "proc/self/mountinfo",
    "proc/self/status",
    "proc/pressure/cpu",
    "proc/sys/vm/swappiness",
    "sys/devices/system/cpu/online",
    "sys/block/sda/dev",
    "sys/block/sda/sda1/partition",
    "sys/block/sda/sda1/dev",
    "sys/block/sda/queue/scheduler",
    "sys/block/sda/md/level",
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
        let _ = (parse::meminfo(&text), parse::swaps(&text), parse::mountinfo(&text));
        let _ = (parse::nodes(&text), parse::stall(&text), parse::size(&text));
        let _ = (parse::cpus(&text), parse::vmstat(&text), parse::sysctl(&text));
        let _ = (parse::cpu_list(&text), parse::first_number(&text), parse::flag(&text));
        let _ = (parse::phrase(&text), parse::selected(&text), parse::number::<u64>(&text));
        let _ = (parse::vendor(&text), parse::acpi_vendor(&bytes), parse::is_container_group(&text));
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
        let options = super::options("/a /pg", Some("/"), None);
        collect(&root, &options);
        sample(&root);
    }
}
