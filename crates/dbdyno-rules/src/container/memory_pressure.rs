//! The kernel killed processes of the server's cgroup for lack of memory.
//!
//! ## What it finds
//! A count of out-of-memory kills above 0 in the server's own cgroup, since it was made. It is warned
//! of where a group above reached its limit with nothing left to reclaim, and where a group's
//! processes waited for memory in more than 10 % of the last minute.
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
use dbdyno_model::host::Host;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use crate::rule::{FindingExt, Rule, host, humane_bytes, humane_number, need, need_ref, settle};

pub(super) const RULE: Rule = Rule {
    id: "container.memory_pressure",
    severity: Severity::Critical,
    confidence: Confidence::High,
    sources: &["https://docs.kernel.org/admin-guide/cgroup-v2.html"],
    check,
    source_text: include_str!("memory_pressure.rs"),
};

const STALL_PERCENT: f64 = 10.0;
/// Where groups above the server tell that they are short of memory.
const TELLING: [&str; 2] = ["memory.events.local", "memory.pressure"];

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let host = host(facts)?;
    let memory = &host.memory;
    let kills = memory.oom_kills.get().unwrap_or(0);
    if kills == 0 {
        if let Some(outcome) = above(host) {
            return Ok(outcome);
        }
        need(&memory.oom_kills, "out-of-memory kills")?;
        for group in need_ref(&host.cgroups, "control groups of the server")? {
            if let Some(file) = TELLING.iter().find(|file| group.is_unread(file)) {
                return Err(Outcome::Unknown(format!(
                    "{file} of cgroup {}: it could not be read",
                    group.cgroup
                )));
            }
        }
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

/// Groups that are short of memory although nothing of the server was killed.
fn above(host: &Host) -> Option<Outcome> {
    let groups = host.cgroups.value()?;
    for group in groups {
        let path = &group.cgroup;
        if let Some(times @ 1..) = group.out_of_memory {
            let finding = RULE.finding(format!(
                "the memory limit of cgroup {path} was reached {times} times with nothing left to \
                 reclaim: the kernel kills some process below it"
            ));
            return Some(
                finding
                    .severity(Severity::Warn)
                    .keeps_running()
                    .evidence("oom", times, format!("{path}/memory.events.local"))
                    .host_action(
                        format!("raise memory.max of cgroup {path}, or lower what runs below it"),
                        Needs::Online,
                    )
                    .into_outcome(),
            );
        }
        let waited = group.memory_stall.map(|stall| stall.some_avg60);
        if let Some(percent) = waited.filter(|percent| *percent > STALL_PERCENT) {
            let percent = humane_number(percent);
            let finding = RULE.finding(format!(
                "processes of cgroup {path} waited for memory in {percent} % of the last minute"
            ));
            return Some(
                finding
                    .severity(Severity::Warn)
                    .evidence("some avg60", &percent, format!("{path}/memory.pressure"))
                    .host_action(
                        format!(
                            "raise memory.high and memory.max of cgroup {path}, or lower \
                             shared_buffers and work_mem"
                        ),
                        Needs::Online,
                    )
                    .into_outcome(),
            );
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, ok, unknown};
    use dbdyno_model::host::{Cgroup, MemoryLimit, Stall};
    use dbdyno_model::{Fact, Facts, Severity};

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

    fn with_group(group: Cgroup) -> Facts {
        let mut facts = healthy();
        let group = Cgroup {
            cgroup: "/sys/fs/cgroup/database.slice".to_owned(),
            ..group
        };
        facts.host.as_mut().unwrap().cgroups = Fact::known(vec![group], "control groups");
        facts
    }

    #[test]
    fn a_group_above_that_ran_out_is_warned_of() {
        let facts = with_group(Cgroup {
            out_of_memory: Some(3),
            ..Cgroup::default()
        });
        let finding = finding(&RULE, &facts);
        insta::assert_snapshot!(finding.message, @"the memory limit of cgroup /sys/fs/cgroup/database.slice was reached 3 times with nothing left to reclaim: the kernel kills some process below it");
        assert_eq!(finding.severity, Severity::Warn);
    }

    #[test]
    fn a_group_that_waits_for_memory_is_warned_of() {
        let stall = |some_avg60| Stall {
            some_avg10: some_avg60,
            some_avg60,
            some_total_us: 0,
        };
        let waits = |percent| {
            with_group(Cgroup {
                memory_stall: Some(stall(percent)),
                ..Cgroup::default()
            })
        };
        let finding = finding(&RULE, &waits(18.5));
        assert!(finding.message.ends_with("in 18.5 % of the last minute"));
        ok(&RULE, &waits(2.0));
    }

    #[test]
    fn no_kill_is_fine() {
        ok(&RULE, &with_group(Cgroup::default()));
    }

    #[test]
    fn groups_that_were_not_read_are_unknown() {
        assert_eq!(
            unknown(&RULE, &healthy()),
            "control groups of the server: not collected"
        );
        let facts = with_group(Cgroup {
            unread: vec!["memory.pressure".to_owned()],
            ..Cgroup::default()
        });
        assert_eq!(
            unknown(&RULE, &facts),
            "memory.pressure of cgroup /sys/fs/cgroup/database.slice: it could not be read"
        );
    }

    #[test]
    fn a_count_that_does_not_exist_is_unknown() {
        let mut facts = healthy();
        facts.host.as_mut().unwrap().memory.oom_kills = Fact::default();
        assert_eq!(unknown(&RULE, &facts), "out-of-memory kills: not collected");
    }
}
