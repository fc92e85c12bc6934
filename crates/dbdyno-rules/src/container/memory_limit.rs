//! A cgroup gives the server less memory than the machine has.
//!
//! ## What it finds
//! The smallest memory limit among the server's cgroup and its ancestors (`memory.max`,
//! `memory.high`, or version 1's `memory.limit_in_bytes`) where it is below the machine's memory.
//!
//! ## Why it matters
//! `MemTotal` shows the whole machine inside a container too. Caches sized for it outgrow the
//! limit: at `memory.max` the kernel kills a process of the group, at `memory.high` it slows the
//! group down while it reclaims.
//!
//! ## What to do
//! Nothing: dbdyno sizes for the limit. Raise the limit if the server should have more.
//!
//! ## Risk
//! None.
//!
//! ## When it does not apply
//! Where no limit is below the machine's memory. Swap never counts as memory.
//!
//! ## Sources
//! - <https://docs.kernel.org/admin-guide/cgroup-v2.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Outcome, Severity};

use crate::rule::{FindingExt, Rule, host, humane_bytes, need, need_ref, settle};

pub(super) const RULE: Rule = Rule {
    id: "container.memory_limit",
    severity: Severity::Info,
    confidence: Confidence::High,
    sources: &["https://docs.kernel.org/admin-guide/cgroup-v2.html"],
    check,
    source_text: include_str!("memory_limit.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let memory = &host(facts)?.memory;
    let total = need(&memory.total_bytes, "memory size")?;
    let limits = need_ref(&memory.limits, "memory limits of the cgroups")?;
    let below = limits.iter().filter(|limit| limit.bytes < total);
    let Some(limit) = below.min_by_key(|limit| limit.bytes) else {
        return Ok(Outcome::Ok);
    };
    let (severity, sized) = match facts.intent.memory_bytes {
        Some(cap) if cap > limit.bytes => {
            let cap = humane_bytes(cap);
            (
                Severity::Warn,
                format!("the {cap} given for sizing are more than that"),
            )
        }
        Some(cap) => (
            Severity::Info,
            format!("it is sized for the {} given", humane_bytes(cap)),
        ),
        None => (Severity::Info, "it is sized for that".to_owned()),
    };
    let finding = RULE.finding(format!(
        "{} of cgroup {} limits the server's memory to {} of the machine's {}: {sized}",
        limit.control,
        limit.cgroup,
        humane_bytes(limit.bytes),
        humane_bytes(total),
    ));
    // Sized beyond its limit, the server is killed.
    let finding = if severity == Severity::Warn {
        finding.keeps_running()
    } else {
        finding
    };
    Ok(finding
        .severity(severity)
        .evidence(
            &limit.control,
            limit.bytes,
            format!("cgroup {}", limit.cgroup),
        )
        .evidence("MemTotal", total, &memory.total_bytes.origin)
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, ok, unknown};
    use dbdyno_model::host::MemoryLimit;
    use dbdyno_model::{Effect, Fact, Facts, Severity};

    fn with_limits(limits: &[(&str, &str, u64)]) -> Facts {
        let mut facts = healthy();
        let limits = limits
            .iter()
            .map(|(cgroup, control, bytes)| MemoryLimit {
                cgroup: (*cgroup).to_owned(),
                control: (*control).to_owned(),
                bytes: *bytes,
            })
            .collect();
        facts.host.as_mut().unwrap().memory.limits = Fact::known(limits, "cgroup");
        facts
    }

    #[test]
    fn the_smallest_limit_of_all_ancestors_is_named() {
        let facts = with_limits(&[
            ("/kube/pod/db", "memory.max", 8 << 30),
            ("/kube/pod", "memory.high", 4 << 30),
            ("/kube", "memory.max", 64 << 30),
        ]);
        let finding = finding(&RULE, &facts);
        insta::assert_snapshot!(finding.message, @"memory.high of cgroup /kube/pod limits the server's memory to 4 GiB of the machine's 23.7 GiB: it is sized for that");
        assert_eq!(finding.severity, Severity::Info);
    }

    #[test]
    fn a_cap_above_the_limit_is_warned_of() {
        let mut facts = with_limits(&[("/db", "memory.max", 4 << 30)]);
        facts.intent.memory_bytes = Some(8 << 30);
        let finding = finding(&RULE, &facts);
        assert_eq!(finding.severity, Severity::Warn);
        assert_eq!(finding.effect, Effect::Availability);
        assert!(
            finding
                .message
                .ends_with("the 8 GiB given for sizing are more than that")
        );
    }

    #[test]
    fn no_limit_and_one_above_the_memory_are_fine() {
        ok(&RULE, &healthy());
        ok(&RULE, &with_limits(&[("/", "memory.max", 64 << 30)]));
    }

    #[test]
    fn limits_that_could_not_be_read_are_unknown() {
        let mut facts = healthy();
        let memory = &mut facts.host.as_mut().unwrap().memory;
        memory.limits = Fact::unknown("permission denied", "cgroup");
        assert_eq!(
            unknown(&RULE, &facts),
            "memory limits of the cgroups: permission denied"
        );
    }
}
