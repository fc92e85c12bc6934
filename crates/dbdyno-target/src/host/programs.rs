//! Programs that run here, by the names that the kernel keeps: database servers, and who sets the clock.

use std::collections::BTreeSet;

use dbdyno_model::Fact;
use dbdyno_model::host::TimeSync;

use super::root::Root;

const PROC: &str = "/proc";
const DATABASES: [&str; 4] = ["mariadbd", "mongod", "mysqld", "postgres"];
/// The kernel keeps fifteen characters of a name; what they stand for.
const TIME_KEEPERS: [(&str, &str); 5] = [
    ("chronyd", "chronyd"),
    ("ntpd", "ntpd"),
    ("phc2sys", "phc2sys"),
    ("ptp4l", "ptp4l"),
    ("systemd-timesyn", "systemd-timesyncd"),
];
/// systemd-timesyncd touches it whenever it has set the clock.
const TIMESYNCD_MARK: &str = "/run/systemd/timesync/synchronized";
/// A host with more has long shown every program once.
const MOST_PROCESSES: usize = 32_768;

/// Names of all processes that can be seen, each once.
pub(super) fn running(root: &Root) -> Result<BTreeSet<String>, String> {
    let pids = root
        .list(PROC)
        .map_err(|error| format!("{PROC}: {error}"))?
        .into_iter()
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
        .take(MOST_PROCESSES);
    let mut names = BTreeSet::new();
    for pid in pids {
        // A process that ended meanwhile has no name any more.
        if let Ok(name) = root.lossy_text(&format!("{PROC}/{pid}/comm")) {
            names.insert(name.trim().to_owned());
        }
    }
    // Under hidepid others' processes are missing, and with them every answer.
    if !root.exists("/proc/1/comm") || names.is_empty() {
        return Err("the processes of others are hidden from here".to_owned());
    }
    Ok(names)
}

/// Whether any fact depends on a program of this name.
pub(super) fn is_of_interest(name: &str) -> bool {
    DATABASES.contains(&name) || TIME_KEEPERS.iter().any(|(short, _)| *short == name)
}

/// The database servers among the programs.
pub(super) fn engines(running: &Result<BTreeSet<String>, String>) -> Fact<Vec<String>> {
    let found = running.as_ref().map(|names| {
        DATABASES
            .iter()
            .filter(|name| names.contains(**name))
            .map(|name| (*name).to_owned())
            .collect()
    });
    Fact::from_result(found, "/proc/*/comm")
}

/// Who sets the clock, and whether it is set.
pub(super) fn time_sync(root: &Root, running: &Result<BTreeSet<String>, String>) -> Fact<TimeSync> {
    let found = running.as_ref().map(|names| {
        let daemons: Vec<String> = TIME_KEEPERS
            .iter()
            .filter(|(short, _)| names.contains(*short))
            .map(|(_, full)| (*full).to_owned())
            .collect();
        let synchronised = match daemons.first() {
            None => Fact::unknown("nobody sets the clock", "/proc/*/comm"),
            Some(_) if daemons.iter().any(|name| name == "systemd-timesyncd") => {
                Fact::known(root.exists(TIMESYNCD_MARK), TIMESYNCD_MARK)
            }
            Some(name) => Fact::unknown(
                format!("{name} tells it only when it is asked"),
                "/proc/*/comm",
            ),
        };
        TimeSync {
            daemons,
            synchronised,
        }
    });
    Fact::from_result(found, "/proc/*/comm")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_and_time_keepers_are_told_from_the_rest() {
        let tree = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = tree.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let root = Root::new(tree.path());
        assert!(running(&root).is_err());
        write("proc/7/comm", "postgres\n");
        assert!(running(&root).unwrap_err().contains("hidden"));
        write("proc/1/comm", "systemd\n");
        write("proc/8/comm", "systemd-timesyn\n");
        write("proc/self/comm", "mongod\n");
        let names = running(&root);
        assert_eq!(engines(&names).value().unwrap(), &["postgres"]);
        let sync = time_sync(&root, &names);
        let sync = sync.value().unwrap();
        assert_eq!(sync.daemons, ["systemd-timesyncd"]);
        assert_eq!(sync.synchronised.get(), Some(false));
        write("run/systemd/timesync/synchronized", "");
        let sync = time_sync(&root, &names);
        assert_eq!(sync.value().unwrap().synchronised.get(), Some(true));
        write("proc/8/comm", "chronyd\n");
        let sync = time_sync(&root, &running(&root));
        let why = sync.value().unwrap().synchronised.why_unknown();
        assert!(why.unwrap().starts_with("chronyd tells"));
    }
}
