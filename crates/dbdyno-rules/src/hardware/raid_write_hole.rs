//! A crash can leave parity that does not fit its data.
//!
//! ## What it finds
//! md arrays of level 4, 5 or 6 whose consistency policy is `resync` or `none`; with a write-intent
//! bitmap it is only told.
//!
//! ## Why it matters
//! Data and parity are written to different disks. A power cut between the two leaves a stripe
//! whose parity is wrong. If a disk then fails before the array has been resynchronised, what is
//! reconstructed from that parity is garbage, in pages that nobody wrote to. `resync` reads the
//! whole array after a crash; a bitmap shortens that to minutes; a journal or a partial parity log
//! leaves no such stripe.
//!
//! ## What to do
//! RAID 5: switch to the partial parity log, or add a bitmap. RAID 6: add a bitmap; a journal needs
//! the array made anew.
//!
//! ## Risk
//! Bitmap and partial parity log cost writes of their own, the log up to 30 to 40 % of the write
//! performance. A journal disk is one more that must not fail.
//!
//! ## When it does not apply
//! Mirrors and stripes without parity. RAID that LVM makes is not assessed: only its own tools show the
//! level.
//!
//! ## Sources
//! - <https://docs.kernel.org/admin-guide/md.html>
//! - <https://docs.kernel.org/driver-api/md/raid5-ppl.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use crate::arrays::{Array, parity_arrays};
use crate::paste::{PasteExt, word};
use crate::rule::{FindingExt, Rule, need_ref, settle};

pub(super) const RULE: Rule = Rule {
    id: "hardware.raid_write_hole",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &[
        "https://docs.kernel.org/admin-guide/md.html",
        "https://docs.kernel.org/driver-api/md/raid5-ppl.html",
    ],
    check,
    source_text: include_str!("raid_write_hole.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let mut worst: Option<(Severity, Array<'_>, &str)> = None;
    let arrays = parity_arrays(facts)?;
    for array in arrays.all.iter().copied() {
        let name = format!("consistency policy of {}", array.device.name);
        let policy = need_ref(&array.raid.consistency_policy, &name)?.as_str();
        let severity = match policy {
            "ppl" | "journal" => continue,
            "bitmap" => Severity::Info,
            _ => Severity::Warn,
        };
        if worst.as_ref().is_none_or(|(so_far, ..)| severity > *so_far) {
            worst = Some((severity, array, policy));
        }
    }
    let Some((severity, array, policy)) = worst else {
        return arrays.or_unread(Outcome::Ok);
    };
    let name = &array.device.name;
    let until = if policy == "bitmap" {
        "until the stripes of its bitmap are resynchronised"
    } else {
        "until the whole array is resynchronised"
    };
    let mut finding = RULE
        .finding(format!(
            "after a crash {name} ({}) has stripes with wrong parity {until} (consistency policy \
             {policy})",
            array.level_name()?
        ))
        .severity(severity)
        .keeps_data()
        .evidence(
            "consistency_policy",
            policy,
            &array.raid.consistency_policy.origin,
        );
    let device = word(&format!("/dev/{name}"));
    let ppl = format!("mdadm --grow --consistency-policy=ppl {device}");
    let bitmap = format!("mdadm --grow --bitmap=internal {device}");
    let mut commands = Vec::new();
    let mut costs = "a write of the bitmap before those that it marks";
    if array.level()? == "raid5" {
        // The two exclude each other; where the log is refused the bitmap has to come back.
        if policy == "bitmap" {
            commands.push(format!("mdadm --grow --bitmap=none {device}"));
            commands.push(format!("{ppl} || {bitmap}"));
        } else {
            commands.push(ppl);
        }
        costs = "up to 30 to 40 % of the array's write performance";
    } else if policy != "bitmap" {
        commands.push(bitmap);
    }
    if !commands.is_empty() {
        finding = finding
            .host_action(commands.join(", then "), Needs::Online)
            .run(commands)
            .costing(costs);
    }
    Ok(finding.into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{array, finding, not_applicable, ok, unknown, with_array};
    use dbdyno_model::{Fact, Facts, Severity};

    fn with_policy(level: &str, policy: &str) -> Facts {
        let mut facts = with_array(level, 6);
        array(&mut facts, |raid| {
            raid.consistency_policy = Fact::known(policy.to_owned(), "md/consistency_policy");
        });
        facts
    }

    #[test]
    fn resync_alone_is_warned_of() {
        let finding = finding(&RULE, &with_policy("raid6", "resync"));
        insta::assert_snapshot!(finding.message, @"after a crash md0 (RAID 6) has stripes with wrong parity until the whole array is resynchronised (consistency policy resync)");
        assert_eq!(
            finding.host_actions[0].action,
            "mdadm --grow --bitmap=internal /dev/md0"
        );
    }

    #[test]
    fn a_bitmap_is_only_told() {
        let told = finding(&RULE, &with_policy("raid5", "bitmap"));
        assert_eq!(told.severity, Severity::Info);
        assert_eq!(
            told.host_actions[0].action,
            "mdadm --grow --bitmap=none /dev/md0, then mdadm --grow --consistency-policy=ppl \
             /dev/md0 || mdadm --grow --bitmap=internal /dev/md0"
        );
        assert!(
            finding(&RULE, &with_policy("raid6", "bitmap"))
                .host_actions
                .is_empty()
        );
    }

    #[test]
    fn a_log_that_is_refused_leaves_the_array_as_it_was() {
        let commands = |policy| {
            let found = finding(&RULE, &with_policy("raid5", policy));
            found.host_actions.into_iter().next().unwrap().commands
        };
        let ppl = "mdadm --grow --consistency-policy=ppl /dev/md0";
        assert_eq!(commands("resync"), [ppl]);
        assert_eq!(
            commands("bitmap")[1],
            format!("{ppl} || mdadm --grow --bitmap=internal /dev/md0")
        );
    }

    #[test]
    fn a_log_or_a_journal_is_fine() {
        ok(&RULE, &with_policy("raid5", "ppl"));
        ok(&RULE, &with_policy("raid6", "journal"));
    }

    #[test]
    fn no_parity_is_not_applicable_and_no_policy_unknown() {
        not_applicable(&RULE, &with_policy("raid10", "resync"));
        let mut facts = with_policy("raid5", "resync");
        array(&mut facts, |raid| raid.consistency_policy = Fact::default());
        assert_eq!(
            unknown(&RULE, &facts),
            "consistency policy of md0: not collected"
        );
    }
}
