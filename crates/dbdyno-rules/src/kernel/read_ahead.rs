//! Read-ahead of more than 512 KiB on a solid-state disk.
//!
//! ## What it finds
//! `read_ahead_kb` above 512 on the device that is mounted, where it does not rotate.
//!
//! ## Why it matters
//! The kernel reads ahead when reads look sequential. Index range scans and bitmap scans look so
//! for a few blocks and then jump; with a long window each jump has read megabytes that nobody
//! wants, out of the page cache that others need. Profiles for throughput set 4096.
//!
//! ## What to do
//! 128 KiB for short transactions; prove another value with a trial. It is the kernel's default
//! unless a disk or an array names a best size of requests: then it is twice that, if that is more.
//! PostgreSQL 18 reads ahead itself, so test again there. The udev rule matches a logical volume or
//! another mapped device by its name, an array by its UUID and a disk by its kind: the kernel's names
//! (dm-3, sda) may be another device's after a boot. A rule by the kind holds for all of them.
//!
//! ## Risk
//! None to data. Full scans may become slower.
//!
//! ## When it does not apply
//! Other engines than PostgreSQL (InnoDB with direct I/O bypasses it, MongoDB wants 4 to 16 KiB).
//! btrfs reads ahead by a size of its own, at least 4 MiB, that is not collected
//! (/sys/class/bdi/btrfs-*/read_ahead_kb): there it is not assessed.
//! On rotating disks more is better for scans (2048 to 8192) and less for short transactions; below
//! 1024 it is not assessed there, since the share of scans is not collected.
//!
//! ## Sources
//! - <https://github.com/torvalds/linux/blob/v5.10/Documentation/block/queue-sysfs.rst>
//! - <https://github.com/torvalds/linux/blob/v5.10/block/blk-settings.c>
//! - <https://www.postgresql.org/docs/18/release-18.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::host::BlockDeviceKind;
use dbdyno_model::{Facts, Outcome, Severity};

use crate::paste::PasteExt;
use crate::rule::{FindingExt, Rule, host, humane_bytes, need, need_ref, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "kernel.read_ahead",
    severity: Severity::Info,
    confidence: Confidence::Low,
    sources: &[
        "https://github.com/torvalds/linux/blob/v5.10/Documentation/block/queue-sysfs.rst",
        "https://github.com/torvalds/linux/blob/v5.10/block/blk-settings.c",
        "https://www.postgresql.org/docs/18/release-18.html",
    ],
    check,
    source_text: include_str!("read_ahead.rs"),
};

const MOST_KIB: u64 = 512;
const DEFAULT_KIB: u64 = 128;
const ENOUGH_FOR_SCANS_KIB: u64 = 1024;

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    server(facts)?;
    // The data's, since little of the log is ever read. The topmost layer decides; a partition has
    // its disk's.
    let data = need_ref(&host(facts)?.data, "storage of the data directory")?;
    let devices = need_ref(&data.devices, "block devices under the data directory")?;
    if data.filesystem == "btrfs" {
        return Err(Outcome::Unknown(
            "read-ahead of btrfs: not collected, and the disk's is not used".to_owned(),
        ));
    }
    if devices.is_empty() {
        return Err(Outcome::NotApplicable(format!(
            "{} shows no block device of its own",
            data.filesystem
        )));
    }
    let top = devices
        .iter()
        .find(|device| device.kind != BlockDeviceKind::Partition);
    let Some(top) = top else {
        return Err(Outcome::Unknown(
            "the disk under the partition: not collected".to_owned(),
        ));
    };
    let name = &top.name;
    let kib = need(&top.read_ahead_kib, &format!("read-ahead of {name}"))?;
    if need(&top.rotational, &format!("whether {name} rotates"))? {
        if kib >= ENOUGH_FOR_SCANS_KIB {
            return Ok(Outcome::Ok);
        }
        return Err(Outcome::Unknown(format!(
            "share of sequential scans: not collected, and on the rotating {name} it decides"
        )));
    }
    if kib <= MOST_KIB {
        return Ok(Outcome::Ok);
    }
    Ok(RULE
        .finding(format!(
            "{name} reads {} ahead, more than short transactions on a solid-state disk use",
            humane_bytes(kib << 10)
        ))
        .evidence("read_ahead_kb", kib, &top.read_ahead_kib.origin)
        .udev(top, "queue/read_ahead_kb", DEFAULT_KIB)
        .costing("full scans may become slower")
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, not_applicable, ok, unknown};
    use dbdyno_model::{Fact, Facts};

    fn reading_ahead(kib: u64, rotational: bool) -> Facts {
        let mut facts = healthy();
        let host = facts.host.as_mut().unwrap();
        let mut data = host.data.value().unwrap().clone();
        let mut disk = data.devices.value().unwrap()[0].clone();
        disk.read_ahead_kib = Fact::known(kib, "/sys/block/vda/queue/read_ahead_kb");
        disk.rotational = Fact::known(rotational, "/sys/block/vda/queue/rotational");
        data.devices = Fact::known(vec![disk], "/sys/dev/block");
        host.data = Fact::known(data, "/proc/self/mountinfo");
        facts
    }

    #[test]
    fn a_throughput_profile_is_found() {
        let finding = finding(&RULE, &reading_ahead(4096, false));
        insta::assert_snapshot!(finding.message, @"vda reads 4 MiB ahead, more than short transactions on a solid-state disk use");
        assert!(
            finding.host_actions[0]
                .action
                .contains("ATTR{queue/read_ahead_kb}=\"128\"")
        );
    }

    #[test]
    fn the_default_and_much_for_a_rotating_disk_are_fine() {
        ok(&RULE, &healthy());
        ok(&RULE, &reading_ahead(4096, true));
    }

    #[test]
    fn little_for_a_rotating_disk_depends_on_the_scans() {
        assert!(unknown(&RULE, &reading_ahead(128, true)).starts_with("share of sequential scans"));
    }

    #[test]
    fn the_logs_disk_does_not_stand_for_the_datas() {
        let mut facts = reading_ahead(4096, false);
        let host = facts.host.as_mut().unwrap();
        host.wal = host.data.clone().map(|mut wal| {
            wal.mount_point = "/wal".to_owned();
            wal
        });
        host.data = host.data.clone().map(|mut data| {
            data.filesystem = "zfs".to_owned();
            data.devices = Fact::known(Vec::new(), "/sys/dev/block");
            data
        });
        let why = not_applicable(&RULE, &facts);
        assert_eq!(why, "zfs shows no block device of its own");
    }

    #[test]
    fn btrfs_does_not_read_ahead_as_its_disk_says() {
        let mut facts = reading_ahead(4096, false);
        let host = facts.host.as_mut().unwrap();
        host.data = host.data.clone().map(|mut data| {
            data.filesystem = "btrfs".to_owned();
            data
        });
        assert!(unknown(&RULE, &facts).starts_with("read-ahead of btrfs"));
    }

    #[test]
    fn another_engine_is_not_applicable() {
        let mut facts = reading_ahead(4096, false);
        facts.postgres = None;
        not_applicable(&RULE, &facts);
    }
}
