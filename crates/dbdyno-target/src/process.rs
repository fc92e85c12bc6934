//! Processes of this machine: trees, their CPU time and I/O, and what strangers use.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::net::UnixStream;
use std::path::Path;

use rustix::process::Pid;
pub use rustix::process::Signal;

/// Kernel threads are children of kthreadd.
const KTHREADD: u32 = 2;

/// One line of /proc/PID/stat, as far as it is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    pub parent: u32,
    /// User and system time of the process and of its children that were waited for.
    pub ticks: u64,
    /// Start of the process in ticks since boot: tells a reused pid apart.
    pub start: u64,
    pub zombie: bool,
}

/// Reads one process; none when it is gone.
pub fn stat(pid: u32) -> Option<Stat> {
    parse_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

fn parse_stat(text: &str) -> Option<Stat> {
    // The name may hold spaces and brackets: fields begin behind the last one.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    Some(Stat {
        parent: u32::try_from(number(1)?).ok()?,
        ticks: number(11)? + number(12)? + number(13)? + number(14)?,
        start: number(19)?,
        zombie: *fields.first()? == "Z",
    })
}

fn all() -> BTreeMap<u32, Stat> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return BTreeMap::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|pid| Some((pid, stat(pid)?)))
        .collect()
}

fn tree_in(all: &BTreeMap<u32, Stat>, root: u32) -> BTreeSet<u32> {
    let mut tree = BTreeSet::from([root]);
    loop {
        let before = tree.len();
        tree.extend(
            all.iter()
                .filter(|(_, stat)| tree.contains(&stat.parent))
                .map(|(pid, _)| *pid)
                .collect::<Vec<_>>(),
        );
        if tree.len() == before {
            return tree;
        }
    }
}

/// The process and all that descend from it.
pub fn tree(root: u32) -> BTreeSet<u32> {
    tree_in(&all(), root)
}

/// What a process tree has used since it began; exited children count through their parent.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Usage {
    pub cpu_s: f64,
    /// Unknown where /proc/PID/io may not be read.
    pub read_bytes: Option<u64>,
    pub write_bytes: Option<u64>,
}

fn seconds(ticks: u64) -> f64 {
    ticks as f64 / rustix::param::clock_ticks_per_second() as f64
}

/// Usage of the tree under `root`. Walks down from it, so that it is cheap enough for once a second.
pub fn usage(root: u32) -> Option<Usage> {
    let mut ticks = stat(root)?.ticks;
    let (mut read, mut write) = io(root).unzip();
    for pid in descendants(root) {
        let Some(stat) = stat(pid) else { continue };
        ticks += stat.ticks;
        if let Some((r, w)) = io(pid) {
            read = read.map(|sum: u64| sum + r);
            write = write.map(|sum: u64| sum + w);
        }
    }
    Some(Usage {
        cpu_s: seconds(ticks),
        read_bytes: read,
        write_bytes: write,
    })
}

/// Children and theirs, from the kernel's own lists; falls back to a scan where it keeps none.
pub(crate) fn descendants(root: u32) -> Vec<u32> {
    let Some(text) = children(root) else {
        let tree = tree(root).into_iter();
        return tree.filter(|pid| *pid != root).collect();
    };
    let mut found = Vec::new();
    for child in text
        .split_ascii_whitespace()
        .filter_map(|pid| pid.parse().ok())
    {
        found.push(child);
        found.extend(descendants(child));
    }
    found
}

/// Each thread has a list of those that it started.
fn children(pid: u32) -> Option<String> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    threads
        .flatten()
        .map(|thread| fs::read_to_string(thread.path().join("children")).ok())
        .collect()
}

fn io(pid: u32) -> Option<(u64, u64)> {
    let text = fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
    let field = |name: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok())
    };
    Some((field("read_bytes:")?, field("write_bytes:")?))
}

/// CPU seconds that all processes outside the given trees have used, kernel threads left out:
/// those work for whoever causes I/O, which on a machine under test is the test.
pub fn strangers_cpu_s(ours: &[u32]) -> f64 {
    let all = all();
    let mut excluded: BTreeSet<u32> = tree_in(&all, KTHREADD);
    for root in ours {
        excluded.extend(tree_in(&all, *root));
    }
    // A parent's total grows by ours when it waits for us, which happens after the window.
    seconds(
        all.iter()
            .filter(|(pid, _)| !excluded.contains(pid))
            .map(|(_, s)| s.ticks)
            .sum(),
    )
}

/// Resident memory at its peak, of this process.
pub fn own_peak_rss_bytes() -> Option<u64> {
    peak_rss("/proc/self/status")
}

/// Lets the peak of this process begin again at what it has now; false where the kernel cannot.
pub fn reset_own_peak_rss() -> bool {
    // proc(5): 5 resets the peak, and nothing else.
    fs::write("/proc/self/clear_refs", "5").is_ok()
}

/// Resident memory at its peak, as long as the process runs.
pub fn peak_rss_bytes(pid: u32) -> Option<u64> {
    peak_rss(&format!("/proc/{pid}/status"))
}

fn peak_rss(status: &str) -> Option<u64> {
    let status = fs::read_to_string(status).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(
        line.trim()
            .strip_suffix(" kB")?
            .trim()
            .parse::<u64>()
            .ok()?
            * 1024,
    )
}

/// CPU seconds of this process's children that were waited for, and of those that they waited for.
pub fn waited_for_cpu_s() -> Option<f64> {
    let text = fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    Some(seconds(number(13)? + number(14)?))
}

/// Whether this process may read from its terminal: there is one, and it listens to our process group.
pub fn is_in_foreground() -> bool {
    fs::read_to_string("/proc/self/stat").is_ok_and(|text| in_foreground(&text))
}

fn in_foreground(stat: &str) -> bool {
    let Some((_, rest)) = stat.rsplit_once(')') else {
        return false;
    };
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    // The process group, and the one that the terminal listens to: −1 without a terminal.
    matches!((fields.get(2), fields.get(5)), (Some(ours), Some(front)) if ours == front)
}

pub fn is_alive(pid: u32) -> bool {
    stat(pid).is_some_and(|stat| !stat.zombie)
}

/// The process that listens at a unix socket, as the kernel says.
pub fn listener(socket: &Path) -> Option<u32> {
    let stream = UnixStream::connect(socket).ok()?;
    let credentials = rustix::net::sockopt::socket_peercred(&stream).ok()?;
    u32::try_from(credentials.pid.as_raw_nonzero().get()).ok()
}

/// Sends a signal; true when there was somebody to receive it.
pub fn signal(pid: u32, signal: Signal) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::kill_process(pid, signal).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_and_spaces_does_not_shift_the_fields() {
        let line = "42 (a) b (c)) S 7 42 42 0 -1 4194304 100 200 0 0 11 22 33 44 20 0 1 0 987 1000 5 18446744073709551615 0";
        let expected = Stat {
            parent: 7,
            ticks: 110,
            start: 987,
            zombie: false,
        };
        assert_eq!(parse_stat(line), Some(expected));
        assert_eq!(parse_stat("42 (cut off"), None);
        assert_eq!(parse_stat(""), None);
    }

    #[test]
    fn only_the_group_that_the_terminal_listens_to_is_in_front() {
        let with = |terminal: &str| format!("42 (a) b) S 7 42 40 {terminal} 4194304 100 200");
        assert!(in_foreground(&with("34816 42")));
        assert!(!in_foreground(&with("34816 40")));
        assert!(!in_foreground(&with("0 -1")));
        assert!(!in_foreground("42 (cut off"));
        assert!(!in_foreground("42 (a) S"));
    }

    #[test]
    fn a_child_is_in_our_tree_and_counts_as_ours() {
        let mut child = std::process::Command::new("sleep")
            .arg("30")
            .spawn()
            .unwrap();
        let me = std::process::id();
        assert!(tree(me).contains(&child.id()));
        assert!(descendants(me).contains(&child.id()));
        assert!(is_alive(child.id()));
        assert!(signal(child.id(), Signal::KILL));
        child.wait().unwrap();
        assert!(!is_alive(child.id()));
        assert!(!signal(child.id(), Signal::KILL));
    }

    #[test]
    fn own_usage_grows_with_work() {
        let before = usage(std::process::id()).unwrap().cpu_s;
        let mut x = 1_u64;
        while usage(std::process::id()).unwrap().cpu_s <= before {
            for _ in 0..1_000_000 {
                x = x.wrapping_mul(6364136223846793005).wrapping_add(1);
            }
        }
        assert!(x != 0 && own_peak_rss_bytes().unwrap() > 1 << 20);
        assert!(peak_rss_bytes(std::process::id()).unwrap() > 1 << 20);
    }

    #[test]
    fn a_peak_can_begin_again() {
        // Other tests of this process have far less.
        const BYTES: usize = 256 << 20;
        let filled = std::hint::black_box(vec![1_u8; BYTES]);
        let with = own_peak_rss_bytes().unwrap();
        drop(filled);
        // The kernel sums resident pages a little late on each processor.
        assert!(own_peak_rss_bytes().unwrap() + (BYTES as u64 / 8) >= with);
        assert!(reset_own_peak_rss());
        let without = own_peak_rss_bytes().unwrap();
        assert!(without + (BYTES as u64 / 2) < with, "{without} {with}");
    }

    #[test]
    fn a_child_counts_once_it_was_waited_for() {
        let before = waited_for_cpu_s().unwrap();
        let spin = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        let mut child = std::process::Command::new("/bin/sh")
            .args(["-c", spin])
            .spawn()
            .unwrap();
        child.wait().unwrap();
        assert!(waited_for_cpu_s().unwrap() > before);
    }
}
