//! The kernel promises more memory than it has.
//!
//! ## What it finds
//! `vm.overcommit_memory` of 0 or 1. It is only told: whether the host is for PostgreSQL alone is
//! known to its owner.
//!
//! ## Why it matters
//! When the promises come due the out-of-memory killer ends a process, and PostgreSQL restarts all
//! sessions for one killed backend. In mode 2 an allocation beyond the limit fails instead: one
//! statement ends with "out of memory" and the server lives. It is a guard and makes nothing
//! faster.
//!
//! ## What to do
//! Set a ratio that leaves the commit limit above 1.2 × what is committed and at 90 % of the memory,
//! and then mode 2: in the other order the running server is refused memory meanwhile.
//! CommitLimit = swap + (memory − huge pages) × ratio / 100.
//!
//! ## Risk
//! Programs that reserve much more than they use (Java, Go, sanitizers, MongoDB 8) fail to start.
//! Try it at the busiest hour, with a look at Committed_AS.
//!
//! ## When it does not apply
//! Hosts shared with other services, which dbdyno cannot tell: judge that yourself (beside MongoDB
//! it is kernel.overcommit_conflict's). Containers, servers under a cgroup's memory limit (the
//! group runs out first), lab servers, and hosts that have committed too much already: protect the
//! postmaster there (kernel.oom_protection).
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/kernel-resources.html>
//! - <https://docs.kernel.org/mm/overcommit-accounting.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::host::Memory;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use super::overcommit_conflict::runs_mongodb;
use crate::formulas::memory::commit_limit_bytes;
use crate::paste::PasteExt;
use crate::rule::{FindingExt, Rule, host, humane_bytes, need, need_ref, server, settle, sysctl};

pub(super) const RULE: Rule = Rule {
    id: "kernel.overcommit",
    severity: Severity::Info,
    confidence: Confidence::Medium,
    sources: &[
        "https://www.postgresql.org/docs/current/kernel-resources.html",
        "https://docs.kernel.org/mm/overcommit-accounting.html",
    ],
    check,
    source_text: include_str!("overcommit.rs"),
};

/// Room above what is committed now; one sample is no percentile.
const HEADROOM: f64 = 1.2;
/// Above the 85 % of memory that a plan may use.
const USABLE_SHARE: f64 = 0.9;
const RATIOS: std::ops::RangeInclusive<u64> = 50..=95;

/// What the commit limit is made of, in bytes.
pub(super) struct Commit {
    /// Memory that is not reserved for huge pages.
    pub(super) ordinary: u64,
    pub(super) swap: u64,
    pub(super) committed: u64,
}

impl Commit {
    pub(super) fn read(memory: &Memory) -> Result<Self, Outcome> {
        let total = need(&memory.total_bytes, "memory size")?;
        let huge_pages = need(&memory.huge_pages_total, "HugePages_Total")?;
        let huge = match huge_pages {
            0 => 0,
            pages => pages * need(&memory.huge_page_size_bytes, "size of a huge page")?,
        };
        Ok(Self {
            ordinary: total.saturating_sub(huge),
            swap: need(&memory.swap_total_bytes, "swap size")?,
            committed: need(&memory.committed_bytes, "Committed_AS")?,
        })
    }

    /// The kernel's limit under this `vm.overcommit_ratio`.
    pub(super) fn limit(&self, ratio: u64) -> u64 {
        commit_limit_bytes(self.ordinary, 0, self.swap, ratio)
    }

    /// The smallest ratio that leaves room; none where even the largest does not.
    pub(super) fn ratio(&self) -> Option<u64> {
        let wanted = (self.committed as f64 * HEADROOM).max(self.ordinary as f64 * USABLE_SHARE);
        RATIOS
            .clone()
            .find(|ratio| self.limit(*ratio) as f64 >= wanted.floor())
    }
}

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    server(facts)?;
    if facts.intent.lab {
        return Err(Outcome::NotApplicable(
            "a lab server does not own the host".to_owned(),
        ));
    }
    let host = host(facts)?;
    if need(&host.container, "whether this is a container")? {
        return Err(Outcome::NotApplicable(
            "a container does not own the host".to_owned(),
        ));
    }
    if runs_mongodb(host) {
        return Err(Outcome::NotApplicable(
            "MongoDB runs here too: see kernel.overcommit_conflict".to_owned(),
        ));
    }
    let memory = &host.memory;
    let total = need(&memory.total_bytes, "memory size")?;
    let limits = need_ref(&memory.limits, "memory limits of the cgroups")?;
    if limits.iter().any(|limit| limit.bytes < total) {
        return Err(Outcome::NotApplicable(
            "the cgroup's memory limit is reached first".to_owned(),
        ));
    }
    let (mode, origin) = sysctl(host, "vm.overcommit_memory")?;
    if mode == 2 {
        return Ok(Outcome::Ok);
    }
    let commit = Commit::read(memory)?;
    let Some(ratio) = commit.ratio() else {
        return Err(Outcome::NotApplicable(format!(
            "{} are committed already, too much for a limit: see kernel.oom_protection",
            humane_bytes(commit.committed)
        )));
    };
    Ok(RULE
        .finding(format!(
            "vm.overcommit_memory is {mode}: out of memory, the kernel kills a process; on a host \
             for PostgreSQL alone mode 2 refuses allocations beyond {} instead ({} are committed)",
            humane_bytes(commit.limit(ratio)),
            humane_bytes(commit.committed),
        ))
        .keeps_running()
        .evidence("vm.overcommit_memory", mode, origin)
        .evidence(
            "Committed_AS",
            commit.committed,
            &memory.committed_bytes.origin,
        )
        // The ratio first: with the kernel's own one mode 2 may promise less than is promised already.
        .sysctl(
            &[("vm.overcommit_ratio", ratio), ("vm.overcommit_memory", 2)],
            Needs::Online,
        )
        .costing("programs that reserve much more than they use may fail to start")
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::{Commit, RULE};
    use crate::kernel::overcommit_conflict::tests::with_engines;
    use crate::testing::{finding, healthy, not_applicable, ok, unknown};
    use dbdyno_model::host::MemoryLimit;
    use dbdyno_model::{Fact, Facts};

    const GB: u64 = 1_000_000_000;

    fn with_mode(mode: i64) -> Facts {
        let mut facts = healthy();
        let sysctl = &mut facts.host.as_mut().unwrap().sysctl;
        sysctl.insert(
            "vm.overcommit_memory".to_owned(),
            Fact::known(mode, "/proc/sys/vm"),
        );
        facts
    }

    #[test]
    fn the_heuristic_is_found() {
        let finding = finding(&RULE, &healthy());
        insta::assert_snapshot!(finding.message, @"vm.overcommit_memory is 0: out of memory, the kernel kills a process; on a host for PostgreSQL alone mode 2 refuses allocations beyond 21.3 GiB instead (1 GiB are committed)");
        assert_eq!(
            finding.host_actions[0].action,
            "vm.overcommit_ratio = 90 and vm.overcommit_memory = 2 in /etc/sysctl.d/90-dbdyno.conf"
        );
    }

    #[test]
    fn the_limit_leaves_huge_pages_out() {
        let commit = Commit {
            ordinary: 44 * GB,
            swap: 4 * GB,
            committed: 10 * GB,
        };
        assert_eq!(commit.limit(80), 39_200_000_000);
        // 90 % of 44 GB are 39.6, of which swap is 4: 35.6/44 = 80.9 %.
        assert_eq!(commit.ratio(), Some(81));
    }

    #[test]
    fn beside_mongodb_another_rule_answers() {
        let facts = with_engines(&["mongod", "postgres"]);
        assert!(not_applicable(&RULE, &facts).contains("overcommit_conflict"));
        finding(&RULE, &with_engines(&["postgres"]));
    }

    #[test]
    fn mode_2_is_fine() {
        ok(&RULE, &with_mode(2));
    }

    #[test]
    fn others_memory_is_not_applicable() {
        let mut facts = healthy();
        facts.intent.lab = true;
        not_applicable(&RULE, &facts);
        let mut facts = healthy();
        facts.host.as_mut().unwrap().container = Fact::known(true, "/proc/1/cgroup");
        not_applicable(&RULE, &facts);
        let mut facts = healthy();
        let limit = MemoryLimit {
            cgroup: "/system.slice/postgresql.service".to_owned(),
            control: "memory.max".to_owned(),
            bytes: 8 << 30,
        };
        facts.host.as_mut().unwrap().memory.limits = Fact::known(vec![limit], "cgroup");
        not_applicable(&RULE, &facts);
    }

    #[test]
    fn too_much_committed_is_not_applicable() {
        let mut facts = healthy();
        let memory = &mut facts.host.as_mut().unwrap().memory;
        memory.committed_bytes = Fact::known(30 << 30, "/proc/meminfo Committed_AS");
        assert!(not_applicable(&RULE, &facts).starts_with("30 GiB are committed already"));
    }

    #[test]
    fn a_mode_that_was_not_read_is_unknown() {
        let mut facts = healthy();
        facts
            .host
            .as_mut()
            .unwrap()
            .sysctl
            .remove("vm.overcommit_memory");
        assert_eq!(
            unknown(&RULE, &facts),
            "vm.overcommit_memory: not collected"
        );
    }
}
