//! A logical volume begins off the boundaries of the disks or the array under it.
//!
//! ## What it finds
//! Volume groups whose first extent (`pe_start`) is neither a multiple of 1 MiB (of the array's chunk
//! where that is larger) nor of whole stripes, and logical volumes that the kernel finds misaligned. A
//! start that is at least a multiple of the chunk and of 4 KiB is only told.
//!
//! ## Why it matters
//! A partition on the right sector is of no use when LVM puts its first extent 192 KiB behind it, as
//! it did before it knew of arrays: requests of more than a page cross from one disk to the next in
//! the midst of what the file system takes for a chunk, and no write fills a whole stripe. Where the
//! start is not in whole pages either, single pages lie on two disks. Measured on four disks in RAID 10
//! with 64 KiB chunks: 15 % of random reads and 23 % of random writes. On a partition and an extent that
//! begin right, LVM costs nothing.
//!
//! ## What to do
//! Make the physical volume anew with `--dataalignment`; `pvmove` empties it first where the group
//! has room on another.
//!
//! ## Risk
//! Moving the extents costs hours of I/O; without a second volume it is a restore.
//!
//! ## When it does not apply
//! Storage without logical volumes. The starts stand in /etc/lvm/backup, which only root may read;
//! without them the kernel's own comparison with the devices below decides.
//!
//! ## Sources
//! - Aligning IO on a hard disk RAID – the Benchmarks (2011-06-09)
//! - <https://man7.org/linux/man-pages/man8/pvcreate.8.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::host::{BlockDevice, PhysicalVolume};
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use crate::arrays::stripe;
use crate::formulas::PAGE_BYTES;
use crate::formulas::storage::{alignment_bytes, begins_a_stripe};
use crate::rule::{FindingExt, Rule, host, humane_bytes, need_ref, settle};
use crate::seen::storages;

pub(super) const RULE: Rule = Rule {
    id: "hardware.lvm_alignment",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &[
        "Aligning IO on a hard disk RAID – the Benchmarks (2011-06-09)",
        "https://man7.org/linux/man-pages/man8/pvcreate.8.html",
    ],
    check,
    source_text: include_str!("lvm_alignment.rs"),
};

/// What the disks of today write at once.
const SECTOR_BYTES: u64 = 4096;

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let mut seen_any = false;
    let storages = storages(host(facts)?)?;
    for storage in &storages.all {
        let devices = need_ref(&storage.devices, "block devices under the database")?;
        let chunk = stripe(storage)?.map_or(0, |stripe| stripe.chunk_bytes);
        for device in devices {
            let Some(group) = &device.volume_group else {
                continue;
            };
            seen_any = true;
            let volumes = match group.physical_volumes.value() {
                Some(volumes) => below(volumes, devices),
                // The kernel compares the start with the chunk of an array below.
                None if device.misaligned.get() == Some(false) => continue,
                None if device.misaligned.get() == Some(true) => Vec::new(),
                None => {
                    need_ref(
                        &group.physical_volumes,
                        &format!("starts of the volume group {}", group.name),
                    )?;
                    continue;
                }
            };
            let boundary = alignment_bytes(chunk);
            let is_off = |volume: &&PhysicalVolume| {
                let start = volume.pe_start_bytes;
                !start.is_multiple_of(boundary) && !is_at_a_stripe(start, chunk, devices)
            };
            let off = volumes.into_iter().find(is_off);
            if let Some(volume) = off {
                return Ok(misplaced(device, volume, chunk, boundary));
            }
            if device.misaligned.get() == Some(true) {
                return Ok(misaligned(device, boundary));
            }
        }
    }
    if seen_any {
        storages.or_unread(Outcome::Ok)
    } else {
        storages.or_unread(Outcome::NotApplicable(
            "no logical volume lies under the database".to_owned(),
        ))
    }
}

/// Where LVM puts its first extent by itself on an array or a controller that says how long its
/// stripes are.
fn is_at_a_stripe(start: u64, chunk: u64, devices: &[BlockDevice]) -> bool {
    let cuts_chunks = chunk > 0 && !start.is_multiple_of(chunk);
    let mut stripes = devices
        .iter()
        .filter_map(|device| device.optimal_io_bytes.get());
    !cuts_chunks && stripes.any(|stripe| begins_a_stripe(start, stripe))
}

/// Those volumes of a group that lie under the database; all where the names tell nothing.
fn below<'a>(volumes: &'a [PhysicalVolume], devices: &[BlockDevice]) -> Vec<&'a PhysicalVolume> {
    let is_below = |volume: &&PhysicalVolume| {
        let name = volume.device.rsplit('/').next().unwrap_or_default();
        devices.iter().any(|device| device.name == name)
    };
    let found: Vec<&PhysicalVolume> = volumes.iter().filter(is_below).collect();
    if found.is_empty() {
        volumes.iter().collect()
    } else {
        found
    }
}

fn misplaced(device: &BlockDevice, volume: &PhysicalVolume, chunk: u64, boundary: u64) -> Outcome {
    let start = volume.pe_start_bytes;
    let cuts_chunks = chunk > 0 && !start.is_multiple_of(chunk);
    let (severity, why) = if cuts_chunks {
        let what = if start.is_multiple_of(PAGE_BYTES) {
            "requests of more than a page"
        } else {
            "pages"
        };
        let chunk = humane_bytes(chunk);
        (
            Severity::Warn,
            format!("{what} lie across the {chunk} chunks of the array"),
        )
    } else if !start.is_multiple_of(SECTOR_BYTES) {
        (
            Severity::Warn,
            "pages straddle two physical sectors".to_owned(),
        )
    } else {
        (
            Severity::Info,
            "only the stripes of an array below would be crossed".to_owned(),
        )
    };
    RULE.finding(format!(
        "LVM begins {} into {}: {why}",
        humane_bytes(start),
        volume.device
    ))
    .severity(severity)
    .evidence("pe_start", start, format!("volume under {}", device.name))
    .host_action(action(&volume.device, boundary), Needs::Migration)
    .into_outcome()
}

fn misaligned(device: &BlockDevice, boundary: u64) -> Outcome {
    let offset = device.alignment_offset_bytes.get();
    // Some storage gives its objects of megabytes as the smallest good request: no page is cut there.
    let severity = if offset.is_some_and(|bytes| bytes.is_multiple_of(PAGE_BYTES)) {
        Severity::Info
    } else {
        Severity::Warn
    };
    RULE.finding(format!(
        "the kernel finds the logical volume {} off the boundaries of the devices under it",
        device.name
    ))
    .severity(severity)
    .evidence(
        "alignment_offset",
        offset.map_or("not 0".to_owned(), |bytes| bytes.to_string()),
        &device.misaligned.origin,
    )
    .host_action(action("/dev/DEVICE", boundary), Needs::Migration)
    .into_outcome()
}

fn action(device: &str, boundary: u64) -> String {
    format!(
        "move the extents away (pvmove {device}), then make it anew: vgreduce, pvremove {device}, \
         pvcreate --dataalignment {}k {device}, vgextend",
        boundary >> 10
    )
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{devices, finding, healthy, not_applicable, ok, unknown, with_array};
    use dbdyno_model::host::{BlockDevice, BlockDeviceKind, PhysicalVolume, VolumeGroup};
    use dbdyno_model::{Fact, Facts, Severity};

    fn with_volume(mut facts: Facts, start: Option<u64>, misaligned: Fact<bool>) -> Facts {
        devices(&mut facts, |devices| {
            let volume = |device: &str, pe_start_bytes| PhysicalVolume {
                device: device.to_owned(),
                pe_start_bytes,
            };
            let volumes = match start {
                // A volume elsewhere in the group is nobody's business here.
                Some(start) => Fact::known(
                    vec![volume("/dev/sdz", 512), volume("/dev/md0", start)],
                    "/etc/lvm/backup/vg",
                ),
                None => Fact::unknown("permission denied", "/etc/lvm/backup/vg"),
            };
            let group = VolumeGroup {
                name: "vg".to_owned(),
                physical_volumes: volumes,
            };
            let top = BlockDevice {
                name: "dm-0".to_owned(),
                kind: BlockDeviceKind::DeviceMapper,
                misaligned: misaligned.clone(),
                volume_group: Some(group),
                ..BlockDevice::default()
            };
            devices.insert(0, top);
        });
        facts
    }

    fn read(misaligned: bool) -> Fact<bool> {
        Fact::known(misaligned, "alignment_offset")
    }

    #[test]
    fn a_start_across_the_chunks_is_warned_of() {
        let facts = with_volume(with_array("raid10", 4), Some(192 << 10), read(true));
        let found = finding(&RULE, &facts);
        insta::assert_snapshot!(found.message, @"LVM begins 192 KiB into /dev/md0: requests of more than a page lie across the 512 KiB chunks of the array");
        assert_eq!(found.severity, Severity::Warn);
        assert!(
            found.host_actions[0]
                .action
                .contains("pvcreate --dataalignment 1024k /dev/md0")
        );
        // 196 KiB are no whole pages of 8.
        let facts = with_volume(with_array("raid10", 4), Some(196 << 10), read(true));
        let message = finding(&RULE, &facts).message;
        assert!(message.contains(": pages lie across the 512 KiB chunks"));
    }

    #[test]
    fn what_cuts_no_page_is_only_told() {
        let shifted = |offset: u64| {
            let mut facts = with_volume(with_array("raid10", 4), None, read(true));
            devices(&mut facts, |devices| {
                devices[0].alignment_offset_bytes = Fact::known(offset, "alignment_offset");
            });
            finding(&RULE, &facts).severity
        };
        assert_eq!(shifted(3 << 20), Severity::Info);
        assert_eq!(shifted(3584), Severity::Warn);
    }

    #[test]
    fn a_round_start_off_the_mebibyte_is_only_told() {
        let facts = with_volume(with_array("raid10", 4), Some(512 << 10), read(false));
        assert_eq!(finding(&RULE, &facts).severity, Severity::Info);
        let odd = with_volume(healthy(), Some(63 * 512), read(false));
        assert!(
            finding(&RULE, &odd)
                .message
                .ends_with("pages straddle two physical sectors")
        );
    }

    /// pvcreate takes three times 512 KiB on RAID 5 of four disks.
    #[test]
    fn the_start_that_lvm_chooses_on_stripes_of_its_own_length_is_fine() {
        let on_raid_5 = |stripe: u64| {
            let mut facts = with_array("raid5", 4);
            devices(&mut facts, |devices| {
                devices[0].optimal_io_bytes = Fact::known(stripe, "queue/optimal_io_size");
            });
            with_volume(facts, Some(1536 << 10), read(false))
        };
        ok(&RULE, &on_raid_5(1536 << 10));
        assert_eq!(finding(&RULE, &on_raid_5(0)).severity, Severity::Info);
        // What cuts chunks begins no stripe, whatever a disk likes best.
        let mut facts = with_array("raid10", 4);
        devices(&mut facts, |devices| {
            devices[1].optimal_io_bytes = Fact::known(64 << 10, "queue/optimal_io_size");
        });
        let off = with_volume(facts, Some(192 << 10), read(false));
        assert_eq!(finding(&RULE, &off).severity, Severity::Warn);
    }

    #[test]
    fn without_the_record_the_kernel_decides() {
        let facts = with_volume(with_array("raid10", 4), None, read(true));
        let finding = finding(&RULE, &facts);
        assert!(finding.message.contains("the logical volume dm-0 off"));
        ok(
            &RULE,
            &with_volume(with_array("raid10", 4), None, read(false)),
        );
        let nothing = with_volume(with_array("raid10", 4), None, Fact::default());
        assert_eq!(
            unknown(&RULE, &nothing),
            "starts of the volume group vg: permission denied"
        );
    }

    #[test]
    fn a_mebibyte_is_fine_and_no_volume_not_applicable() {
        ok(
            &RULE,
            &with_volume(with_array("raid6", 6), Some(1 << 20), read(false)),
        );
        not_applicable(&RULE, &with_array("raid6", 6));
    }
}
