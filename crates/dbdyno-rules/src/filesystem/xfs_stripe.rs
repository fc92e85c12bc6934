//! XFS was not made for the array that it lies on.
//!
//! ## What it finds
//! XFS on an md array that stripes, with a stripe unit or width (`sunit`, `swidth`) other than the
//! array's chunk and its chunk times the disks that hold data.
//!
//! ## Why it matters
//! XFS places files and inodes on stripe boundaries where it knows them. Where it does not, extents
//! begin anywhere in a chunk, and requests that one disk could serve need two. Measured on four
//! disks in RAID 10 with 64 KiB chunks: 15 % of random reads and 23 % of random writes.
//!
//! ## What to do
//! Make the file system anew with the array's geometry and copy the data. Mount options can only
//! correct a file system that was made with some alignment: `sunit` by a power of two, `swidth` by
//! multiples of it.
//!
//! ## Risk
//! The content is lost: it needs a migration.
//!
//! ## When it does not apply
//! Other file systems, mirrors without stripes, arrays of a RAID controller (their chunk does not
//! show here). How many disks a stripe of RAID 10 has is the kernel's to say (`optimal_io_size`); where
//! it does not, two near copies are taken.
//!
//! ## Sources
//! - <https://docs.kernel.org/admin-guide/xfs.html>
//! - Aligning IO on a hard disk RAID – the Benchmarks (2011-06-09)

use dbdyno_model::finding::Confidence;
use dbdyno_model::host::Storage;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use crate::arrays::{Stripe, stripe};
use crate::formulas::storage::{SECTOR_BYTES, xfs_units};
use crate::rule::{FindingExt, Rule, host, humane_bytes, settle};
use crate::seen::{Mounted, storages};

pub(super) const RULE: Rule = Rule {
    id: "filesystem.xfs_stripe",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &[
        "https://docs.kernel.org/admin-guide/xfs.html",
        "Aligning IO on a hard disk RAID – the Benchmarks (2011-06-09)",
    ],
    check,
    source_text: include_str!("xfs_stripe.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let storages = storages(host(facts)?)?;
    let mut seen_any = false;
    for storage in &storages.all {
        if storage.filesystem != "xfs" {
            continue;
        }
        let Some(stripe) = stripe(storage)? else {
            continue;
        };
        seen_any = true;
        let now = (option(storage, "sunit"), option(storage, "swidth"));
        let wanted = xfs_units(stripe.chunk_bytes, stripe.data_disks);
        if now != wanted {
            return found(storage, &stripe, now, wanted);
        }
    }
    if seen_any {
        storages.or_unread(Outcome::Ok)
    } else {
        storages.or_unread(Outcome::NotApplicable(
            "no XFS lies on an md array that stripes".to_owned(),
        ))
    }
}

/// A number among the mount options; the kernel leaves it out where it is 0.
fn option(storage: &Storage, name: &str) -> u64 {
    storage
        .mount_options
        .iter()
        .find_map(|option| option.strip_prefix(name)?.strip_prefix('=')?.parse().ok())
        .unwrap_or(0)
}

fn found(
    storage: &Mounted<'_>,
    stripe: &Stripe<'_>,
    now: (u64, u64),
    wanted: (u64, u64),
) -> Result<Outcome, Outcome> {
    let name = &stripe.array.device.name;
    let mount = &storage.mount_point;
    let made_for = match now.0 {
        0 => "without any stripe".to_owned(),
        unit => format!(
            "for stripes of {} × {}",
            humane_bytes(unit.saturating_mul(SECTOR_BYTES)),
            now.1 / unit
        ),
    };
    let mut finding = RULE
        .finding(format!(
            "XFS on {mount} was made {made_for}, and {name} ({}) has {} × {}",
            stripe.array.level_name()?,
            humane_bytes(stripe.chunk_bytes),
            stripe.data_disks
        ))
        .evidence(
            "sunit and swidth",
            format!("{} and {}", now.0, now.1),
            storage.origin,
        )
        .evidence(
            "chunk_size",
            stripe.chunk_bytes,
            &stripe.array.raid.chunk_bytes.origin,
        )
        .host_action(
            format!(
                "on an empty volume: mkfs.xfs -d su={}k,sw={} DEVICE, then stop the server and \
                 copy {} there",
                stripe.chunk_bytes >> 10,
                stripe.data_disks,
                storage.path
            ),
            Needs::Migration,
        );
    if can_be_mounted(now.0, wanted.0) {
        finding = finding.host_action(
            format!(
                "or correct it for new files: sunit={},swidth={} for {mount} in /etc/fstab, and \
                 mount it anew",
                wanted.0, wanted.1
            ),
            Needs::Remount,
        );
    }
    Ok(finding.into_outcome())
}

/// The kernel takes another unit only if it is the present one times a power of two.
fn can_be_mounted(now: u64, wanted: u64) -> bool {
    now > 0
        && wanted
            .checked_rem(now)
            .is_some_and(|rest| rest == 0 && (wanted / now).is_power_of_two())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{
        array, devices, finding, healthy, not_applicable, ok, storage, unknown, with_array,
    };
    use dbdyno_model::{Fact, Facts};

    fn made_with(options: &[&str]) -> Facts {
        let mut facts = with_array("raid10", 4);
        array(&mut facts, |raid| {
            raid.chunk_bytes = Fact::known(64 << 10, "md/chunk_size");
        });
        storage(&mut facts, |storage| {
            storage.filesystem = "xfs".to_owned();
            storage.mount_options = options.iter().map(|one| (*one).to_owned()).collect();
        });
        facts
    }

    #[test]
    fn a_file_system_without_stripes_is_found() {
        let finding = finding(&RULE, &made_with(&["rw"]));
        insta::assert_snapshot!(finding.message, @"XFS on / was made without any stripe, and md0 (RAID 10) has 64 KiB × 2");
        assert_eq!(finding.host_actions.len(), 1);
        assert!(
            finding.host_actions[0]
                .action
                .contains("mkfs.xfs -d su=64k,sw=2 DEVICE")
        );
    }

    #[test]
    fn a_smaller_unit_can_be_corrected_by_mounting() {
        let finding = finding(&RULE, &made_with(&["rw", "sunit=64", "swidth=64"]));
        insta::assert_snapshot!(finding.message, @"XFS on / was made for stripes of 32 KiB × 1, and md0 (RAID 10) has 64 KiB × 2");
        assert!(
            finding.host_actions[1]
                .action
                .contains("sunit=128,swidth=256 for / in /etc/fstab")
        );
    }

    /// With far copies each stripe goes over all disks, and mkfs.xfs takes it so.
    #[test]
    fn far_copies_and_odd_numbers_of_disks_are_taken_as_the_kernel_sees_them() {
        let with_best = |bytes: u64| {
            let mut facts = made_with(&["rw", "sunit=128", "swidth=512"]);
            devices(&mut facts, |devices| {
                devices[0].optimal_io_bytes = Fact::known(bytes, "queue/optimal_io_size");
            });
            facts
        };
        ok(&RULE, &with_best(256 << 10));
        assert!(
            finding(&RULE, &with_best(128 << 10))
                .message
                .ends_with("has 64 KiB × 2")
        );
        // More disks than there are, and no multiple of a chunk, say nothing.
        for bytes in [0, 96 << 10, 64 << 20] {
            let finding = finding(&RULE, &with_best(bytes));
            assert!(finding.message.ends_with("has 64 KiB × 2"));
        }
    }

    #[test]
    fn the_articles_geometry_is_fine() {
        ok(&RULE, &made_with(&["rw", "sunit=128", "swidth=256"]));
    }

    #[test]
    fn other_file_systems_and_plain_disks_are_not_applicable() {
        not_applicable(&RULE, &with_array("raid10", 4));
        not_applicable(&RULE, &healthy());
    }

    #[test]
    fn a_chunk_that_was_not_read_is_unknown() {
        let mut facts = made_with(&["rw"]);
        array(&mut facts, |raid| raid.chunk_bytes = Fact::default());
        assert_eq!(unknown(&RULE, &facts), "chunk of md0: not collected");
    }
}
