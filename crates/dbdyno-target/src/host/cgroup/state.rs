//! What each control group from a process's own to the top counts and allows.

use std::cell::RefCell;

use dbdyno_model::Fact;
use dbdyno_model::host::Cgroup;

use super::{Groups, Version, byte_limit, counter, throttling};
use crate::host::root::{ReadError, Root};
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
    let unread = RefCell::new(Vec::new());
    let missed = |name: &str| unread.borrow_mut().push(name.to_owned());
    let file = |name: &str| match root.text(&format!("{directory}/{name}")) {
        Ok(text) => Some(text),
        Err(error) => {
            // What the kernel does not keep is none; what it does not show may be anything.
            if !error.is_missing() && !matches!(error, ReadError::Unsupported) {
                missed(name);
            }
            None
        }
    };
    let number = |name: &str| file(name).and_then(|text| text::number(&text).ok());
    let count = |name: &str, field: &str| file(name).and_then(|text| counter(&text, field));
    // Counts pids and bytes alike: `max`, or a number.
    let limit = |name: &str| {
        let limit = byte_limit(&file(name)?);
        limit.unwrap_or_else(|_| {
            missed(name);
            None
        })
    };
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
    let mut group = Cgroup {
        cgroup: directory.to_owned(),
        memory_bytes: memory,
        out_of_memory,
        oom_kills,
        throttling: file("cpu.stat").and_then(|text| throttling(&text)),
        memory_stall: file("memory.pressure").and_then(|text| pressure::stall(&text).ok()),
        tasks: number("pids.current"),
        tasks_max: limit("pids.max"),
        unread: Vec::new(),
    };
    group.unread = unread.take();
    group
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_is_there_and_cannot_be_read_is_not_none() {
        let tree = tempfile::tempdir().unwrap();
        let directory = tree.path().join("g");
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("pids.max"), "many\n").unwrap();
        let group = read(&Root::new(tree.path()), Version::V2, "/g");
        assert_eq!((group.tasks_max, group.is_unread("pids.max")), (None, true));
        std::fs::write(directory.join("pids.max"), "max\n").unwrap();
        let group = read(&Root::new(tree.path()), Version::V2, "/g");
        assert_eq!(
            (group.tasks_max, group.is_unread("pids.max")),
            (None, false)
        );
    }
}
