//! The kernel killed processes of the server's cgroup for lack of memory.
//!
//! ## What it finds
//! A count of out-of-memory kills above 0 in the server's own cgroup, since it was made.
//!
//! ## Why it matters
//! A PostgreSQL backend that is killed takes all sessions with it: the postmaster restarts the
//! server and recovers from the write-ahead log. A killed postmaster means an outage. The page
//! cache of the server's files is charged to the same group, so the limit is reached before the
//! processes alone fill it.
//!
//! ## What to do
//! Raise the group's memory limit, or let the server use less (shared_buffers, work_mem, sessions);
//! the caches and sessions together should leave 10 to 15 % of the limit free.
//!
//! ## Risk
//! None to data. The machine needs the memory that the limit promises.
//!
//! ## When it does not apply
//! Where the cgroup does not count kills (version 1 before Linux 4.13, the root group), the rule is
//! not assessed. The count never goes back: one old accident keeps the finding until the group is
//! made anew.
//!
//! ## Sources
//! - <https://docs.kernel.org/admin-guide/cgroup-v2.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use crate::rule::{FindingExt, Rule, host, humane_bytes, need, settle};

pub(super) const RULE: Rule = Rule {
    id: "container.memory_pressure",
    severity: Severity::Critical,
    confidence: Confidence::High,
    sources: &["https://docs.kernel.org/admin-guide/cgroup-v2.html"],
    check,
    source_text: include_str!("memory_pressure.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let memory = &host(facts)?.memory;
    let kills = need(&memory.oom_kills, "out-of-memory kills")?;
    if kills == 0 {
        return Ok(Outcome::Ok);
    }
    let limits = memory.limits.value().map_or(&[][..], Vec::as_slice);
    let (within, action) = match limits.iter().min_by_key(|limit| limit.bytes) {
        Some(limit) => (
            format!(
                " within {} of cgroup {}",
                humane_bytes(limit.bytes),
                limit.cgroup
            ),
            format!(
                "raise {} of cgroup {} above {}, or lower shared_buffers and work_mem",
                limit.control,
                limit.cgroup,
                humane_bytes(limit.bytes)
            ),
        ),
        None => (
            String::new(),
            "find what fills the machine's memory: journalctl -k --grep 'Out of memory'".to_owned(),
        ),
    };
    Ok(RULE
        .finding(format!(
            "the kernel killed processes of the server's cgroup for lack of memory{within}, \
             {kills} so far"
        ))
        .keeps_running()
        .evidence("oom_kill", kills, &memory.oom_kills.origin)
        .host_action(action, Needs::Online)
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, ok, unknown};
    use dbdyno_model::Fact;
    use dbdyno_model::host::MemoryLimit;

    #[test]
    fn kills_are_found_with_the_limit() {
        let mut facts = healthy();
        let memory = &mut facts.host.as_mut().unwrap().memory;
        memory.oom_kills = Fact::known(3, "memory.events");
        let limit = MemoryLimit {
            cgroup: "/docker/db".to_owned(),
            control: "memory.max".to_owned(),
            bytes: 2 << 30,
        };
        memory.limits = Fact::known(vec![limit], "cgroup");
        let finding = finding(&RULE, &facts);
        insta::assert_snapshot!(finding.message, @"the kernel killed processes of the server's cgroup for lack of memory within 2 GiB of cgroup /docker/db, 3 so far");
        assert_eq!(
            finding.host_actions[0].action,
            "raise memory.max of cgroup /docker/db above 2 GiB, or lower shared_buffers and \
             work_mem"
        );
    }

    #[test]
    fn no_kill_is_fine() {
        ok(&RULE, &healthy());
    }

    #[test]
    fn a_count_that_does_not_exist_is_unknown() {
        let mut facts = healthy();
        facts.host.as_mut().unwrap().memory.oom_kills = Fact::default();
        assert_eq!(unknown(&RULE, &facts), "out-of-memory kills: not collected");
    }
}
