//! Files of sysctl.d: who sets which kernel setting at boot, in the order in which systemd applies them.

use dbdyno_model::Fact;
use dbdyno_model::host::SysctlLine;

use super::ini;
use super::root::{ReadError, Root};

/// From the one that wins to the one that loses.
const DIRECTORIES: [&str; 5] = [
    "/etc/sysctl.d",
    "/run/sysctl.d",
    "/usr/local/lib/sysctl.d",
    "/usr/lib/sysctl.d",
    "/lib/sysctl.d",
];
/// The others say nothing about a database, and some hold names of hosts and networks.
const PREFIXES: [&str; 10] = [
    "vm.",
    "fs.",
    "net.core.",
    "net.ipv4.tcp_",
    "kernel.sched_",
    "kernel.shm",
    "kernel.sem",
    "kernel.numa_balancing",
    "kernel.pid_max",
    "kernel.threads-max",
];
/// More lines are a generated file that nobody wrote for this host.
const MOST_LINES: usize = 4096;

/// The name with dots, however its file separates the parts; a leading hyphen only forgives failures.
pub fn sysctl_name(name: &str) -> String {
    let name = name.trim().trim_start_matches('-').trim();
    let first = name.find(['.', '/']);
    match first.and_then(|at| name.as_bytes().get(at)) {
        Some(b'/') => name
            .chars()
            .map(|character| match character {
                '/' => '.',
                '.' => '/',
                other => other,
            })
            .collect(),
        _ => name.to_owned(),
    }
}

/// The settings of one file that bear on a database.
pub fn sysctl_lines(text: &str, file: &str) -> Vec<SysctlLine> {
    ini::entries(text)
        .into_iter()
        .map(|entry| SysctlLine {
            name: sysctl_name(&entry.name),
            value: entry.value,
            file: file.to_owned(),
            line: entry.line,
        })
        .filter(|line| is_of_interest(&line.name))
        .collect()
}

/// Whether a sysctl bears on a database.
pub(super) fn is_of_interest(name: &str) -> bool {
    PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

pub(super) fn collect(root: &Root) -> Fact<Vec<SysctlLine>> {
    let origin = "/etc/sysctl.d, /run/sysctl.d, /usr/lib/sysctl.d";
    if !root.exists("/etc") {
        return Fact::unknown("/etc: no such directory", origin);
    }
    let directories = DIRECTORIES.map(str::to_owned);
    let mut lines = Vec::new();
    for path in ini::merged(root, &directories) {
        match root.lossy_text(&path) {
            Ok(text) => lines.extend(sysctl_lines(&text, &path)),
            Err(error @ ReadError::Denied) => {
                return Fact::unknown(format!("{path}: {error}"), origin);
            }
            // Empty, gone meanwhile, or masked by a link to /dev/null: it sets nothing.
            Err(_) => {}
        }
    }
    lines.truncate(MOST_LINES);
    Fact::known(lines, origin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_with_dots() {
        assert_eq!(sysctl_name("vm.swappiness "), "vm.swappiness");
        assert_eq!(sysctl_name("-vm/swappiness"), "vm.swappiness");
        assert_eq!(
            sysctl_name("net/ipv4/conf/enp3s0.200/forwarding"),
            "net.ipv4.conf.enp3s0/200.forwarding"
        );
        assert_eq!(sysctl_name(""), "");
    }

    #[test]
    fn only_what_bears_on_a_database_is_kept() {
        let text = "# vm.swappiness=1\nvm/swappiness = 10\nkernel.hostname=db1\n-kernel.sem=1 2 3 4\nvm.dirty_ratio\n";
        let read = sysctl_lines(text, "/etc/sysctl.d/a.conf");
        assert_eq!(read.len(), 2);
        assert_eq!(read[0].name, "vm.swappiness");
        assert_eq!(read[0].place(), "/etc/sysctl.d/a.conf:2");
        assert_eq!(
            (read[1].name.as_str(), read[1].value.as_str()),
            ("kernel.sem", "1 2 3 4")
        );
    }
}
