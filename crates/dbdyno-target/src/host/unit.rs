//! The systemd unit of a process: its files and drop-ins, and the limits that they set.

use dbdyno_model::Fact;
use dbdyno_model::host::{Unit, UnitDirective};

use super::root::{ReadError, Root};
use super::{cgroup, ini};

/// Where units and their drop-ins stand, from the one that wins to the one that loses.
const DIRECTORIES: [&str; 7] = [
    "/etc/systemd/system.control",
    "/run/systemd/system.control",
    "/etc/systemd/system",
    "/run/systemd/system",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/lib/systemd/system",
];
/// What limits a server or protects it. The rest is not ours to carry along: it may hold secrets.
pub(super) const DIRECTIVES: [&str; 12] = [
    "CPUQuota",
    "LimitMEMLOCK",
    "LimitNOFILE",
    "LimitNPROC",
    "ManagedOOMMemoryPressure",
    "ManagedOOMPreference",
    "MemoryHigh",
    "MemoryLimit",
    "MemoryMax",
    "OOMPolicy",
    "OOMScoreAdjust",
    "TasksMax",
];

/// Services that start programs of others and are no unit of theirs: a drop-in would go to these.
const STARTERS: [&str; 11] = [
    "atd",
    "containerd",
    "cron",
    "crond",
    "crio",
    "docker",
    "k3s",
    "kubelet",
    "podman",
    "ssh",
    "sshd",
];

/// The system's service that a control group's path belongs to: one of a user's own manager may bear
/// the name of one of the system's.
pub fn service(path: &str) -> Option<&str> {
    let is_users = |part: &str| part == "user.slice" || part.starts_with("user@");
    let is_starter = |part: &str| {
        part.strip_suffix(".service")
            .and_then(|stem| stem.split('@').next())
            .is_some_and(|name| STARTERS.contains(&name))
    };
    if path
        .split('/')
        .any(|part| is_users(part) || is_starter(part))
    {
        return None;
    }
    path.split('/')
        .rfind(|part| part.ends_with(".service") && part.len() > ".service".len())
}

/// The limits that one file sets.
pub fn directives(text: &str, file: &str) -> Vec<UnitDirective> {
    ini::entries(text)
        .into_iter()
        .filter(|entry| entry.section == "Service")
        .filter(|entry| DIRECTIVES.contains(&entry.name.as_str()))
        .map(|entry| UnitDirective {
            name: entry.name,
            value: entry.value,
            file: file.to_owned(),
            line: entry.line,
        })
        .collect()
}

/// The template of an instance: `postgresql@15-main.service` is made from `postgresql@.service`.
fn template(unit: &str) -> Option<String> {
    let (prefix, rest) = unit.split_once('@')?;
    let (instance, kind) = rest.rsplit_once('.')?;
    (!instance.is_empty()).then(|| format!("{prefix}@.{kind}"))
}

/// A unit's name and those that its drop-ins may also stand under: `a-b.service`, `a-.service`.
fn names(unit: &str) -> Vec<String> {
    let mut names = vec![unit.to_owned()];
    if let Some((stem, kind)) = unit.rsplit_once('.') {
        // The instance is no part of the prefix.
        let prefix = stem.split('@').next().unwrap_or(stem);
        let dashes = prefix.match_indices('-').map(|(at, _)| at);
        let mut shorter: Vec<String> = dashes
            .filter(|at| *at + 1 < stem.len())
            .map(|at| format!("{}.{kind}", &prefix[..=at]))
            .collect();
        shorter.reverse();
        names.extend(shorter);
    }
    names
}

/// Directories of drop-ins, from the one that wins to the one that loses.
fn drop_in_directories(unit: &str) -> Vec<String> {
    let mut directories = Vec::new();
    for place in DIRECTORIES {
        for name in names(unit).into_iter().chain(template(unit)) {
            directories.push(format!("{place}/{name}.d"));
        }
    }
    for place in DIRECTORIES {
        directories.push(format!("{place}/service.d"));
    }
    directories
}

/// `process` is `self` or a number.
pub(super) fn collect(root: &Root, process: &str) -> Fact<Unit> {
    let path = format!("/proc/{process}/cgroup");
    let groups = match root.text(&path) {
        Ok(text) => cgroup::memberships(&text),
        Err(error) => return Fact::unknown(error.to_string(), path),
    };
    let Some(name) = groups.iter().find_map(|group| service(&group.path)) else {
        return Fact::unknown("no systemd service started it", path);
    };
    match files(root, name) {
        Ok(directives) => {
            let unit = Unit {
                name: name.to_owned(),
                directives,
            };
            Fact::known(unit, format!("systemd unit {name}"))
        }
        Err(why) => Fact::unknown(why, format!("systemd unit {name}")),
    }
}

fn files(root: &Root, unit: &str) -> Result<Vec<UnitDirective>, String> {
    let candidates = [Some(unit.to_owned()), template(unit)];
    let main = candidates.into_iter().flatten().find_map(|name| {
        DIRECTORIES
            .iter()
            .map(|directory| format!("{directory}/{name}"))
            .find(|path| root.exists(path))
    });
    let drop_ins = ini::merged(root, &drop_in_directories(unit));
    if main.is_none() && drop_ins.is_empty() {
        return Err(format!("no file of {unit} is visible here"));
    }
    let mut found = Vec::new();
    for path in main.into_iter().chain(drop_ins) {
        match root.lossy_text(&path) {
            Ok(text) => found.extend(directives(&text, &path)),
            Err(error @ ReadError::Denied) => return Err(format!("{path}: {error}")),
            // Empty, gone meanwhile, or masked by a link to /dev/null: it sets nothing.
            Err(_) => {}
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_service_stands_in_the_path() {
        let path = "/system.slice/system-postgresql.slice/postgresql@15-main.service";
        assert_eq!(service(path), Some("postgresql@15-main.service"));
        assert_eq!(service("/system.slice/a.service/child"), Some("a.service"));
        assert_eq!(service("/user.slice/session-2.scope"), None);
        assert_eq!(service("/.service"), None);
    }

    #[test]
    fn who_started_a_server_by_hand_or_in_a_container_is_not_its_unit() {
        for path in [
            "/user.slice/user-1000.slice/user@1000.service/app.slice/postgresql.service",
            "/user.slice/user-1000.slice/user@1000.service",
            "/user@1000.service/app.slice/postgresql.service",
            "/system.slice/cron.service",
            "/system.slice/ssh@3-192.0.2.1:22-192.0.2.7:5000.service",
            "/system.slice/docker.service/docker/0a1b",
            "/system.slice/k3s.service/kubepods/pod1",
        ] {
            assert_eq!(service(path), None, "{path}");
        }
        let path = "/system.slice/cronicle.service";
        assert_eq!(service(path), Some("cronicle.service"));
    }

    #[test]
    fn drop_ins_are_looked_for_under_shorter_names_and_the_template() {
        assert_eq!(
            names("a-b-c.service"),
            ["a-b-c.service", "a-b-.service", "a-.service"]
        );
        assert_eq!(names("postgresql@15-main.service").len(), 1);
        assert_eq!(
            template("postgresql@15-main.service").as_deref(),
            Some("postgresql@.service")
        );
        assert_eq!(template("a.service"), None);
        assert_eq!(template("a@.service"), None);
    }

    #[test]
    fn only_limits_are_kept() {
        let text = "[Unit]\nLimitNOFILE=1\n[Service]\nEnvironment=PGPASSWORD=secret\nLimitNOFILE=1024:4096\nOOMScoreAdjust=-900\n";
        let read = directives(text, "/f");
        assert_eq!(read.len(), 2);
        assert_eq!((read[0].value.as_str(), read[0].line), ("1024:4096", 5));
    }
}
