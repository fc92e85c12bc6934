//! NUMA nodes, and how the memory is spread over them.
//!
//! What one process has on each node stands in /proc/PID/numa_maps, which walks every page of its
//! memory and holds its lock meanwhile. A server's cache is nearly all of the shared memory of its
//! machine, so the nodes' own figures tell as much at no cost.

use dbdyno_model::Fact;
use dbdyno_model::host::NumaNode;

use super::memory::meminfo;
use super::root::Root;
use super::text;

const NODES: &str = "/sys/devices/system/node";

/// How many nodes a list such as `0-1` names.
pub fn nodes(text: &str) -> Result<u32, String> {
    match text::cpu_list(text)?.len() as u32 {
        0 => Err("the list is empty".into()),
        count => Ok(count),
    }
}

pub(super) fn collect(root: &Root) -> Fact<u32> {
    root.fact(&format!("{NODES}/online"), nodes)
}

/// A node's own meminfo, whose lines begin with its name (`Node 0 MemTotal: 5 kB`).
pub fn node(text: &str, number: u32) -> Result<NumaNode, String> {
    let prefix = format!("Node {number} ");
    let plain: String = text
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix(prefix.as_str()))
        .flat_map(|line| [line, "\n"])
        .collect();
    let values = meminfo(&plain);
    let figure = |name: &str| {
        let value = values.get(name).copied();
        value.ok_or_else(|| format!("no line `{name}`"))
    };
    let huge_pages = figure("HugePages_Total").unwrap_or(0);
    Ok(NumaNode {
        number,
        total_bytes: figure("MemTotal")?,
        free_bytes: figure("MemFree")?,
        shared_bytes: figure("Shmem")?,
        huge_pages_used: huge_pages.saturating_sub(figure("HugePages_Free").unwrap_or(0)),
    })
}

/// Every node's memory.
pub(super) fn memory(root: &Root) -> Fact<Vec<NumaNode>> {
    let origin = format!("{NODES}/node*/meminfo");
    let read = || {
        let online = format!("{NODES}/online");
        let list = root
            .text(&online)
            .map_err(|error| format!("{online}: {error}"))?;
        let mut found = Vec::new();
        for number in text::cpu_list(&list)? {
            let path = format!("{NODES}/node{number}/meminfo");
            let text = root
                .text(&path)
                .map_err(|error| format!("{path}: {error}"))?;
            found.push(node(&text, number).map_err(|error| format!("{path}: {error}"))?);
        }
        Ok::<_, String>(found)
    };
    Fact::from_result(read(), origin)
}

#[cfg(test)]
mod tests {
    use super::{node, nodes};

    #[test]
    fn nodes_are_counted() {
        assert_eq!(nodes("0\n"), Ok(1));
        assert_eq!(nodes("0-1,4\n"), Ok(3));
        assert!(nodes("\n").is_err());
    }

    #[test]
    fn a_nodes_memory_is_read() {
        let text = "Node 1 MemTotal:       1024 kB\nNode 1 MemFree:  512 kB\nNode 10 Shmem: 7 kB\n\
                    Node 1 Shmem:  256 kB\nNode 1 HugePages_Total:     8\nNode 1 HugePages_Free:      3\n";
        let read = node(text, 1).unwrap();
        assert_eq!((read.total_bytes, read.free_bytes), (1 << 20, 512 << 10));
        assert_eq!((read.shared_bytes, read.huge_pages_used), (256 << 10, 5));
        assert!(node(text, 0).unwrap_err().contains("MemTotal"));
    }
}
