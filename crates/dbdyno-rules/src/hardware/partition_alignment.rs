//! A partition under the database does not start on a boundary of what it lies on.
//!
//! ## What it finds
//! Partitions under the data directory or the write-ahead log whose start (in 512-byte sectors) is
//! neither a multiple of 1 MiB (of the stripe unit of the array or disk below where that is larger)
//! nor of the whole stripes that it names, or that the kernel finds off the physical blocks of their
//! disk. A start that is a multiple of 4 KiB is only told.
//!
//! ## Why it matters
//! A page that straddles two physical sectors or two chunks of a RAID stripe costs two operations,
//! and a write of half a sector a read before it. Measured on four disks in RAID 10 with 64 KiB
//! chunks: 15 % of random reads and 23 % of random writes. 1 MiB is a multiple of all usual sector,
//! page and chunk sizes.
//!
//! ## What to do
//! Make the partition anew at sector 2048 or a multiple of it (of the stripe unit), and restore the
//! data.
//!
//! ## Risk
//! The partition's content is lost: it needs a migration.
//!
//! ## When it does not apply
//! File systems on a whole disk. Where LVM begins inside a partition or an array is
//! hardware.lvm_alignment's. Many RAID controllers do not say what their stripe unit is.
//!
//! ## Sources
//! - <https://www.kernel.org/doc/Documentation/ABI/stable/sysfs-block>
//! - Aligning IO on a hard disk RAID – the Benchmarks (2011-06-09)

use dbdyno_model::finding::Confidence;
use dbdyno_model::host::{BlockDevice, BlockDeviceKind};
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use crate::formulas::storage::{SECTOR_BYTES, alignment_bytes, begins_a_stripe};
use crate::rule::{FindingExt, Rule, host, humane_bytes, settle};
use crate::seen::block_devices;

pub(super) const RULE: Rule = Rule {
    id: "hardware.partition_alignment",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &[
        "https://www.kernel.org/doc/Documentation/ABI/stable/sysfs-block",
        "Aligning IO on a hard disk RAID – the Benchmarks (2011-06-09)",
    ],
    check,
    source_text: include_str!("partition_alignment.rs"),
};

const PAGE_BYTES: u64 = 4096;

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let devices = block_devices(host(facts)?)?;
    let partitions: Vec<&BlockDevice> = devices
        .all
        .iter()
        .copied()
        .filter(|device| device.kind == BlockDeviceKind::Partition)
        .collect();
    if partitions.is_empty() {
        return devices.or_unread(Outcome::NotApplicable(
            "the storage is not partitioned".to_owned(),
        ));
    }
    let starts = partitions
        .iter()
        .filter_map(|p| Some((*p, p.start_sector?.saturating_mul(SECTOR_BYTES))));
    // The worst first: off a page, then off the boundary only.
    let worst = starts
        .map(|(partition, bytes)| (partition, bytes, boundary(partition, &devices.all)))
        .filter(|(partition, bytes, boundary)| {
            !bytes.is_multiple_of(*boundary) && !is_at_a_stripe(partition, *bytes, &devices.all)
        })
        .min_by_key(|(_, bytes, _)| bytes.is_multiple_of(PAGE_BYTES));
    let Some((partition, bytes, boundary)) = worst else {
        if let Some(partition) = partitions.iter().find(|p| p.misaligned.get() == Some(true)) {
            return Ok(off_its_disk(partition));
        }
        return match partitions
            .iter()
            .find(|partition| partition.start_sector.is_none())
        {
            Some(partition) => Err(Outcome::Unknown(format!(
                "start of {}: not collected",
                partition.name
            ))),
            None => devices.or_unread(Outcome::Ok),
        };
    };
    let (severity, why) = if bytes % PAGE_BYTES == 0 {
        (
            Severity::Info,
            "only the stripes of a RAID below it would be crossed",
        )
    } else {
        (Severity::Warn, "pages straddle two physical sectors")
    };
    let sector = bytes / SECTOR_BYTES;
    Ok(RULE
        .finding(format!(
            "{} starts at sector {sector} ({}), off the {} boundary: {why}",
            partition.name,
            humane_bytes(bytes),
            humane_bytes(boundary)
        ))
        .severity(severity)
        .evidence(
            "start",
            sector,
            format!("/sys/class/block/{}/start", partition.name),
        )
        .host_action(
            format!(
                "make {} anew at sector {} and restore the data",
                partition.name,
                bytes.checked_next_multiple_of(boundary).unwrap_or(bytes) / SECTOR_BYTES
            ),
            Needs::Migration,
        )
        .into_outcome())
}

/// Where a partition has to begin: at a whole mebibyte, or a whole stripe unit where that is larger.
fn boundary(partition: &BlockDevice, devices: &[&BlockDevice]) -> u64 {
    let below = devices.iter().find(|device| holds(device, partition));
    alignment_bytes(below.and_then(|device| stripe_unit(device)).unwrap_or(0))
}

/// Where parted puts a partition on a controller or an array whose stripes are no part of 1 MiB.
fn is_at_a_stripe(partition: &BlockDevice, start: u64, devices: &[&BlockDevice]) -> bool {
    let below = devices.iter().find(|device| holds(device, partition));
    below.is_some_and(|device| {
        let chunk = device.raid.as_ref().and_then(|raid| raid.chunk_bytes.get());
        let cuts_chunks = chunk.is_some_and(|chunk| chunk > 0 && !start.is_multiple_of(chunk));
        let stripe = device.optimal_io_bytes.get().unwrap_or(0);
        !cuts_chunks && begins_a_stripe(start, stripe)
    })
}

/// `sda` holds `sda1`, and `md0` holds `md0p1`.
fn holds(device: &BlockDevice, partition: &BlockDevice) -> bool {
    let rest = partition.name.strip_prefix(device.name.as_str());
    let number = rest.map(|rest| rest.strip_prefix('p').unwrap_or(rest));
    number.is_some_and(|number| {
        !number.is_empty() && number.chars().all(|digit| digit.is_ascii_digit())
    })
}

/// What one disk of an array holds in a piece, as far as array or controller say it.
fn stripe_unit(device: &BlockDevice) -> Option<u64> {
    let chunk = device.raid.as_ref().and_then(|raid| raid.chunk_bytes.get());
    let block = device.physical_block_bytes.get().unwrap_or(PAGE_BYTES);
    let least = device.minimum_io_bytes.get();
    // Some bridges give as best what they can take at most, which is no power of two.
    let best = device.optimal_io_bytes.get();
    chunk
        .or(least.filter(|bytes| *bytes > block.max(PAGE_BYTES)))
        .or(best.filter(|bytes| bytes.is_power_of_two()))
}

/// A start on the boundary, of a disk whose own blocks are shifted.
fn off_its_disk(partition: &BlockDevice) -> Outcome {
    let name = &partition.name;
    let offset = match partition.alignment_offset_bytes.get() {
        Some(bytes) => format!("{bytes} bytes"),
        None => "by an offset that no start would mend".to_owned(),
    };
    // Some storage gives its objects of megabytes as its blocks: no page is cut there.
    let offset_bytes = partition.alignment_offset_bytes.get();
    let (severity, why) = if offset_bytes.is_some_and(|bytes| bytes.is_multiple_of(PAGE_BYTES)) {
        (Severity::Info, "requests of many pages cross them")
    } else {
        (Severity::Warn, "pages straddle two of them")
    };
    RULE.finding(format!(
        "the kernel finds {name} off the physical blocks of its disk ({offset}): {why}"
    ))
    .severity(severity)
    .evidence(
        "alignment_offset",
        &offset,
        &partition.alignment_offset_bytes.origin,
    )
    .host_action(
        format!("make {name} anew where `parted --align optimal` puts it, and restore the data"),
        Needs::Migration,
    )
    .into_outcome()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{devices, finding, healthy, not_applicable, ok, unknown};
    use dbdyno_model::host::{BlockDevice, BlockDeviceKind, Raid};
    use dbdyno_model::{Fact, Facts, Outcome, Severity};

    fn starting_at(sector: Option<u64>) -> Facts {
        let mut facts = healthy();
        let host = facts.host.as_mut().unwrap();
        let mut data = host.data.value().unwrap().clone();
        let mut devices = data.devices.value().unwrap().clone();
        let mut partition = devices[0].clone();
        partition.name = "vda1".to_owned();
        partition.kind = BlockDeviceKind::Partition;
        partition.start_sector = sector;
        devices.insert(0, partition);
        data.devices = Fact::known(devices, "/sys/dev/block");
        host.data = Fact::known(data, "/proc/self/mountinfo");
        facts
    }

    #[test]
    fn sector_63_is_found() {
        let finding = finding(&RULE, &starting_at(Some(63)));
        insta::assert_snapshot!(finding.message, @"vda1 starts at sector 63 (31.5 KiB), off the 1 MiB boundary: pages straddle two physical sectors");
        assert_eq!(
            finding.host_actions[0].action,
            "make vda1 anew at sector 2048 and restore the data"
        );
    }

    #[test]
    fn a_multiple_of_4_kib_is_only_told() {
        assert_eq!(
            finding(&RULE, &starting_at(Some(64))).severity,
            Severity::Info
        );
    }

    #[test]
    fn a_shifted_disk_is_found_though_the_start_is_round() {
        let mut facts = starting_at(Some(2048));
        devices(&mut facts, |devices| {
            devices[0].misaligned = Fact::known(true, "alignment_offset");
            devices[0].alignment_offset_bytes = Fact::known(3584, "alignment_offset");
        });
        let shifted = finding(&RULE, &facts);
        insta::assert_snapshot!(shifted.message, @"the kernel finds vda1 off the physical blocks of its disk (3584 bytes): pages straddle two of them");
        assert_eq!(shifted.severity, Severity::Warn);
        // Objects of 4 MiB.
        devices(&mut facts, |devices| {
            devices[0].alignment_offset_bytes = Fact::known(3 << 20, "alignment_offset");
        });
        assert_eq!(finding(&RULE, &facts).severity, Severity::Info);
    }

    #[test]
    fn sector_2048_is_fine() {
        ok(&RULE, &starting_at(Some(2048)));
    }

    #[test]
    fn a_stripe_unit_of_more_than_a_mebibyte_counts() {
        let on_stripes = |sector, change: fn(&mut BlockDevice)| {
            let mut facts = starting_at(Some(sector));
            devices(&mut facts, |devices| {
                // The disk itself.
                change(devices.last_mut().unwrap());
            });
            facts
        };
        let chunk = |disk: &mut BlockDevice| {
            let chunk_bytes = Fact::known(4 << 20, "md/chunk_size");
            disk.raid = Some(Raid {
                chunk_bytes,
                ..Raid::default()
            });
        };
        let finding = finding(&RULE, &on_stripes(2048, chunk));
        insta::assert_snapshot!(finding.message, @"vda1 starts at sector 2048 (1 MiB), off the 4 MiB boundary: only the stripes of a RAID below it would be crossed");
        assert_eq!(
            finding.host_actions[0].action,
            "make vda1 anew at sector 8192 and restore the data"
        );
        ok(&RULE, &on_stripes(8192, chunk));
        let controller = |disk: &mut BlockDevice| {
            disk.minimum_io_bytes = Fact::known(2 << 20, "queue/minimum_io_size");
            disk.optimal_io_bytes = Fact::known(8 << 20, "queue/optimal_io_size");
        };
        let off = on_stripes(2048, controller);
        assert!(super::assess(&off).is_ok_and(|outcome| outcome != Outcome::Ok));
        ok(&RULE, &on_stripes(4096, controller));
        // Three disks with strips of 64 KiB each: parted begins at 192 KiB.
        let three = |disk: &mut BlockDevice| {
            disk.minimum_io_bytes = Fact::known(64 << 10, "queue/minimum_io_size");
            disk.optimal_io_bytes = Fact::known(192 << 10, "queue/optimal_io_size");
        };
        ok(&RULE, &on_stripes(384, three));
        let off = on_stripes(128, three);
        assert!(super::assess(&off).is_ok_and(|outcome| outcome != Outcome::Ok));
        // The most that a bridge takes at once says nothing of stripes.
        let bridge = |disk: &mut BlockDevice| {
            disk.minimum_io_bytes = Fact::known(512, "queue/minimum_io_size");
            disk.optimal_io_bytes = Fact::known(33_553_920, "queue/optimal_io_size");
        };
        ok(&RULE, &on_stripes(2048, bridge));
    }

    #[test]
    fn a_whole_disk_is_not_applicable_and_a_start_unread_is_unknown() {
        not_applicable(&RULE, &healthy());
        assert_eq!(
            unknown(&RULE, &starting_at(None)),
            "start of vda1: not collected"
        );
    }
}
