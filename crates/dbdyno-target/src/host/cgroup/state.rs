//! What each control group from a process's own to the top counts and allows.

use dbdyno_model::Fact;
use dbdyno_model::host::Cgroup;

use super::{Groups, Version, byte_limit, counter, throttling};
use crate::host::root::Root;
use crate::host::{pressure, text};

/// `process` is `self` or a number.
pub(in crate::host) fn collect(root: &Root, process: &str) -> Fact<Vec<Cgroup>> {
    const ORIGIN: &str = "control groups";
    let mut found: Vec<Cgroup> = Vec::new();
    let mut failure = None;
    // In version 1 each controller has its own tree, in version 2 all share one.
    for controller in ["memory", "cpu", "pids"] {
        let groups = match Groups::find(root, process, controller) {
            Ok(groups) => groups,
            Err(why) => {
                failure = Some(why);
                continue;
            }
        };
        for branch in &groups.branches {
            for directory in &branch.directories {
                if !found.iter().any(|known| known.cgroup == *directory) {
                    found.push(read(root, branch.version, directory));
                }
            }
        }
    }
    found.retain(|group| {
        let silent = Cgroup {
            cgroup: group.cgroup.clone(),
            ..Cgroup::default()
        };
        *group != silent
    });
    match failure {
        Some(why) if found.is_empty() => Fact::unknown(why, ORIGIN),
        _ => Fact::known(found, ORIGIN),
    }
}

fn read(root: &Root, version: Version, directory: &str) -> Cgroup {
    let file = |name: &str| root.text(&format!("{directory}/{name}")).ok();
    let number = |name: &str| file(name).and_then(|text| text::number(&text).ok());
    let count = |name: &str, field: &str| file(name).and_then(|text| counter(&text, field));
    // Counts pids and bytes alike: `max`, or a number.
    let limit = |name: &str| file(name).and_then(|text| byte_limit(&text).ok().flatten());
    let (memory, out_of_memory, oom_kills) = match version {
        Version::V1 => (
            number("memory.usage_in_bytes"),
            None,
            count("memory.oom_control", "oom_kill"),
        ),
        Version::V2 => (
            number("memory.current"),
            // Without the local file the count holds the groups below, which are not this one's limit.
            count("memory.events.local", "oom"),
            count("memory.events", "oom_kill"),
        ),
    };
    Cgroup {
        cgroup: directory.to_owned(),
        memory_bytes: memory,
        out_of_memory,
        oom_kills,
        throttling: file("cpu.stat").and_then(|text| throttling(&text)),
        memory_stall: file("memory.pressure").and_then(|text| pressure::stall(&text).ok()),
        tasks: number("pids.current"),
        tasks_max: limit("pids.max"),
    }
}
