//! What is written as the kernel writes it is read as it was meant.

use std::collections::{BTreeMap, BTreeSet};

use dbdyno_model::host::PhysicalVolume;
use proptest::prelude::*;

use crate::host::parse::{self, Membership, Mount};

/// As the kernel writes a path into its tables.
fn escaped(path: &str) -> String {
    path.chars()
        .map(|character| match character {
            ' ' => "\\040".to_owned(),
            '\t' => "\\011".to_owned(),
            '\n' => "\\012".to_owned(),
            '\\' => "\\134".to_owned(),
            other => other.to_string(),
        })
        .collect()
}

/// Paths with what has to be escaped, and what looks as if it were.
fn path() -> impl Strategy<Value = String> {
    "(/([a-zé0-9.-]|[ \t\n\\\\]|\\\\040){0,6}){1,3}"
}

/// `0-3,8`, in the kernel's way.
fn as_list(cpus: &BTreeSet<u32>) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for cpu in cpus {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *cpu => *last = *cpu,
            _ => ranges.push((*cpu, *cpu)),
        }
    }
    let written: Vec<String> = ranges
        .iter()
        .map(|(first, last)| match last - first {
            0 => first.to_string(),
            _ => format!("{first}-{last}"),
        })
        .collect();
    written.join(",")
}

proptest! {
    #[test]
    fn mounts(
        (major, minor) in (0_u32..4096, 0_u32..1 << 20),
        root in path(), mount_point in path(), source in path(),
        shared in any::<bool>(),
    ) {
        let optional = if shared { "shared:1 master:2 " } else { "" };
        let line = format!(
            "36 35 {major}:{minor} {} {} rw,noatime {optional}- xfs {} rw,swidth=2048\n",
            escaped(&root), escaped(&mount_point), escaped(&source),
        );
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let expected = Mount {
            major,
            minor,
            root,
            mount_point,
            options: words(&["rw", "noatime"]),
            filesystem: "xfs".to_owned(),
            source,
            super_options: words(&["rw", "swidth=2048"]),
        };
        prop_assert_eq!(parse::mountinfo(&line), [expected]);
    }

    #[test]
    fn swap_devices(paths in prop::collection::vec(path(), 0..4)) {
        let lines: String = paths
            .iter()
            .map(|path| format!("{} partition\t1\t0\t-2\n", escaped(path)))
            .collect();
        prop_assert_eq!(parse::swaps(&format!("Filename\tType\n{lines}")), Ok(paths));
    }

    #[test]
    fn options_of_fstab(point in path(), other in path()) {
        prop_assume!(point != other);
        let lines = format!(
            "/dev/sda1 {} ext4 defaults 0 1\n/dev/sdb1 {} xfs noatime,nofail 0 0\n",
            escaped(&other), escaped(&point),
        );
        let expected = ["noatime", "nofail"].map(str::to_owned);
        prop_assert_eq!(parse::fstab_options(&lines, &point).unwrap(), expected);
    }

    #[test]
    fn lists_of_cpus(cpus in prop::collection::btree_set(0_u32..300, 0..80)) {
        prop_assert_eq!(parse::cpu_list(&as_list(&cpus)), Ok(cpus));
    }

    #[test]
    fn meminfo(values in prop::collection::btree_map("[A-Z][a-z]{1,9}", 0_u64..1 << 50, 1..9)) {
        let lines: String = values
            .iter()
            .map(|(name, kib)| format!("{name}:{kib:>15} kB\n"))
            .collect();
        let expected: BTreeMap<&str, u64> = values
            .iter()
            .map(|(name, kib)| (name.as_str(), kib * 1024))
            .collect();
        prop_assert_eq!(parse::meminfo(&lines), expected);
    }

    #[test]
    fn limits_of_a_process(
        values in prop::collection::btree_map("Max [a-z]{1,8}( [a-z]{1,6})?", any::<Option<u64>>(), 1..9),
    ) {
        let lines: String = values
            .iter()
            .map(|(name, soft)| {
                let soft = soft.map_or("unlimited".to_owned(), |soft| soft.to_string());
                format!("{name:<26}{soft:<21}unlimited            files\n")
            })
            .collect();
        prop_assert_eq!(parse::limits(&lines), values.clone());
        let hard = parse::hard_limits(&lines);
        prop_assert!(hard.keys().eq(values.keys()) && hard.values().all(Option::is_none));
    }

    #[test]
    fn groups_of_a_process(
        controllers in prop::collection::vec("[a-z]{1,8}", 0..3),
        path in "(/[a-z0-9@:.-]{1,9}){1,4}",
    ) {
        let line = format!("7:{}:{path}\n", controllers.join(","));
        prop_assert_eq!(parse::memberships(&line), [Membership { controllers, path }]);
    }

    #[test]
    fn records_of_lvm(starts in prop::collection::vec(0_u64..1 << 40, 1..5)) {
        let volumes: Vec<PhysicalVolume> = starts
            .iter()
            .enumerate()
            .map(|(number, sectors)| PhysicalVolume {
                device: format!("/dev/sd{number}"),
                pe_start_bytes: sectors * 512,
            })
            .collect();
        let sections: String = starts
            .iter()
            .enumerate()
            .map(|(number, sectors)| format!(
                "pv{number} {{\nid = \"x\"\ndevice = \"/dev/sd{number}\"\t# Hint only\npe_start = {sectors}\n}}\n"
            ))
            .collect();
        let text = format!("vg0 {{\nphysical_volumes {{\n{sections}}}\n}}\n");
        prop_assert_eq!(parse::physical_volumes(&text), Ok(volumes));
    }

    #[test]
    fn assignments(
        entries in prop::collection::vec(("[a-z]{1,5}", "[A-Za-z.]{1,8}", "[a-z0-9=]{0,9}"), 0..6),
    ) {
        let text: String = entries
            .iter()
            .map(|(section, name, value)| format!("[{section}]\n{name} = {value}\n"))
            .collect();
        let read: Vec<(String, String, String)> = parse::entries(&text)
            .into_iter()
            .map(|entry| (entry.section, entry.name, entry.value))
            .collect();
        prop_assert_eq!(read, entries);
    }

    #[test]
    fn pressure(avg10 in 0.0_f64..100.0, total in any::<u64>()) {
        let text = format!("some avg10={avg10:.2} avg60=0.00 avg300=0.00 total={total}\n");
        let stall = parse::stall(&text).unwrap();
        prop_assert!((stall.some_avg10 - avg10).abs() <= 0.0051);
        prop_assert_eq!(stall.some_total_us, total);
    }
}
