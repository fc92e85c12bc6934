//! Writes wait for a place in the stripe cache of a RAID with parity.
//!
//! ## What it finds
//! An md array of level 4, 5 or 6 nine tenths of whose stripe cache are in use.
//!
//! ## Why it matters
//! Each stripe that is being written needs an entry until data and parity are on the disks. With
//! the default of 256 entries a checkpoint over many disks fills the cache, and further writes wait
//! although the disks could take them. A larger cache also lets more writes fill whole stripes,
//! which need no reads.
//!
//! ## What to do
//! Raise `stripe_cache_size`, four thousand entries first; the limit is 32768.
//!
//! ## Risk
//! None to data. It takes a page of memory for each disk and entry.
//!
//! ## When it does not apply
//! Arrays without parity. One look shows one moment: a cache that is full once a minute may be
//! missed.
//!
//! ## Sources
//! - <https://docs.kernel.org/admin-guide/md.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Outcome, Severity};

use crate::arrays::parity_arrays;
use crate::formulas::storage::stripe_cache_bytes;
use crate::paste::PasteExt;
use crate::rule::{FindingExt, Rule, humane_bytes, need, settle};

pub(super) const RULE: Rule = Rule {
    id: "hardware.raid_stripe_cache",
    severity: Severity::Info,
    confidence: Confidence::Medium,
    sources: &["https://docs.kernel.org/admin-guide/md.html"],
    check,
    source_text: include_str!("raid_stripe_cache.rs"),
};

const FULL_SHARE: f64 = 0.9;
const FIRST_STEP: u64 = 4096;
const LIMIT: u64 = 32_768;
/// Of all architectures that databases run on, but for a few with larger ones.
const PAGE_BYTES: u64 = 4096;

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let arrays = parity_arrays(facts)?;
    for array in &arrays.all {
        let name = &array.device.name;
        let size = need(
            &array.raid.stripe_cache_size,
            &format!("stripe cache of {name}"),
        )?;
        let active = need(
            &array.raid.stripe_cache_active,
            &format!("stripe cache in use of {name}"),
        )?;
        if size >= LIMIT || (active as f64) < size as f64 * FULL_SHARE {
            continue;
        }
        let wanted = FIRST_STEP.max(size.saturating_mul(2)).min(LIMIT);
        let memory = stripe_cache_bytes(PAGE_BYTES, array.disks()?, wanted);
        return Ok(RULE
            .finding(format!(
                "{active} of {size} entries of the stripe cache of {name} are in use: writes wait \
                 for a free one"
            ))
            .evidence(
                "stripe_cache_active",
                active,
                &array.raid.stripe_cache_active.origin,
            )
            .evidence(
                "stripe_cache_size",
                size,
                &array.raid.stripe_cache_size.origin,
            )
            .udev(array.device, "md/stripe_cache_size", wanted)
            .costing(format!("{} of memory", humane_bytes(memory)))
            .into_outcome());
    }
    arrays.or_unread(Outcome::Ok)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{array, finding, not_applicable, ok, unknown, with_array};
    use dbdyno_model::{Fact, Facts};

    fn with_cache(active: u64, size: u64) -> Facts {
        let mut facts = with_array("raid6", 6);
        array(&mut facts, |raid| {
            raid.stripe_cache_size = Fact::known(size, "md/stripe_cache_size");
            raid.stripe_cache_active = Fact::known(active, "md/stripe_cache_active");
        });
        facts
    }

    #[test]
    fn a_full_cache_is_found() {
        let finding = finding(&RULE, &with_cache(250, 256));
        insta::assert_snapshot!(finding.message, @"250 of 256 entries of the stripe cache of md0 are in use: writes wait for a free one");
        let action = &finding.host_actions[0];
        let line = &action.files[0].lines[0];
        assert!(line.ends_with("ATTR{md/stripe_cache_size}=\"4096\""));
        assert_eq!(action.gives_up.as_deref(), Some("96 MiB of memory"));
    }

    #[test]
    fn room_and_the_largest_cache_are_fine() {
        ok(&RULE, &with_cache(100, 256));
        ok(&RULE, &with_cache(32_768, 32_768));
    }

    #[test]
    fn no_parity_is_not_applicable_and_no_figure_unknown() {
        not_applicable(&RULE, &with_array("raid1", 2));
        assert_eq!(
            unknown(&RULE, &with_array("raid5", 4)),
            "stripe cache of md0: not collected"
        );
    }
}
