//! What the figures were measured on, and with what.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::command;

#[derive(Debug)]
pub(super) struct Head {
    date: String,
    /// Cores, their model, memory, kernel.
    machine: String,
    dbdyno: String,
    /// Of the servers as they were started.
    pub(super) servers: Vec<String>,
    /// None where nobody else is measured.
    peers: Option<Vec<String>>,
    runs: String,
    command: String,
}

impl Head {
    /// `command` is what somebody else would type, `runs` what each figure is of.
    pub(super) fn new(
        command: String,
        runs: String,
        peers: Option<Vec<String>>,
    ) -> Result<Self, String> {
        let date = command::read(Command::new("date").args(["-u", "+%Y-%m-%d"]))?;
        Ok(Self {
            date: date.trim().to_owned(),
            machine: machine(),
            dbdyno: revision(&command::root()).unwrap_or_else(|| "of no commit".to_owned()),
            servers: Vec::new(),
            peers,
            runs,
            command,
        })
    }

    pub(super) fn markdown(&self) -> String {
        let list = |names: &[String]| match names.is_empty() {
            true => "none".to_owned(),
            false => names.join(", "),
        };
        let peers = self
            .peers
            .as_ref()
            .map(|peers| format!(" peers: {};", list(peers)));
        format!(
            "{}, {}; servers: {}; dbdyno {};{} {}, the least and the most in brackets:\n\
             `{}`\n",
            self.date,
            self.machine,
            list(&self.servers),
            self.dbdyno,
            peers.unwrap_or_default(),
            self.runs,
            self.command
        )
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "date": self.date,
            "machine": self.machine,
            "dbdyno": self.dbdyno,
            "servers": self.servers,
            "peers": self.peers,
            "runs": self.runs,
            "command": self.command,
        })
    }
}

fn machine() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let model = field(&read("/proc/cpuinfo"), "model name");
    let memory = field(&read("/proc/meminfo"), "MemTotal");
    let memory = memory
        .and_then(|text| text.strip_suffix(" kB")?.parse::<f64>().ok())
        .map(|kib| format!(", {:.1} GiB", kib / f64::from(1 << 20)));
    format!(
        "{cores} × {}{}, Linux {}",
        model.unwrap_or_else(|| "a processor of unknown model".to_owned()),
        memory.unwrap_or_default(),
        read("/proc/sys/kernel/osrelease").trim()
    )
}

/// The first value behind `name:`.
fn field(text: &str, name: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (label, value) = line.split_once(':')?;
        (label.trim() == name).then(|| value.trim().to_owned())
    })
}

/// What a checkout of git is of.
pub(super) fn revision(directory: &Path) -> Option<String> {
    let mut git = Command::new("git");
    git.arg("-C")
        .arg(directory)
        .args(["describe", "--always", "--dirty"]);
    let revision = command::read(&mut git).ok()?;
    Some(revision.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_by_its_whole_name() {
        let text = "processor\t: 0\nmodel\t\t: 143\nmodel name\t: Some CPU @ 2.0GHz: fast\n";
        let model = field(text, "model name");
        assert_eq!(model.as_deref(), Some("Some CPU @ 2.0GHz: fast"));
        assert_eq!(field(text, "MemTotal"), None);
    }

    #[test]
    fn the_head_names_what_somebody_else_needs_to_repeat_it() {
        let command = "cargo xtask bench drivers --rounds 5 --seconds 20";
        let new = |peers| Head::new(command.to_owned(), "medians of 5 runs".to_owned(), peers);
        let mut head = new(Some(vec!["sysbench 1.0.20".into()])).unwrap();
        head.servers.push("MariaDB 10.11".into());
        let text = head.markdown();
        for part in [
            "20",
            "Linux",
            "MariaDB 10.11",
            "sysbench 1.0.20",
            "medians of 5 runs, the least",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(text.contains("`cargo xtask bench drivers --rounds 5 --seconds 20`"));
        let alone = new(None).unwrap().markdown();
        assert!(!alone.contains("peers"), "{alone}");
    }
}
