//! Faults of a host, in files of the test that stand in for the kernel's: the way from the file to
//! the finding is walked whole, and the machine stays as it is.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use dbdyno_testing::{Place, Running};
use serde_json::Value;

use super::Sign;
use super::namespace::among;
use crate::{Setup, stdout_of};

/// What a file says instead.
enum Text {
    Is(&'static str),
    /// Only where the machine has the file.
    IfThere(&'static str),
    /// What it says, edited.
    Edited(fn(&str, &Setup) -> String),
}

use Text::{Edited, IfThere, Is};

/// A path of the machine (`PID` is the server's main process), what stands there, and what that is
/// found for.
type Faked = (&'static str, Text, &'static [Sign]);

/// Bound as a whole: what is to be found in them need not be on this machine.
const DIRECTORIES: [&str; 3] = [
    "/sys/block",
    "/sys/devices/system/cpu",
    "/sys/devices/system/node",
];

const FAKED: &[Faked] = &[
    (
        "/proc/sys/vm/dirty_bytes",
        Is("8589934592\n"),
        &[("kernel.dirty_limits", "8 GiB of written pages")],
    ),
    (
        "/proc/sys/vm/dirty_writeback_centisecs",
        Is("0\n"),
        &[("kernel.dirty_order", "vm.dirty_writeback_centisecs is 0")],
    ),
    (
        "/proc/sys/vm/swappiness",
        Is("60\n"),
        &[("kernel.swappiness", "vm.swappiness is 60")],
    ),
    ("/sys/module/zswap/parameters/enabled", IfThere("N\n"), &[]),
    (
        "/proc/swaps",
        Is("Filename Type Size Used Priority\n/swapfile file 4194300 65536 -2\n"),
        &[],
    ),
    (
        "/proc/meminfo",
        Edited(meminfo),
        &[("kernel.huge_pages_fallback", "64 of 64 huge pages")],
    ),
    (
        "/proc/sys/vm/zone_reclaim_mode",
        Is("1\n"),
        &[("kernel.zone_reclaim", "is 1 on 2 NUMA nodes")],
    ),
    ("/sys/devices/system/node/online", Is("0-1\n"), &[]),
    (
        "/sys/devices/system/node/node0/meminfo",
        Is("Node 0 MemTotal: 8388608 kB\nNode 0 MemFree: 4096 kB\nNode 0 Shmem: 4194304 kB\n"),
        &[("hardware.numa_balance", "lie on NUMA node 0")],
    ),
    (
        "/sys/devices/system/node/node1/meminfo",
        Is("Node 1 MemTotal: 8388608 kB\nNode 1 MemFree: 8000000 kB\nNode 1 Shmem: 0 kB\n"),
        &[],
    ),
    (
        "/proc/sys/net/core/somaxconn",
        Is("16\n"),
        &[("kernel.listen_backlog", "net.core.somaxconn of 16")],
    ),
    (
        "/proc/cmdline",
        Edited(|text, _| format!("elevator=deadline {text}")),
        &[("kernel.elevator_option", "elevator=deadline")],
    ),
    (
        "/sys/kernel/mm/transparent_hugepage/enabled",
        Is("[always] madvise never\n"),
        &[("kernel.transparent_huge_pages", "always on")],
    ),
    (
        "/sys/devices/system/clocksource/clocksource0/current_clocksource",
        Is("hpet\n"),
        &[("kernel.clocksource", "the clocksource is hpet")],
    ),
    (
        "/sys/devices/system/cpu/online",
        Edited(|text, _| text.to_owned()),
        &[],
    ),
    (
        "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor",
        Is("ondemand\n"),
        &[("hardware.cpu_governor", "governor is ondemand")],
    ),
    (
        "/proc/PID/limits",
        Edited(limits),
        &[
            ("kernel.open_files", "may open 64 files"),
            ("kernel.process_limit", "is 50, and the server may start"),
        ],
    ),
    (
        "/proc/PID/status",
        Edited(status),
        &[("kernel.swapping_now", "the postmaster has 64 MiB in swap")],
    ),
    (
        "/proc/PID/maps",
        Edited(maps),
        &[("kernel.glibc_replaced", "of before an upgrade of")],
    ),
    (
        "/proc/PID/mountinfo",
        Edited(mounts),
        &[
            ("filesystem.write_barriers", "is mounted with nobarrier"),
            ("filesystem.journal_mode", "is mounted with data=journal"),
            ("filesystem.access_time", "strict access times"),
            ("filesystem.ext4_stripe", "those of md9"),
            ("container.shared_memory_size", "/dev/shm has 64 MiB"),
        ],
    ),
    // A partition of an array of three disks, of which one is gone.
    ("/sys/block/md9/md9p1/dev", Is("120:1\n"), &[]),
    ("/sys/block/md9/md9p1/partition", Is("1\n"), &[]),
    ("/sys/block/md9/md9p1/alignment_offset", Is("0\n"), &[]),
    (
        "/sys/block/md9/md9p1/start",
        Is("63\n"),
        &[("hardware.partition_alignment", "md9p1 starts at sector 63")],
    ),
    (
        "/sys/block/md9/md/level",
        Is("raid5\n"),
        &[(
            "hardware.parity_raid",
            "md9 (RAID 5) takes the small writes",
        )],
    ),
    ("/sys/block/md9/md/raid_disks", Is("3\n"), &[]),
    ("/sys/block/md9/md/chunk_size", Is("524288\n"), &[]),
    (
        "/sys/block/md9/md/degraded",
        Is("1\n"),
        &[("hardware.raid_degraded", "md9 (RAID 5) lacks 1 of 3 disks")],
    ),
    ("/sys/block/md9/md/sync_action", Is("idle\n"), &[]),
    (
        "/sys/block/md9/md/consistency_policy",
        Is("resync\n"),
        &[("hardware.raid_write_hole", "after a crash md9 (RAID 5)")],
    ),
    ("/sys/block/md9/md/stripe_cache_size", Is("256\n"), &[]),
    (
        "/sys/block/md9/md/stripe_cache_active",
        Is("256\n"),
        &[("hardware.raid_stripe_cache", "256 of 256 entries")],
    ),
    (
        "/sys/block/md9/queue/read_ahead_kb",
        Is("8192\n"),
        &[("kernel.read_ahead", "md9 reads 8 MiB ahead")],
    ),
    ("/sys/block/md9/queue/rotational", Is("0\n"), &[]),
    ("/sys/block/md9/slaves/sdy/dev", Is("8:384\n"), &[]),
    ("/sys/block/md9/slaves/sdz/dev", Is("8:400\n"), &[]),
    (
        "/sys/block/sdy/queue/scheduler",
        Is("mq-deadline kyber [bfq] none\n"),
        &[("kernel.scheduler", "of sdy is bfq")],
    ),
    // The planner's costs are the server's, and what they should be is the disk's to say.
    (
        "/sys/block/sdy/queue/rotational",
        Is("0\n"),
        &[("postgres.random_page_cost", "random_page_cost is 4")],
    ),
    (
        "/sys/block/sdz/queue/scheduler",
        Is("[none] mq-deadline\n"),
        &[],
    ),
    ("/sys/block/sdz/queue/rotational", Is("0\n"), &[]),
];

pub(super) fn signs() -> Vec<Sign> {
    let all = FAKED.iter().flat_map(|(_, _, signs)| signs.iter());
    all.copied().collect()
}

/// Every line, as it is or as it should be.
fn edited(text: &str, change: impl Fn(&str) -> Option<String>) -> String {
    text.lines()
        .map(|line| change(line).unwrap_or_else(|| line.to_owned()) + "\n")
        .collect()
}

/// Swap, and huge pages that nobody uses.
fn meminfo(text: &str, _: &Setup) -> String {
    const FIGURES: [(&str, &str); 5] = [
        ("SwapTotal", "4194300 kB"),
        ("SwapFree", "4128764 kB"),
        ("HugePages_Total", "64"),
        ("HugePages_Free", "64"),
        ("HugePages_Rsvd", "0"),
    ];
    edited(text, |line| {
        let (name, _) = line.split_once(':')?;
        let (_, figure) = FIGURES.iter().find(|(known, _)| *known == name)?;
        Some(format!("{name}: {figure}"))
    })
}

fn limits(text: &str, _: &Setup) -> String {
    edited(text, |line| {
        let (name, limit) = [("Max processes", 50), ("Max open files", 64)]
            .into_iter()
            .find(|(name, _)| line.starts_with(name))?;
        Some(format!("{name:<26}{limit:<21}{limit:<21}"))
    })
}

fn status(text: &str, _: &Setup) -> String {
    edited(text, |line| {
        line.starts_with("VmSwap:")
            .then(|| "VmSwap:\t   65536 kB".to_owned())
    })
}

/// The C library is no longer the file of that name.
fn maps(text: &str, _: &Setup) -> String {
    edited(text, |line| {
        let name = line.rsplit('/').next()?;
        let is_libc = name == "libc.so.6" || name.starts_with("libc-");
        is_libc.then(|| format!("{line} (deleted)"))
    })
}

/// The data on the array, and a small /dev/shm.
fn mounts(text: &str, setup: &Setup) -> String {
    let data = setup.running.server.data().canonicalize().unwrap();
    format!(
        "{text}9001 1 120:1 / {} rw,nobarrier - ext4 /dev/md9p1 rw,data=journal\n\
         9002 1 0:9999 / /dev/shm rw,relatime - tmpfs tmpfs rw,size=65536k\n",
        data.display()
    )
}

/// Writes the files below a place of the test; each path of the machine with what is bound over it.
fn write(setup: &Setup) -> BTreeMap<PathBuf, PathBuf> {
    let root = setup.file("faked");
    let below = |path: &str| root.join(path.trim_start_matches('/'));
    let mut bound = BTreeMap::new();
    for (path, text, _) in FAKED {
        let path = path.replace("PID", &setup.running.server.pid().to_string());
        let text = match text {
            IfThere(_) if !Path::new(&path).exists() => continue,
            Is(text) | IfThere(text) => (*text).to_owned(),
            Edited(edit) => edit(&fs::read_to_string(&path).unwrap(), setup),
        };
        let file = below(&path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        let directory = DIRECTORIES
            .into_iter()
            .find(|directory| Path::new(&path).starts_with(directory));
        let to = directory.unwrap_or(&path);
        bound.insert(PathBuf::from(to), below(to));
    }
    bound
}

#[test]
fn needs_root_every_fault_of_a_host_is_found_by_its_own_rule() {
    let mut missed = Vec::new();
    for binaries in super::servers() {
        let setup = Setup {
            running: Running::start(binaries, &[]),
            place: Place::new("planted"),
        };
        let target = setup.target();
        let arguments = ["check", &target, "--json"];
        let inner = setup.command(&arguments);
        let bound = write(&setup);
        let output = among(&inner, &bound, &setup.file("bound"))
            .output()
            .unwrap();
        let check: Value = serde_json::from_str(&stdout_of(&output, &arguments)).unwrap();
        missed.extend(super::unfound(&check, &signs()));
        let ours = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let faked = setup.file("faked").display().to_string();
        assert!(!ours.contains(&faked), "what was bound is left: {ours}");
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}
