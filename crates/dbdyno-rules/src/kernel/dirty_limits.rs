//! The kernel lets gigabytes of written pages pile up before it makes writers wait.
//!
//! ## What it finds
//! A limit of more than 2 GiB on dirty page cache: `vm.dirty_bytes`, or `vm.dirty_ratio` per cent
//! of the memory available now.
//!
//! ## Why it matters
//! Written pages wait in memory until the background limit or their age starts the write. Above the
//! foreground limit every writer is stopped until the disk has caught up, and an fsync meanwhile
//! waits for what others left behind. A percentage that was harmless with 4 GiB of memory is many
//! seconds of writing with 256. PostgreSQL paces its own checkpoints (`checkpoint_flush_after`);
//! copies, backups and bulk loads beside it do not.
//!
//! ## What to do
//! Limit in bytes. From a measured write speed W the limits are W/4 × 1 s in the background (64 MiB
//! to 1 GiB) and 2 W × 1 s in the foreground (up to 4 GiB). No speed is measured here, so the
//! recommended values are those of tuned's profile for PostgreSQL: 64 MiB and 512 MiB.
//!
//! ## Risk
//! None to data. A bulk load that fitted into memory waits for the disk earlier. Writing the bytes
//! sets the ratios to 0; to go back, write the ratios.
//!
//! ## When it does not apply
//! Limits up to 2 GiB pass; on a slow disk they may still be too high.
//!
//! ## Sources
//! - <https://docs.kernel.org/admin-guide/sysctl/vm.html>
//! - <https://github.com/redhat-performance/tuned/blob/master/profiles/postgresql/tuned.conf>

use dbdyno_model::finding::Confidence;
use dbdyno_model::host::Host;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use crate::paste::PasteExt;
use crate::rule::{FindingExt, Rule, host, humane_bytes, need, settle, sysctl};

pub(super) const RULE: Rule = Rule {
    id: "kernel.dirty_limits",
    severity: Severity::Warn,
    confidence: Confidence::Medium,
    sources: &[
        "https://docs.kernel.org/admin-guide/sysctl/vm.html",
        "https://github.com/redhat-performance/tuned/blob/master/profiles/postgresql/tuned.conf",
    ],
    check,
    source_text: include_str!("dirty_limits.rs"),
};

const MOST_BYTES: u64 = 2 << 30;

/// What both rules on dirty limits recommend while the write speed is unknown (tuned's values).
pub(super) const WANTED: [(&str, u64); 2] = [
    ("vm.dirty_background_bytes", 64 << 20),
    ("vm.dirty_bytes", 512 << 20),
];

/// What such limits cost.
pub(super) const COSTS: &str = "a bulk load that fitted into memory waits for the disk earlier";

/// One of the two limits in the form that is in force.
#[derive(Clone, Copy)]
pub(super) enum Limit {
    Bytes(u64),
    Percent(u64),
}

impl Limit {
    /// Of `vm.dirty` or `vm.dirty_background`: bytes where they are set, else the ratio.
    pub(super) fn read(host: &Host, stem: &str) -> Result<Self, Outcome> {
        let (bytes, _) = sysctl(host, &format!("{stem}_bytes"))?;
        if bytes > 0 {
            return Ok(Self::Bytes(bytes.unsigned_abs()));
        }
        let (ratio, _) = sysctl(host, &format!("{stem}_ratio"))?;
        Ok(Self::Percent(ratio.unsigned_abs()))
    }

    /// The kernel takes the percentage of the memory that is free or reclaimable.
    pub(super) fn bytes(self, host: &Host) -> Result<u64, Outcome> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            Self::Percent(ratio) => {
                let available = need(&host.memory.available_bytes, "available memory")?;
                Ok((u128::from(available) * u128::from(ratio) / 100) as u64)
            }
        }
    }

    /// The sysctl's suffix and value, for messages.
    pub(super) fn words(self) -> String {
        match self {
            Self::Bytes(bytes) => humane_bytes(bytes),
            Self::Percent(ratio) => format!("{ratio} %"),
        }
    }
}

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let host = host(facts)?;
    let limit = Limit::read(host, "vm.dirty")?;
    let bytes = limit.bytes(host)?;
    if bytes <= MOST_BYTES {
        return Ok(Outcome::Ok);
    }
    let from = match limit {
        Limit::Bytes(_) => "vm.dirty_bytes".to_owned(),
        Limit::Percent(_) => format!(
            "{} of {} available, vm.dirty_ratio",
            limit.words(),
            humane_bytes(need(&host.memory.available_bytes, "available memory")?)
        ),
    };
    let mut finding = RULE
        .finding(format!(
            "{} of written pages may pile up in memory before writers wait ({from})",
            humane_bytes(bytes)
        ))
        .evidence(
            "dirty limit in bytes",
            bytes,
            "/proc/sys/vm and /proc/meminfo",
        );
    let now = host.vmstat.latest().and_then(|sample| {
        let waiting = sample.nr_dirty?.saturating_add(sample.nr_writeback?);
        Some((waiting, sample.nr_dirty_threshold?))
    });
    if let Some((waiting, threshold)) = now {
        finding = finding.evidence(
            "pages that wait now",
            format!("{waiting}; writers wait from {threshold} on"),
            &host.vmstat.after.origin,
        );
    }
    Ok(finding
        .sysctl(&WANTED, Needs::Online)
        .costing(COSTS)
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, ok, unknown};
    use dbdyno_model::host::VmStat;
    use dbdyno_model::{Fact, Facts};

    fn with(sysctls: &[(&str, i64)]) -> Facts {
        let mut facts = healthy();
        for (name, value) in sysctls {
            let fact = Fact::known(*value, "/proc/sys/vm");
            facts
                .host
                .as_mut()
                .unwrap()
                .sysctl
                .insert((*name).to_owned(), fact);
        }
        facts
    }

    #[test]
    fn twenty_percent_of_22_gib_are_found() {
        let finding = finding(&RULE, &healthy());
        insta::assert_snapshot!(finding.message, @"4.4 GiB of written pages may pile up in memory before writers wait (20 % of 22 GiB available, vm.dirty_ratio)");
        assert_eq!(
            finding.host_actions[0].action,
            "vm.dirty_background_bytes = 67108864 and vm.dirty_bytes = 536870912 in \
             /etc/sysctl.d/90-dbdyno.conf"
        );
        assert_eq!(
            finding.host_actions[0].gives_up.as_deref(),
            Some("a bulk load that fitted into memory waits for the disk earlier")
        );
    }

    #[test]
    fn what_waits_now_is_shown() {
        let mut facts = healthy();
        let after = VmStat {
            nr_dirty: Some(900),
            nr_writeback: Some(100),
            nr_dirty_threshold: Some(892_045),
            ..VmStat::default()
        };
        facts.host.as_mut().unwrap().vmstat.after = Fact::known(after, "/proc/vmstat");
        let finding = finding(&RULE, &facts);
        assert_eq!(
            finding.evidence[1].value,
            "1000; writers wait from 892045 on"
        );
    }

    #[test]
    fn bytes_count_where_they_are_set() {
        let facts = with(&[("vm.dirty_bytes", 4 << 30), ("vm.dirty_ratio", 0)]);
        assert!(finding(&RULE, &facts).message.ends_with("(vm.dirty_bytes)"));
        ok(
            &RULE,
            &with(&[("vm.dirty_bytes", 512 << 20), ("vm.dirty_ratio", 0)]),
        );
    }

    #[test]
    fn five_percent_are_fine() {
        ok(&RULE, &with(&[("vm.dirty_ratio", 5)]));
    }

    #[test]
    fn a_ratio_of_unknown_memory_is_unknown() {
        let mut facts = healthy();
        facts.host.as_mut().unwrap().memory.available_bytes = Fact::default();
        assert_eq!(unknown(&RULE, &facts), "available memory: not collected");
    }
}
