//! ext4 does not know the stripes of the array that it lies on.
//!
//! ## What it finds
//! ext4 on an md array with stripes whose stripe width (the mount option `stripe=`, which the kernel
//! shows where it is set) is not the array's chunk times the disks that hold data.
//!
//! ## Why it matters
//! With the width known, ext4's allocator begins large extents on stripe boundaries. On RAID 5 and 6
//! a file that grows then fills whole stripes, which need no old data and parity read first.
//!
//! ## What to do
//! Write the geometry into the superblock with tune2fs and mount again. It acts on what is allocated
//! from then on.
//!
//! ## Risk
//! None to data.
//!
//! ## When it does not apply
//! Other file systems, RAID 0 and mirrors, arrays of a RAID controller. How many disks
//! a stripe of RAID 10 has is the kernel's to say (`optimal_io_size`); where it does not, two near
//! copies are taken.
//!
//! ## Sources
//! - <https://docs.kernel.org/admin-guide/ext4.html>
//! - <https://man7.org/linux/man-pages/man8/tune2fs.8.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use crate::arrays::stripe;
use crate::formulas::storage::ext4_units;
use crate::paste::{PasteExt, word};
use crate::rule::{FindingExt, Rule, host, humane_bytes, need, settle};
use crate::seen::storages;

pub(super) const RULE: Rule = Rule {
    id: "filesystem.ext4_stripe",
    severity: Severity::Info,
    confidence: Confidence::Medium,
    sources: &[
        "https://docs.kernel.org/admin-guide/ext4.html",
        "https://man7.org/linux/man-pages/man8/tune2fs.8.html",
    ],
    check,
    source_text: include_str!("ext4_stripe.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let storages = storages(host(facts)?)?;
    let mut seen_any = false;
    for storage in &storages.all {
        if storage.filesystem != "ext4" {
            continue;
        }
        let Some(stripe) = stripe(storage)?.filter(|stripe| stripe.data_disks > 1) else {
            continue;
        };
        if stripe.array.level()? == "raid0" {
            continue;
        }
        seen_any = true;
        let mount = &storage.mount_point;
        let block = need(&storage.block_bytes, &format!("block size of {mount}"))?;
        let Some((stride, width)) = ext4_units(stripe.chunk_bytes, block, stripe.data_disks) else {
            return Err(Outcome::Unknown(format!("block size of {mount}: it is 0")));
        };
        let now: u64 = storage
            .mount_options
            .iter()
            .find_map(|option| option.strip_prefix("stripe=")?.parse().ok())
            .unwrap_or(0);
        if now == width {
            continue;
        }
        let name = &stripe.array.device.name;
        let knows = match now {
            0 => "knows of no stripes".to_owned(),
            blocks => format!(
                "takes a stripe for {}",
                humane_bytes(blocks.saturating_mul(block))
            ),
        };
        return Ok(RULE
            .finding(format!(
                "ext4 on {mount} {knows}, and those of {name} ({}) are {} long",
                stripe.array.level_name()?,
                humane_bytes(width.saturating_mul(block))
            ))
            .evidence("stripe in blocks", now, storage.origin)
            .evidence(
                "chunk_size",
                stripe.chunk_bytes,
                &stripe.array.raid.chunk_bytes.origin,
            )
            .host_action(
                format!(
                    "tune2fs -E stride={stride},stripe_width={width} {}, then mount it anew",
                    storage.source
                ),
                Needs::Remount,
            )
            .run([format!(
                "tune2fs -E stride={stride},stripe_width={width} {}",
                word(&storage.source)
            )])
            .into_outcome());
    }
    if seen_any {
        storages.or_unread(Outcome::Ok)
    } else {
        storages.or_unread(Outcome::NotApplicable(
            "no ext4 lies on an md array with stripes and copies or parity".to_owned(),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, not_applicable, ok, storage, unknown, with_array};
    use dbdyno_model::{Fact, Facts};

    fn with_stripe(option: Option<&str>) -> Facts {
        let mut facts = with_array("raid5", 4);
        storage(&mut facts, |storage| {
            storage.block_bytes = Fact::known(4096, "statvfs");
            storage.source = "/dev/md0".to_owned();
            storage.mount_options.extend(option.map(str::to_owned));
        });
        facts
    }

    #[test]
    fn no_stripe_on_raid_5_is_told() {
        let finding = finding(&RULE, &with_stripe(None));
        insta::assert_snapshot!(finding.message, @"ext4 on / knows of no stripes, and those of md0 (RAID 5) are 1.5 MiB long");
        assert_eq!(
            finding.host_actions[0].action,
            "tune2fs -E stride=128,stripe_width=384 /dev/md0, then mount it anew"
        );
    }

    #[test]
    fn another_width_is_told() {
        let finding = finding(&RULE, &with_stripe(Some("stripe=128")));
        assert!(finding.message.contains("takes a stripe for 512 KiB"));
    }

    #[test]
    fn the_arrays_width_is_fine() {
        ok(&RULE, &with_stripe(Some("stripe=384")));
    }

    #[test]
    fn plain_stripes_and_disks_are_not_applicable() {
        not_applicable(&RULE, &with_array("raid0", 4));
        not_applicable(&RULE, &with_array("raid1", 2));
        not_applicable(&RULE, &healthy());
    }

    #[test]
    fn an_unread_block_is_unknown() {
        assert_eq!(
            unknown(&RULE, &with_array("raid6", 6)),
            "block size of /: not collected"
        );
    }
}
