//! Small writes on a RAID with parity cost four or six disk operations each.
//!
//! ## What it finds
//! Data or write-ahead log on an md array of level 4, 5 or 6. It is warned of where, in the window,
//! more than 20 % of the array's requests were writes and it was busy for more than 60 % of the
//! time; else it is only told.
//!
//! ## Why it matters
//! A page that is written into the middle of a stripe needs its old content and the old parity read
//! first, and both written again: four operations, or six with two parities. The array then takes
//! disks × IOPS / 4 (or / 6) such writes a second, RAID 10 of the same disks disks × IOPS / 2.
//! Checkpoints and evicted pages are such writes.
//!
//! ## What to do
//! Move the files that are written at random to RAID 10 or to mirrored NVMe disks.
//!
//! ## Risk
//! A migration. RAID 10 has room for half of the disks' capacity.
//!
//! ## When it does not apply
//! Arrays without parity. Controllers that do RAID themselves do not show their level here, nor does
//! LVM where it makes the array: then it is not assessed. Data
//! that is mostly read, or written in whole stripes, pays little.
//!
//! ## Sources
//! - <https://docs.kernel.org/driver-api/md/raid5-cache.html>
//! - <https://docs.kernel.org/admin-guide/md.html>
//! - Should RAID 5 be used (2012-04-02)

use dbdyno_model::finding::Confidence;
use dbdyno_model::host::Host;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use crate::arrays::{Array, parity_arrays};
use crate::formulas::storage::{raid_write_iops, raid_write_penalty};
use crate::rule::{FindingExt, Rule, host, humane_number, settle};

pub(super) const RULE: Rule = Rule {
    id: "hardware.parity_raid",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &[
        "https://docs.kernel.org/driver-api/md/raid5-cache.html",
        "https://docs.kernel.org/admin-guide/md.html",
        "Should RAID 5 be used (2012-04-02)",
    ],
    check,
    source_text: include_str!("parity_raid.rs"),
};

const WRITE_SHARE: f64 = 0.2;
const BUSY_SHARE: f64 = 0.6;

/// What an array did in the window.
struct Load {
    write_share: f64,
    busy_share: f64,
}

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let host = host(facts)?;
    let mut found = Vec::new();
    for array in parity_arrays(facts)?.all {
        found.push((load(host, &array), array));
    }
    let is_busy = |load: &Option<Load>| {
        load.as_ref()
            .is_some_and(|load| load.write_share > WRITE_SHARE && load.busy_share > BUSY_SHARE)
    };
    // The one under load first.
    found.sort_by_key(|(load, _)| !is_busy(load));
    let Some((load, array)) = found.first() else {
        return Ok(Outcome::Ok);
    };
    let (disks, level) = (array.disks()?, array.level()?);
    let penalty = raid_write_penalty(level).unwrap_or(4);
    let name = &array.device.name;
    let now = match load {
        Some(load) => format!(
            "; in the window {} % of its requests were writes and it was busy for {} % of the time",
            humane_number(load.write_share * 100.0),
            humane_number(load.busy_share * 100.0)
        ),
        None => "; its load is not known".to_owned(),
    };
    let severity = if is_busy(load) {
        Severity::Warn
    } else {
        Severity::Info
    };
    Ok(RULE
        .finding(format!(
            "{name} ({}) takes the small writes of {} of its {disks} disks, in RAID 10 it would take \
             those of {}{now}",
            array.level_name()?,
            humane_number(raid_write_iops(disks, 1.0, penalty)),
            humane_number(raid_write_iops(disks, 1.0, 2)),
        ))
        .severity(severity)
        .evidence("level", level, &array.raid.level.origin)
        .evidence("raid_disks", disks, &array.raid.disks.origin)
        .host_action(
            format!(
                "make a RAID 10 of other disks (mdadm --create --level=10), stop the server and \
                 copy what lies on {name} there"
            ),
            Needs::Migration,
        )
        .into_outcome())
}

fn load(host: &Host, array: &Array<'_>) -> Option<Load> {
    let window = &host.traffic;
    let name = &array.device.name;
    let before = window.before.value()?.disk(name)?;
    let after = window.after.value()?.disk(name)?;
    let reads = after.reads.checked_sub(before.reads)?;
    let writes = after.writes.checked_sub(before.writes)?;
    let busy_ms = after.busy_ms.checked_sub(before.busy_ms)?;
    let requests = reads + writes;
    if requests == 0 || window.seconds <= 0.0 {
        return None;
    }
    Some(Load {
        write_share: writes as f64 / requests as f64,
        busy_share: (busy_ms as f64 / 1000.0 / window.seconds).min(1.0),
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, host, not_applicable, unknown, with_array};
    use dbdyno_model::host::{DiskCounters, Sampled, Traffic};
    use dbdyno_model::{Fact, Facts, Severity};

    fn with_load(mut facts: Facts, reads: u64, writes: u64, busy_ms: u64) -> Facts {
        let counters = |reads, writes, busy_ms| {
            let disk = DiskCounters {
                name: "md0".to_owned(),
                reads,
                writes,
                busy_ms,
                ..DiskCounters::default()
            };
            let traffic = Traffic {
                disks: Fact::known(vec![disk], "/proc/diskstats"),
                ..Traffic::default()
            };
            Fact::known(traffic, "/proc/diskstats")
        };
        host(&mut facts).traffic = Sampled {
            before: counters(1000, 1000, 500),
            after: counters(1000 + reads, 1000 + writes, 500 + busy_ms),
            seconds: 10.0,
        };
        facts
    }

    #[test]
    fn a_busy_array_is_warned_of() {
        let facts = with_load(with_array("raid6", 6), 1000, 3000, 9000);
        let finding = finding(&RULE, &facts);
        insta::assert_snapshot!(finding.message, @"md0 (RAID 6) takes the small writes of 1 of its 6 disks, in RAID 10 it would take those of 3; in the window 75 % of its requests were writes and it was busy for 90 % of the time");
        assert_eq!(finding.severity, Severity::Warn);
    }

    #[test]
    fn an_idle_one_is_only_told() {
        let idle = with_load(with_array("raid5", 4), 900, 100, 9000);
        assert_eq!(finding(&RULE, &idle).severity, Severity::Info);
        let unmeasured = finding(&RULE, &with_array("raid5", 4));
        assert_eq!(unmeasured.severity, Severity::Info);
        assert!(unmeasured.message.ends_with("; its load is not known"));
    }

    #[test]
    fn mirrors_and_plain_disks_are_not_applicable() {
        assert!(not_applicable(&RULE, &with_array("raid10", 4)).contains("parity"));
        assert!(not_applicable(&RULE, &healthy()).contains("no md array"));
    }

    #[test]
    fn a_level_that_was_not_read_is_unknown() {
        let mut facts = with_array("raid5", 4);
        crate::testing::array(&mut facts, |raid| raid.level = Fact::default());
        assert_eq!(unknown(&RULE, &facts), "RAID level of md0: not collected");
    }
}
