//! What arrays cost a write, where stripes begin, and how much may wait to be written.

use super::{GIB, KIB, MIB};

/// The kernel counts devices, partitions and mount options in these, whatever the disk's own sectors are.
pub const SECTOR_BYTES: u64 = 512;

/// Disk operations for one small write: the write itself and its copy, or old data and old parity
/// read and both written again. None for levels that are not known here.
///
/// Source: <https://docs.kernel.org/admin-guide/md.html>; the factors are arithmetic.
pub fn raid_write_penalty(level: &str) -> Option<u64> {
    Some(match level {
        "raid0" => 1,
        "raid1" | "raid10" => 2,
        "raid4" | "raid5" => 4,
        "raid6" => 6,
        _ => return None,
    })
}

/// Small writes a second that an array takes, by what each of its disks takes.
///
/// Source: Should RAID 5 be used (2012-04-02), and the factors above.
pub fn raid_write_iops(disks: u64, disk_iops: f64, penalty: u64) -> f64 {
    disks as f64 * disk_iops / penalty.max(1) as f64
}

/// Disks of an array that hold data and not its copy or parity; RAID 10 with two copies.
pub fn data_disks(level: &str, disks: u64) -> Option<u64> {
    let data = match level {
        "raid0" => disks,
        "raid10" => disks / 2,
        "raid4" | "raid5" => disks.checked_sub(1)?,
        "raid6" => disks.checked_sub(2)?,
        _ => return None,
    };
    (data > 0).then_some(data)
}

/// The boundary that partitions and volumes have to start on: 1 MiB, or a stripe's unit where that
/// is larger.
///
/// Source: Aligning IO on a hard disk RAID – the Benchmarks (2011-06-09)
pub fn alignment_bytes(stripe_unit: u64) -> u64 {
    MIB.max(stripe_unit)
}

/// Whether a start lies on whole stripes of what is below, whose length the kernel gives as the size
/// of requests that it likes best: LVM and parted put it there where that is no part of 1 MiB (1.5 MiB
/// for three disks with chunks of 512 KiB). Less than 64 KiB are a disk's own blocks and no stripe, and
/// some bridges give as best what they can take at most, which is not in whole pages.
///
/// Source: <https://man7.org/linux/man-pages/man8/pvcreate.8.html>
pub fn begins_a_stripe(start: u64, stripe: u64) -> bool {
    const LEAST: u64 = 64 * KIB;
    const PAGE: u64 = 4 * KIB;
    stripe >= LEAST && stripe.is_multiple_of(PAGE) && start.is_multiple_of(stripe)
}

/// XFS's sunit and swidth in 512-byte units, as its mount options have them.
///
/// Source: <https://docs.kernel.org/admin-guide/xfs.html>
pub fn xfs_units(chunk_bytes: u64, data_disks: u64) -> (u64, u64) {
    let unit = chunk_bytes / SECTOR_BYTES;
    (unit, unit.saturating_mul(data_disks))
}

/// ext4's stride and stripe width in blocks of the file system; none for a block of 0 bytes.
///
/// Source: <https://docs.kernel.org/admin-guide/ext4.html>
pub fn ext4_units(chunk_bytes: u64, block_bytes: u64, data_disks: u64) -> Option<(u64, u64)> {
    let stride = chunk_bytes.checked_div(block_bytes)?;
    Some((stride, stride.saturating_mul(data_disks)))
}

/// KiB in `read_ahead_kb` for what `blockdev --getra` counts in sectors.
pub fn read_ahead_kib(sectors: u64) -> u64 {
    sectors / 2
}

/// Background and foreground limits on dirty pages in bytes, from the bytes a second that the disk
/// writes: a quarter of a second and two seconds of writing, within what is sensible anywhere.
///
/// Source: <https://docs.kernel.org/admin-guide/sysctl/vm.html>
pub fn dirty_limits_bytes(write_bytes_per_s: u64) -> (u64, u64) {
    let background = (write_bytes_per_s / 4).clamp(64 * MIB, GIB);
    let foreground = write_bytes_per_s
        .saturating_mul(2)
        .clamp(4 * background, 4 * GIB);
    (background, foreground)
}

/// Memory of the stripe cache of RAID 4, 5 and 6: a page of each disk for each entry.
///
/// Source: <https://docs.kernel.org/admin-guide/md.html>
pub fn stripe_cache_bytes(page_bytes: u64, disks: u64, entries: u64) -> u64 {
    page_bytes.saturating_mul(disks).saturating_mul(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parity_costs_four_and_six_operations_a_write() {
        assert_eq!(raid_write_penalty("raid10"), Some(2));
        assert_eq!(raid_write_penalty("raid5"), Some(4));
        assert_eq!(raid_write_penalty("raid6"), Some(6));
        assert_eq!(raid_write_penalty("linear"), None);
        assert_eq!(raid_write_iops(8, 200.0, 2), 800.0);
        assert_eq!(raid_write_iops(8, 200.0, 4), 400.0);
        assert_eq!(raid_write_iops(6, 1.0, 6), 1.0);
    }

    #[test]
    fn four_disks_in_raid_10_with_64_kib_chunks() {
        let data = data_disks("raid10", 4).unwrap();
        assert_eq!(data, 2);
        // xfs_info prints 16/32 in blocks of 4 KiB.
        assert_eq!(xfs_units(64 * KIB, data), (128, 256));
        assert_eq!(ext4_units(64 * KIB, 4096, data), Some((16, 32)));
        assert_eq!(ext4_units(64 * KIB, 0, data), None);
    }

    #[test]
    fn parity_disks_hold_no_data() {
        assert_eq!(data_disks("raid5", 4), Some(3));
        assert_eq!(data_disks("raid6", 6), Some(4));
        assert_eq!(data_disks("raid6", 2), None);
        assert_eq!(data_disks("raid1", 2), None);
    }

    #[test]
    fn a_boundary_is_a_mebibyte_or_more() {
        assert_eq!(alignment_bytes(64 * KIB), MIB);
        assert_eq!(alignment_bytes(4 * MIB), 4 * MIB);
    }

    #[test]
    fn a_stripe_need_not_be_a_part_of_a_mebibyte() {
        assert!(begins_a_stripe(1536 * KIB, 1536 * KIB));
        assert!(begins_a_stripe(192 * KIB, 192 * KIB));
        assert!(!begins_a_stripe(192 * KIB, 1536 * KIB));
        // A disk's own blocks, and what a bridge takes at most.
        assert!(!begins_a_stripe(192 * KIB, 4096));
        assert!(!begins_a_stripe(33_553_920, 33_553_920));
        assert!(!begins_a_stripe(MIB, 0));
    }

    #[test]
    fn thirty_two_sectors_are_16_kib() {
        assert_eq!(read_ahead_kib(32), 16);
    }

    #[test]
    fn dirty_limits_follow_the_disk_between_their_bounds() {
        assert_eq!(dirty_limits_bytes(0), (64 * MIB, 256 * MIB));
        assert_eq!(dirty_limits_bytes(400 * MIB), (100 * MIB, 800 * MIB));
        assert_eq!(dirty_limits_bytes(3 * GIB), (768 * MIB, 4 * GIB));
        assert_eq!(dirty_limits_bytes(u64::MAX), (GIB, 4 * GIB));
    }

    #[test]
    fn a_stripe_cache_of_4096_entries_over_six_disks_takes_96_mib() {
        assert_eq!(stripe_cache_bytes(4096, 6, 4096), 96 * MIB);
    }
}
