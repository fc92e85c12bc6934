//! An array has lost a disk, or is being rebuilt.
//!
//! ## What it finds
//! md arrays under the database with missing disks, which is critical, and arrays that are being
//! rebuilt, resynchronised or checked now, which is warned of.
//!
//! ## Why it matters
//! Without its spare disk the next failure takes the data. A rebuild reads or writes every disk
//! from end to end, for hours, beside the database's own requests: no measurement made meanwhile
//! says anything about the server.
//!
//! ## What to do
//! Replace the disk. Cap the rebuild while the server is busy, and lift the cap at night.
//!
//! ## Risk
//! A slower rebuild leaves the array without a spare disk for longer.
//!
//! ## When it does not apply
//! Arrays without redundancy (RAID 0, linear) have nothing to lose but the data. Arrays behind a
//! RAID controller do not show here, nor do warnings of the disks themselves (SMART). RAID that LVM
//! makes (`lvcreate --type raid…`) is seen and not assessed: `lvs -a -o
//! name,segtype,sync_percent,lv_health_status` shows its state.
//!
//! ## Sources
//! - <https://docs.kernel.org/admin-guide/md.html>
//! - <https://man7.org/linux/man-pages/man8/lvm.8.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use crate::arrays::{Array, arrays};
use crate::paste::{PasteExt, word};
use crate::rule::{FindingExt, Rule, need, settle};

pub(super) const RULE: Rule = Rule {
    id: "hardware.raid_degraded",
    severity: Severity::Critical,
    confidence: Confidence::High,
    sources: &[
        "https://docs.kernel.org/admin-guide/md.html",
        "https://man7.org/linux/man-pages/man8/lvm.8.html",
    ],
    check,
    source_text: include_str!("raid_degraded.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let arrays = arrays(facts)?;
    let mut redundant = Vec::new();
    for array in arrays.all.iter().copied() {
        if !matches!(array.level()?, "raid0" | "linear" | "faulty") {
            redundant.push(array);
        }
    }
    let Some(first) = redundant.first() else {
        return arrays.or_unread(Outcome::NotApplicable(
            "no array under the database is redundant".to_owned(),
        ));
    };
    let mut worst = (0, first);
    for array in &redundant {
        let name = format!("missing disks of {}", array.device.name);
        let missing = need(&array.raid.degraded_disks, &name)?;
        if missing > worst.0 {
            worst = (missing, array);
        }
    }
    if let (missing @ 1.., array) = worst {
        return degraded(array, missing);
    }
    let at_work = redundant.iter().find_map(|array| {
        let action = array.raid.sync_action.value()?;
        (action != "idle" && action != "frozen").then_some((array, action))
    });
    let Some((array, action)) = at_work else {
        return arrays.or_unread(Outcome::Ok);
    };
    let name = &array.device.name;
    Ok(RULE
        .finding(format!(
            "{name} is at a {action}: it competes with the database for every disk, and nothing \
             measured now counts"
        ))
        .severity(Severity::Warn)
        .evidence("sync_action", action, &array.raid.sync_action.origin)
        .host_action(cap(name), Needs::Online)
        .into_outcome())
}

fn degraded(array: &Array<'_>, missing: u64) -> Result<Outcome, Outcome> {
    let name = &array.device.name;
    let disks = array.disks()?;
    let action = array.raid.sync_action.value();
    let state = match action.map(String::as_str) {
        Some("recover") => "and is being rebuilt",
        _ => "and nothing is being rebuilt",
    };
    let mut finding = RULE
        .finding(format!(
            "{name} ({}) lacks {missing} of {disks} disks {state}",
            array.level_name()?
        ))
        .keeps_data()
        .evidence("degraded", missing, &array.raid.degraded_disks.origin)
        .host_action(
            format!("see which disk is missing: mdadm --detail /dev/{name}"),
            Needs::Online,
        )
        .run([format!("mdadm --detail {}", word(&format!("/dev/{name}")))])
        .host_action(
            format!("put a new disk in and add it: mdadm /dev/{name} --add, with its name"),
            Needs::Online,
        );
    if let Some(action) = action {
        finding = finding
            .evidence("sync_action", action, &array.raid.sync_action.origin)
            .host_action(cap(name), Needs::Online);
    }
    Ok(finding.into_outcome())
}

fn cap(name: &str) -> String {
    format!(
        "while the server is busy: echo 20000 > /sys/block/{name}/md/sync_speed_max (KiB/s); \
         afterwards: echo system > /sys/block/{name}/md/sync_speed_max"
    )
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{
        array, devices, finding, healthy, not_applicable, ok, unknown, with_array,
    };
    use dbdyno_model::host::{BlockDevice, BlockDeviceKind, Mapped, Mapper};
    use dbdyno_model::{Effect, Fact, Facts, Severity};

    fn in_state(missing: u64, action: &str) -> Facts {
        let mut facts = with_array("raid6", 6);
        array(&mut facts, |raid| {
            raid.degraded_disks = Fact::known(missing, "md/degraded");
            raid.sync_action = Fact::known(action.to_owned(), "md/sync_action");
        });
        facts
    }

    #[test]
    fn a_missing_disk_is_critical() {
        let finding = finding(&RULE, &in_state(1, "recover"));
        insta::assert_snapshot!(finding.message, @"md0 (RAID 6) lacks 1 of 6 disks and is being rebuilt");
        assert_eq!(finding.severity, Severity::Critical);
        assert_eq!(finding.effect, Effect::Durability);
        assert_eq!(finding.host_actions.len(), 3);
        assert_eq!(
            finding.host_actions[0].commands,
            ["mdadm --detail /dev/md0"]
        );
    }

    #[test]
    fn a_missing_disk_without_a_rebuild_says_so() {
        let finding = finding(&RULE, &in_state(1, "idle"));
        assert!(finding.message.ends_with("and nothing is being rebuilt"));
    }

    #[test]
    fn a_check_is_warned_of() {
        let finding = finding(&RULE, &in_state(0, "check"));
        assert_eq!(finding.severity, Severity::Warn);
        assert!(finding.message.starts_with("md0 is at a check:"));
    }

    #[test]
    fn a_whole_idle_array_is_fine() {
        ok(&RULE, &in_state(0, "idle"));
    }

    /// Puts a mapped device under what is there.
    fn on_mapped(facts: &mut Facts, name: &str, mapper: Mapper) {
        let mapped = Mapped {
            name: Fact::known(name.to_owned(), "dm/name"),
            mapper: Fact::known(mapper, "dm/uuid"),
        };
        devices(facts, |devices| {
            devices.push(BlockDevice {
                name: "dm-1".to_owned(),
                kind: BlockDeviceKind::DeviceMapper,
                mapped: Some(mapped.clone()),
                ..BlockDevice::default()
            });
        });
    }

    #[test]
    fn raid_of_lvm_is_seen_and_its_state_is_not() {
        let why = "RAID of LVM at vg0-pg: only LVM's tools show its level and state \
                   (lvs -a -o name,segtype,sync_percent,lv_health_status)";
        let mut facts = healthy();
        on_mapped(&mut facts, "vg0-pg_rimage_1", Mapper::Lvm);
        assert_eq!(unknown(&RULE, &facts), why);
        // Nor does a whole array beside it make up for it, or hide that another lacks a disk.
        let mut facts = in_state(0, "idle");
        on_mapped(&mut facts, "vg0-pg_rimage_1", Mapper::Lvm);
        assert_eq!(unknown(&RULE, &facts), why);
        let mut facts = in_state(1, "idle");
        on_mapped(&mut facts, "vg0-pg_rimage_1", Mapper::Lvm);
        finding(&RULE, &facts);
        let mut facts = healthy();
        on_mapped(&mut facts, "vg0-pg", Mapper::Lvm);
        not_applicable(&RULE, &facts);
        let mut facts = healthy();
        on_mapped(&mut facts, "my_rimage_1", Mapper::Crypt);
        not_applicable(&RULE, &facts);
    }

    #[test]
    fn no_redundancy_is_not_applicable_and_an_unread_state_unknown() {
        assert!(not_applicable(&RULE, &with_array("raid0", 2)).contains("redundant"));
        not_applicable(&RULE, &healthy());
        let mut facts = in_state(0, "idle");
        array(&mut facts, |raid| raid.degraded_disks = Fact::default());
        assert_eq!(
            unknown(&RULE, &facts),
            "missing disks of md0: not collected"
        );
    }
}
