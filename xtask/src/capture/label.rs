//! The label beside a fixture: how it was made, how it is read, and which findings it holds.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use dbdyno_model::Fact;
use dbdyno_model::host::Host;
use dbdyno_target::host::HostOptions;

use crate::command;

/// How a label says where its fixture comes from.
const ORIGINS: [&str; 2] = ["Captured from ", "Written by hand: "];

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Label {
    /// Begins with one of the origins.
    pub(super) how: String,
    pub(super) data: Option<String>,
    pub(super) wal: Option<String>,
    pub(super) server: Option<u32>,
    /// Rules that find something in it.
    pub(super) finds: Vec<String>,
    /// Rules that do not.
    pub(super) lacks: Vec<String>,
}

impl Label {
    pub(super) fn markdown(&self, name: &str) -> String {
        let mut text = format!("# {name}\n\n{}\n", self.how.trim());
        let server = self.server.map(|pid| pid.to_string());
        let mut lines: Vec<(&str, &String)> = Vec::new();
        lines.extend(self.data.iter().map(|path| ("data", path)));
        lines.extend(self.wal.iter().map(|path| ("wal", path)));
        lines.extend(server.iter().map(|pid| ("server", pid)));
        lines.extend(self.finds.iter().map(|rule| ("finds", rule)));
        lines.extend(self.lacks.iter().map(|rule| ("lacks", rule)));
        if !lines.is_empty() {
            text.push('\n');
        }
        for (key, value) in lines {
            text += &format!("- {key}: {value}\n");
        }
        text
    }

    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut label = Self::default();
        for line in text.lines() {
            if let Some(item) = line.strip_prefix("- ") {
                label.add(item)?;
            } else if !line.starts_with('#') && !line.is_empty() {
                label.how += &format!("{line}\n");
            }
        }
        if ORIGINS.iter().any(|origin| label.how.starts_with(origin)) {
            return Ok(label);
        }
        let origins = ORIGINS.map(|origin| format!("{origin:?}")).join(" or ");
        Err(format!("it does not say how it was made: {origins}"))
    }

    fn add(&mut self, item: &str) -> Result<(), String> {
        let (key, value) = item
            .split_once(": ")
            .ok_or_else(|| format!("not `key: value`: {item}"))?;
        let value = value.trim().to_owned();
        match key {
            "data" => self.data = Some(value),
            "wal" => self.wal = Some(value),
            "server" => {
                let pid = value.parse::<u32>();
                self.server = Some(pid.map_err(|_| format!("no process: {value}"))?);
            }
            "finds" => self.finds.push(value),
            "lacks" => self.lacks.push(value),
            _ => return Err(format!("{key} is none of data, wal, server, finds, lacks")),
        }
        Ok(())
    }

    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(path)
            .map_err(|error| format!("{}: {error}: every fixture has a label", path.display()))?;
        Self::parse(&text).map_err(|why| format!("{}: {why}", path.display()))
    }

    /// Reads it back: a note from the command line may hold anything.
    pub(super) fn write(&self, path: &Path, name: &str) -> Result<(), String> {
        fs::write(path, self.markdown(name)).map_err(|e| format!("{}: {e}", path.display()))?;
        Self::read(path).map(drop)
    }

    /// As the collectors take it.
    pub(super) fn options(&self) -> HostOptions {
        HostOptions {
            data_directory: self.data.as_ref().map(PathBuf::from),
            wal_directory: self.wal.as_ref().map(PathBuf::from),
            server_pid: self.server,
            ..HostOptions::default()
        }
    }
}

/// The machine in a few words, the day, and the command.
pub(super) fn origin(host: &Host, arguments: &str) -> Result<String, String> {
    let date = command::read(Command::new("date").args(["-u", "+%Y-%m-%d"]))?;
    let kind = match host.virtualisation.value() {
        Some(machine) if machine.kind == "none" => "a machine without hypervisor".to_owned(),
        Some(machine) => format!("a virtual machine ({})", machine.kind),
        None => "a machine".to_owned(),
    };
    Ok(format!(
        "{kind} with {} CPUs and {} MiB of memory, Linux {}, on {}, by `cargo xtask capture {arguments}`",
        shown(&host.cpu.online),
        shown(&host.memory.total_bytes.clone().map(|bytes| bytes >> 20)),
        shown(&host.kernel_release),
        date.trim(),
    ))
}

fn shown<T: std::fmt::Display>(fact: &Fact<T>) -> String {
    fact.value().map_or("?".to_owned(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::Label;

    #[test]
    fn a_label_is_read_as_it_was_written() {
        let label = Label {
            how: "Captured from a machine.\n".to_owned(),
            data: Some("/my data".to_owned()),
            wal: None,
            server: Some(7),
            finds: vec!["a.b".to_owned(), "a.c".to_owned()],
            lacks: vec!["a.d".to_owned()],
        };
        assert_eq!(Label::parse(&label.markdown("x")), Ok(label));
    }

    #[test]
    fn a_label_without_an_origin_or_with_a_stray_line_is_refused() {
        assert!(Label::parse("# x\n\nFound somewhere.\n").is_err());
        let how = "Written by hand: x\n";
        assert!(Label::parse(how).is_ok());
        for item in ["- found: a.b", "- server: x", "- a.b"] {
            assert!(Label::parse(&format!("{how}{item}\n")).is_err(), "{item}");
        }
    }
}
