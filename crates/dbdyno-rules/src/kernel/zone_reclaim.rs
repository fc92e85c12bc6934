//! A NUMA node drops its page cache before it takes memory from another node.
//!
//! ## What it finds
//! `vm.zone_reclaim_mode` other than 0 on a machine with several NUMA nodes.
//!
//! ## Why it matters
//! A database uses the page cache of the whole machine. With zone reclaim a node that is full
//! throws cached files away, and may even write pages out, while other nodes have memory free.
//!
//! ## What to do
//! Set `vm.zone_reclaim_mode = 0`, the kernel's default.
//!
//! ## Risk
//! None to data. Some allocations come from a farther node.
//!
//! ## When it does not apply
//! Machines with one NUMA node.
//!
//! ## Sources
//! - <https://docs.kernel.org/admin-guide/sysctl/vm.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use crate::paste::PasteExt;
use crate::rule::{FindingExt, Rule, host, need, settle, sysctl};

pub(super) const RULE: Rule = Rule {
    id: "kernel.zone_reclaim",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &["https://docs.kernel.org/admin-guide/sysctl/vm.html"],
    check,
    source_text: include_str!("zone_reclaim.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let host = host(facts)?;
    let nodes = need(&host.numa_nodes, "NUMA nodes")?;
    if nodes <= 1 {
        return Err(Outcome::NotApplicable(
            "the machine has one NUMA node".to_owned(),
        ));
    }
    let (mode, origin) = sysctl(host, "vm.zone_reclaim_mode")?;
    if mode == 0 {
        return Ok(Outcome::Ok);
    }
    Ok(RULE
        .finding(format!(
            "vm.zone_reclaim_mode is {mode} on {nodes} NUMA nodes: a full node drops its page \
             cache while others have memory free"
        ))
        .evidence("vm.zone_reclaim_mode", mode, origin)
        .sysctl(&[("vm.zone_reclaim_mode", 0)], Needs::Online)
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, not_applicable, ok, unknown};
    use dbdyno_model::{Fact, Facts};

    fn two_nodes(mode: i64) -> Facts {
        let mut facts = healthy();
        let host = facts.host.as_mut().unwrap();
        host.numa_nodes = Fact::known(2, "/sys/devices/system/node");
        host.sysctl.insert(
            "vm.zone_reclaim_mode".to_owned(),
            Fact::known(mode, "/proc/sys/vm"),
        );
        facts
    }

    #[test]
    fn reclaim_on_two_nodes_is_found() {
        let finding = finding(&RULE, &two_nodes(1));
        insta::assert_snapshot!(finding.message, @"vm.zone_reclaim_mode is 1 on 2 NUMA nodes: a full node drops its page cache while others have memory free");
    }

    #[test]
    fn zero_is_fine() {
        ok(&RULE, &two_nodes(0));
    }

    #[test]
    fn one_node_is_not_applicable_and_none_counted_is_unknown() {
        not_applicable(&RULE, &healthy());
        let mut facts = two_nodes(1);
        facts.host.as_mut().unwrap().numa_nodes = Fact::default();
        assert_eq!(unknown(&RULE, &facts), "NUMA nodes: not collected");
    }
}
