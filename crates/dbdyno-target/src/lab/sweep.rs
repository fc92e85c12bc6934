//! Finds labs that a killed dbdyno left behind, stops their servers and removes them.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::{Home, cap};
use crate::process;

/// What one sweep removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Swept {
    pub labs: Vec<PathBuf>,
    pub servers_stopped: u32,
}

/// Removes every lab whose owner is gone. Labs that were asked to be kept stay.
pub fn sweep(home: &Home) -> Swept {
    let mut swept = Swept::default();
    let Ok(entries) = fs::read_dir(&home.labs) else {
        return swept;
    };
    for entry in entries.flatten() {
        let lab = entry.path();
        if !is_abandoned(&lab) {
            continue;
        }
        swept.servers_stopped += stop_servers(&lab);
        let leftovers = fs::read_to_string(lab.join("leftovers")).unwrap_or_default();
        if leftovers.lines().any(|line| line == "keep") {
            continue;
        }
        for line in leftovers.lines() {
            match line.split_once(' ') {
                Some(("directory", path)) => drop(fs::remove_dir_all(path)),
                Some(("cgroup", path)) => cap::remove(Path::new(path)),
                _ => {}
            }
        }
        if fs::remove_dir_all(&lab).is_ok() {
            swept.labs.push(lab);
        }
    }
    swept
}

/// A lab's owner holds its lock as long as it lives.
fn is_abandoned(lab: &Path) -> bool {
    let Ok(lock) = File::open(lab.join("lock")) else {
        return false;
    };
    lock.try_lock().is_ok()
}

/// Stops the servers that run on data directories of the lab.
fn stop_servers(lab: &Path) -> u32 {
    let Ok(entries) = fs::read_dir(lab) else {
        return 0;
    };
    let pids = entries.flatten().filter_map(|entry| {
        let text = fs::read_to_string(entry.path().join("postmaster.pid")).ok()?;
        text.lines().next()?.trim().parse::<u32>().ok()
    });
    let ours: Vec<u32> = pids.filter(|pid| runs_on(*pid, lab)).collect();
    for pid in &ours {
        let tree = process::tree(*pid);
        process::signal(*pid, Signal::QUIT);
        let begin = Instant::now();
        while tree.iter().any(|pid| process::is_alive(*pid)) {
            if begin.elapsed() > Duration::from_secs(10) {
                for pid in &tree {
                    process::signal(*pid, Signal::KILL);
                }
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    ours.len() as u32
}

/// A pid may have been reused: the process must have been started on this lab's data.
fn runs_on(pid: u32, lab: &Path) -> bool {
    let Ok(command) = fs::read(format!("/proc/{pid}/cmdline")) else {
        return false;
    };
    String::from_utf8_lossy(&command).contains(&*lab.to_string_lossy())
}
