//! The server's cache lies on one NUMA node, or a node has no memory left for those who ask it.
//!
//! ## What it finds
//! On machines with several NUMA nodes: shared memory whose share on some node is more than 30 % off
//! the even one, or more than 10 % of the pages of the window handed out by another node than the
//! one they were meant to come from, since that had none free. It is warned of where the fuller node
//! has less than 5 % of its memory free; else it is only told.
//!
//! ## Why it matters
//! A page of shared memory lies on the node of the backend that touched it first. A server that was
//! warmed by one session fills one node: that node swaps or drops its page cache while the other has
//! memory free, and half of all backends fetch every page over the link between the sockets.
//!
//! ## What to do
//! Interleave the server's memory over the nodes, by its systemd unit or by numactl.
//!
//! ## Risk
//! None to data. Backends that would have stayed on one node lose a little.
//!
//! ## When it does not apply
//! Machines with one node that has memory, and less than 1 GiB of shared memory. What is counted is
//! the shared memory of the machine, of which a database server's cache is nearly all: asking the kernel for
//! one process's pages (numa_maps) stops that process while it is read.
//!
//! ## Sources
//! - <https://docs.kernel.org/admin-guide/numastat.html>
//! - <https://man7.org/linux/man-pages/man5/systemd.exec.5.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::host::{Host, NumaNode, VmStat};
use dbdyno_model::{Facts, Finding, Needs, Outcome, Severity};

use crate::paste::PasteExt;
use crate::rule::{FindingExt, Rule, host, humane_bytes, humane_number, need, need_ref, settle};

pub(super) const RULE: Rule = Rule {
    id: "hardware.numa_balance",
    severity: Severity::Warn,
    confidence: Confidence::Medium,
    sources: &[
        "https://docs.kernel.org/admin-guide/numastat.html",
        "https://man7.org/linux/man-pages/man5/systemd.exec.5.html",
    ],
    check,
    source_text: include_str!("numa_balance.rs"),
};

const LEAST_SHARED_BYTES: u64 = 1 << 30;
const UNEVEN: f64 = 0.3;
const MISSED_SHARE: f64 = 0.1;
/// Fewer pages in the window are some program's start, not the server's work.
const ENOUGH_PAGES: u64 = 10_000;
const NEARLY_FULL: f64 = 0.05;

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let host = host(facts)?;
    let count = need(&host.numa_nodes, "NUMA nodes")?;
    if count <= 1 {
        return Err(Outcome::NotApplicable(
            "the machine has one NUMA node".to_owned(),
        ));
    }
    let nodes = with_memory(need_ref(&host.numa, "memory of the NUMA nodes")?);
    if nodes.len() <= 1 {
        return Err(Outcome::NotApplicable(
            "one NUMA node has all the memory".to_owned(),
        ));
    }
    let huge_page = if nodes.iter().any(|node| node.huge_pages_used > 0) {
        need(&host.memory.huge_page_size_bytes, "size of a huge page")?
    } else {
        0
    };
    let shared = |node: &NumaNode| {
        node.shared_bytes
            .saturating_add(node.huge_pages_used.saturating_mul(huge_page))
    };
    let sum: u64 = nodes
        .iter()
        .copied()
        .map(shared)
        .fold(0, u64::saturating_add);
    if sum < LEAST_SHARED_BYTES {
        return Err(Outcome::NotApplicable(format!(
            "{} of shared memory are too little to lie badly",
            humane_bytes(sum)
        )));
    }
    if let Some(node) = nodes.iter().max_by_key(|node| shared(node)) {
        let even = sum as f64 / nodes.len() as f64;
        let off = nodes
            .iter()
            .map(|node| (shared(node) as f64 - even).abs() / even)
            .fold(0.0, f64::max);
        if off > UNEVEN {
            return Ok(uneven(host, node, shared(node), sum));
        }
    }
    missed(host)
}

/// Nodes of CPUs alone have nothing that could lie there.
fn with_memory(nodes: &[NumaNode]) -> Vec<&NumaNode> {
    nodes.iter().filter(|node| node.total_bytes > 0).collect()
}

fn uneven(host: &Host, node: &NumaNode, on_node: u64, sum: u64) -> Outcome {
    let free = node.free_bytes as f64 / node.total_bytes.max(1) as f64;
    let severity = if free < NEARLY_FULL {
        Severity::Warn
    } else {
        Severity::Info
    };
    interleave(
        RULE.finding(format!(
            "{} of {} shared memory lie on NUMA node {}, which has {} % of its memory free",
            humane_bytes(on_node),
            humane_bytes(sum),
            node.number,
            humane_number(free * 100.0)
        ))
        .severity(severity)
        .evidence(
            format!("shared memory on node {}", node.number),
            on_node,
            &host.numa.origin,
        ),
        host,
    )
    .into_outcome()
}

/// Pages that lie elsewhere than they were meant to. Pages of another node than the CPU's are no
/// measure: interleaved over two nodes, half of all are.
fn missed(host: &Host) -> Result<Outcome, Outcome> {
    let grown = |name: &str, counter: fn(&VmStat) -> Option<u64>| {
        let before = counter(need_ref(&host.vmstat.before, name)?);
        let after = counter(need_ref(&host.vmstat.after, name)?);
        let (Some(before), Some(after)) = (before, after) else {
            let why = "/proc/vmstat does not have it";
            return Err(Outcome::Unknown(format!("{name}: {why}")));
        };
        after.checked_sub(before).ok_or_else(|| {
            Outcome::Unknown(format!("{name}: the counter was set back in the window"))
        })
    };
    let hit = grown("numa_hit", |counters| counters.numa_hit)?;
    let miss = grown("numa_miss", |counters| counters.numa_miss)?;
    let pages = hit.saturating_add(miss);
    let share = miss as f64 / pages.max(1) as f64;
    if pages < ENOUGH_PAGES || share <= MISSED_SHARE {
        return Ok(Outcome::Ok);
    }
    let finding = RULE
        .finding(format!(
            "{} % of the pages handed out in the window came from another NUMA node than they were \
             meant to: that has no memory free",
            humane_number(share * 100.0)
        ))
        .severity(Severity::Info)
        .evidence("numa_miss", miss, &host.vmstat.after.origin);
    Ok(interleave(finding, host).into_outcome())
}

fn interleave(finding: Finding, host: &Host) -> Finding {
    // By their numbers: systemd took the word `all` later than the directive.
    let nodes = host.numa.value().map_or(&[][..], Vec::as_slice);
    let numbers: Vec<String> = with_memory(nodes)
        .iter()
        .map(|node| node.number.to_string())
        .collect();
    let mask = format!("NUMAMask={}", numbers.join(","));
    let unit = host
        .server_process
        .value()
        .and_then(|process| process.unit.value());
    let action = match unit {
        Some(unit) => format!(
            "[Service] NUMAPolicy=interleave and {mask} in {}, then: systemctl daemon-reload and \
             restart {}",
            unit.drop_in(),
            unit.name
        ),
        None => "start the server under: numactl --interleave=all".to_owned(),
    };
    finding
        .host_action(action, Needs::Restart)
        .unit(host, ["NUMAPolicy=interleave", mask.as_str()])
        .costing("backends that would have stayed on one node lose a little")
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, host, not_applicable, ok, unknown, with_unit};
    use dbdyno_model::host::{NumaNode, Sampled, VmStat};
    use dbdyno_model::{Fact, Facts, Severity};

    const GIB: u64 = 1 << 30;

    fn two_nodes(shared: [u64; 2], free: u64) -> Facts {
        let mut facts = healthy();
        let host = host(&mut facts);
        host.numa_nodes = Fact::known(2, "node/online");
        let node = |number, shared_bytes| NumaNode {
            number,
            total_bytes: 128 * GIB,
            free_bytes: free,
            shared_bytes,
            huge_pages_used: 0,
        };
        let nodes = vec![node(0, shared[0]), node(1, shared[1])];
        host.numa = Fact::known(nodes, "node*/meminfo");
        facts
    }

    #[test]
    fn one_full_node_is_warned_of() {
        let finding = finding(&RULE, &two_nodes([58 * GIB, 6 * GIB], GIB));
        insta::assert_snapshot!(finding.message, @"58 GiB of 64 GiB shared memory lie on NUMA node 0, which has 0.8 % of its memory free");
        assert_eq!(finding.severity, Severity::Warn);
        assert_eq!(
            finding.host_actions[0].action,
            "start the server under: numactl --interleave=all"
        );
    }

    #[test]
    fn an_uneven_cache_with_room_is_only_told() {
        let facts = two_nodes([58 * GIB, 6 * GIB], 40 * GIB);
        assert_eq!(finding(&RULE, &facts).severity, Severity::Info);
    }

    #[test]
    fn huge_pages_count_as_shared_memory() {
        let mut facts = two_nodes([0, 0], GIB);
        let host = host(&mut facts);
        host.numa = host.numa.clone().map(|mut nodes| {
            nodes[1].huge_pages_used = 4096;
            nodes
        });
        assert!(
            finding(&RULE, &facts)
                .message
                .starts_with("8 GiB of 8 GiB shared memory lie on NUMA node 1")
        );
    }

    /// Pages of the window that came from where they were meant to, and from elsewhere.
    fn handing_out(mut facts: Facts, hit: u64, miss: u64) -> Facts {
        let sample = |hit, miss| {
            let counters = VmStat {
                numa_hit: Some(hit),
                numa_miss: Some(miss),
                ..VmStat::default()
            };
            Fact::known(counters, "/proc/vmstat")
        };
        host(&mut facts).vmstat = Sampled {
            before: sample(7, 7),
            after: sample(7 + hit, 7 + miss),
            seconds: 1.0,
        };
        facts
    }

    #[test]
    fn pages_of_a_full_node_that_come_from_another_are_told() {
        let facts = handing_out(two_nodes([GIB, GIB], GIB), 60_000, 40_000);
        let finding = finding(&RULE, &facts);
        assert!(finding.message.starts_with("40 % of the pages"));
        assert_eq!(finding.severity, Severity::Info);
    }

    #[test]
    fn an_even_cache_is_fine_interleaved_or_not() {
        let even = || two_nodes([32 * GIB, 30 * GIB], GIB);
        ok(&RULE, &handing_out(even(), 100_000, 100));
        // A few pages are some program's start.
        ok(&RULE, &handing_out(even(), 100, 100));
    }

    #[test]
    fn a_node_without_memory_is_no_place_for_a_cache() {
        let mut facts = two_nodes([32 * GIB, 30 * GIB], GIB);
        let empty = NumaNode {
            number: 2,
            ..NumaNode::default()
        };
        let add = |facts: &mut Facts, empty: NumaNode| {
            let host = host(facts);
            host.numa_nodes = Fact::known(3, "node/online");
            host.numa = host.numa.clone().map(|mut nodes| {
                nodes.push(empty);
                nodes
            });
        };
        add(&mut facts, empty);
        ok(&RULE, &handing_out(facts, 100_000, 100));
        // The server is not bound to it either.
        let mut facts = two_nodes([58 * GIB, 6 * GIB], GIB);
        add(&mut facts, empty);
        with_unit(&mut facts, &[]);
        assert_eq!(
            finding(&RULE, &facts).host_actions[0].files[0].lines,
            ["[Service]", "NUMAPolicy=interleave", "NUMAMask=0,1"]
        );
        let mut facts = two_nodes([32 * GIB, 0], GIB);
        let host = host(&mut facts);
        host.numa = host.numa.clone().map(|mut nodes| {
            nodes[1].total_bytes = 0;
            nodes
        });
        assert_eq!(
            not_applicable(&RULE, &facts),
            "one NUMA node has all the memory"
        );
    }

    #[test]
    fn a_small_cache_is_not_applicable() {
        let why = not_applicable(&RULE, &two_nodes([GIB / 2, 0], GIB));
        assert_eq!(why, "512 MiB of shared memory are too little to lie badly");
    }

    #[test]
    fn counters_that_were_not_read_pass_nothing() {
        let mut facts = two_nodes([32 * GIB, 30 * GIB], GIB);
        assert_eq!(
            unknown(&RULE, &facts),
            "numa_hit: /proc/vmstat does not have it"
        );
        host(&mut facts).vmstat = Sampled::default();
        assert_eq!(unknown(&RULE, &facts), "numa_hit: not collected");
    }

    #[test]
    fn one_node_is_not_applicable_and_unread_nodes_are_unknown() {
        not_applicable(&RULE, &healthy());
        let mut facts = two_nodes([0, 0], 0);
        host(&mut facts).numa = Fact::default();
        assert_eq!(
            unknown(&RULE, &facts),
            "memory of the NUMA nodes: not collected"
        );
    }
}
