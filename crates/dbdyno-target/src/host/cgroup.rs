//! The control groups above a process, in both versions of the hierarchy, and the limits they set.

mod state;

use std::collections::BTreeSet;

use dbdyno_model::host::{CpuQuota, MemoryLimit, Throttling};

use super::mounts::{self, Mount};
use super::root::Root;
use super::text;

pub(super) use state::collect as states;

/// v1 writes "unlimited" as the largest multiple of the page size below 2^63; no machine has 2^62 bytes.
const UNLIMITED_BYTES: u64 = 1 << 62;
/// The kernel has a dozen controllers, and an administrator may name a few hierarchies more.
const MOST_GROUPS: usize = 64;
/// Deeper trees do not occur, and each level costs a few reads.
const DEEPEST: usize = 256;
/// The inode number that the kernel gives to the first cgroup namespace.
const FIRST_NAMESPACE: &str = "cgroup:[4026531835]";

/// One line of /proc/PID/cgroup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Membership {
    /// v1's controllers (`cpu`, `cpuacct`); empty in v2.
    pub controllers: Vec<String>,
    pub path: String,
}

impl Membership {
    fn is_v2(&self) -> bool {
        self.controllers.is_empty()
    }
}

/// The groups of a process; a line that does not parse is left out.
pub fn memberships(text: &str) -> Vec<Membership> {
    text.lines()
        .filter_map(|line| {
            let mut fields = line.splitn(3, ':');
            fields.next()?.parse::<u32>().ok()?;
            let controllers = fields.next()?;
            let path = fields.next().filter(|path| path.starts_with('/'))?;
            Some(Membership {
                controllers: controllers
                    .split(',')
                    .filter(|name| !name.is_empty())
                    .map(str::to_owned)
                    .collect(),
                path: path.strip_suffix(" (deleted)").unwrap_or(path).to_owned(),
            })
        })
        .take(MOST_GROUPS)
        .collect()
}

/// A limit in bytes; `None` is unlimited.
pub fn byte_limit(text: &str) -> Result<Option<u64>, String> {
    if text.trim() == "max" {
        return Ok(None);
    }
    let bytes: u64 = text::number(text)?;
    Ok((bytes < UNLIMITED_BYTES).then_some(bytes))
}

/// v2's `cpu.max`, in CPUs; `None` is unlimited.
pub fn cpu_max(text: &str) -> Result<Option<f64>, String> {
    let mut words = text.split_whitespace();
    match (words.next(), words.next()) {
        (Some("max"), _) => Ok(None),
        (Some(quota), Some(period)) => cpus(text::number(quota)?, text::number(period)?).map(Some),
        _ => Err(format!("neither quota nor max: {}", text::quoted(text))),
    }
}

fn cpus(quota_us: u64, period_us: u64) -> Result<f64, String> {
    if quota_us == 0 || period_us == 0 {
        return Err(format!("no share of time: {quota_us} µs in {period_us} µs"));
    }
    Ok(quota_us as f64 / period_us as f64)
}

/// One counter of a file with `name value` lines, such as `cpu.stat` or `memory.events`.
pub fn counter(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(' ')?;
        (key == name).then(|| value.trim().parse().ok())?
    })
}

/// Throttling since the group was made; `None` where the group has no CPU controller.
pub fn throttling(text: &str) -> Option<Throttling> {
    Some(Throttling {
        periods: counter(text, "nr_periods")?,
        throttled: counter(text, "nr_throttled")?,
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    V1,
    V2,
}

/// The directories of one hierarchy, from the process's own group up to the mount point.
#[derive(Debug)]
struct Branch {
    version: Version,
    directories: Vec<String>,
}

/// The groups above one process that can govern one controller.
#[derive(Debug)]
pub(super) struct Groups<'a> {
    root: &'a Root,
    branches: Vec<Branch>,
}

impl<'a> Groups<'a> {
    /// `process` is `self` or a number.
    pub(super) fn find(root: &'a Root, process: &str, controller: &str) -> Result<Self, String> {
        let path = format!("/proc/{process}/cgroup");
        // The mount points must be the ones that we can open, whoever the process is.
        let mounts = mounts::read(root, "self")?;
        let memberships = match root.text(&path) {
            Ok(text) => memberships(&text),
            // Our own list is missing only where the kernel knows no control groups.
            Err(error) if error.is_missing() && process == "self" => {
                return Ok(Self {
                    root,
                    branches: Vec::new(),
                });
            }
            Err(error) => return Err(format!("{path}: {error}")),
        };
        if memberships.is_empty() {
            return Err(format!("{path}: it names no group"));
        }
        let mut branches = Vec::new();
        for membership in &memberships {
            let governs = membership.controllers.iter().any(|name| name == controller);
            if !governs && !membership.is_v2() {
                continue;
            }
            if let Some(branch) = branch(&mounts, membership, controller)? {
                branches.push(branch);
            } else if governs {
                return Err(format!(
                    "{path}: the {controller} hierarchy is not mounted here"
                ));
            }
        }
        // Without any mount, only the first namespace's root is sure to be without limits.
        let unseen = branches.is_empty()
            && memberships.iter().any(|membership| {
                membership.is_v2() && !(membership.path == "/" && in_first_namespace(root, process))
            });
        if unseen {
            return Err("no cgroup file system is mounted here".into());
        }
        Ok(Self { root, branches })
    }

    fn each(&self, version: Version) -> impl Iterator<Item = &str> {
        self.branches
            .iter()
            .filter(move |branch| branch.version == version)
            .flat_map(|branch| branch.directories.iter().map(String::as_str))
    }

    /// A file of one group; `None` where it does not exist, which means no limit.
    fn value<T>(
        &self,
        directory: &str,
        file: &str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Option<T>, String> {
        let path = format!("{directory}/{file}");
        match self.root.text(&path) {
            Ok(text) => parse(&text)
                .map(Some)
                .map_err(|error| format!("{path}: {error}")),
            Err(error) if error.is_missing() => Ok(None),
            Err(error) => Err(format!("{path}: {error}")),
        }
    }

    /// Every memory limit from the process's own group to the top.
    pub(super) fn memory_limits(&self) -> Result<Vec<MemoryLimit>, String> {
        let mut limits: Vec<MemoryLimit> = Vec::new();
        let v1 = self
            .each(Version::V1)
            .map(|group| (group, "memory.limit_in_bytes"));
        let v2 = self
            .each(Version::V2)
            .flat_map(|group| [(group, "memory.max"), (group, "memory.high")]);
        for (group, control) in v1.chain(v2) {
            if let Some(bytes) = self.value(group, control, byte_limit)?.flatten() {
                limits.push(MemoryLimit {
                    cgroup: group.to_owned(),
                    control: control.to_owned(),
                    bytes,
                });
            }
        }
        // v1 also knows the lowest limit above the group, including groups that a container cannot see.
        if let Some(own) = self.each(Version::V1).next() {
            let name = "hierarchical_memory_limit";
            let lowest = self
                .value(own, "memory.stat", |text| Ok(counter(text, name)))?
                .flatten()
                .filter(|bytes| *bytes < UNLIMITED_BYTES);
            if let Some(bytes) = lowest
                && limits.iter().all(|limit| limit.bytes > bytes)
            {
                limits.push(MemoryLimit {
                    cgroup: own.to_owned(),
                    control: format!("memory.stat {name}"),
                    bytes,
                });
            }
        }
        Ok(limits)
    }

    /// Every CPU quota from the process's own group to the top.
    pub(super) fn cpu_quotas(&self) -> Result<Vec<CpuQuota>, String> {
        let mut quotas = Vec::new();
        for group in self.each(Version::V1) {
            let quota = self.value(group, "cpu.cfs_quota_us", text::number::<i64>)?;
            // -1 is v1's word for no quota.
            let Some(Ok(quota)) = quota.map(u64::try_from) else {
                continue;
            };
            let period = self.value(group, "cpu.cfs_period_us", text::number)?;
            let period =
                period.ok_or_else(|| format!("{group}/cpu.cfs_period_us: no such file"))?;
            quotas.push(CpuQuota {
                cgroup: group.to_owned(),
                cpus: cpus(quota, period).map_err(|error| format!("{group}: {error}"))?,
            });
        }
        for group in self.each(Version::V2) {
            if let Some(cpus) = self.value(group, "cpu.max", cpu_max)?.flatten() {
                quotas.push(CpuQuota {
                    cgroup: group.to_owned(),
                    cpus,
                });
            }
        }
        Ok(quotas)
    }

    /// The nearest group's CPU set; `None` where no group restricts them.
    pub(super) fn cpuset(&self) -> Result<Option<BTreeSet<u32>>, String> {
        let files = [
            "cpuset.cpus.effective",
            "cpuset.effective_cpus",
            "cpuset.cpus",
        ];
        for branch in &self.branches {
            for group in &branch.directories {
                for file in files {
                    match self.root.text(&format!("{group}/{file}")) {
                        Ok(text) => {
                            return text::cpu_list(&text)
                                .map(Some)
                                .map_err(|error| format!("{group}/{file}: {error}"));
                        }
                        // An empty set inherits the one above.
                        Err(error) if error.is_missing() => {}
                        Err(super::root::ReadError::Empty) => {}
                        Err(error) => return Err(format!("{group}/{file}: {error}")),
                    }
                }
            }
        }
        Ok(None)
    }

    /// The first group upwards that keeps a figure, and where it stands.
    fn nearest<T>(
        &self,
        file: impl Fn(Version) -> &'static str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<(T, String), String> {
        for branch in &self.branches {
            let file = file(branch.version);
            for group in &branch.directories {
                let figure = self.value(group, file, |text| Ok(read(text)))?.flatten();
                if let Some(figure) = figure {
                    return Ok((figure, format!("{group}/{file}")));
                }
            }
        }
        Err("no control group of this process counts it".into())
    }

    pub(super) fn throttling(&self) -> Result<(Throttling, String), String> {
        self.nearest(|_| "cpu.stat", throttling)
    }

    pub(super) fn oom_kills(&self) -> Result<(u64, String), String> {
        let file = |version| match version {
            Version::V1 => "memory.oom_control",
            Version::V2 => "memory.events",
        };
        self.nearest(file, |text| counter(text, "oom_kill"))
    }
}

fn in_first_namespace(root: &Root, process: &str) -> bool {
    root.link(&format!("/proc/{process}/ns/cgroup")).as_deref() == Some(FIRST_NAMESPACE)
}

fn branch(
    mounts: &[Mount],
    membership: &Membership,
    controller: &str,
) -> Result<Option<Branch>, String> {
    let version = if membership.is_v2() {
        Version::V2
    } else {
        Version::V1
    };
    let fits = |mount: &&Mount| match version {
        Version::V2 => mount.filesystem == "cgroup2",
        Version::V1 => {
            mount.filesystem == "cgroup"
                && mount
                    .super_options
                    .iter()
                    .any(|option| option == controller)
        }
    };
    // Several mounts may show parts of one hierarchy; the one that shows most of our path serves best.
    let best = mounts
        .iter()
        .filter(fits)
        .filter(|mount| below(&mount.root, &membership.path).is_some())
        .min_by_key(|mount| mount.root.len());
    let Some(mount) = best.or_else(|| mounts.iter().find(fits)) else {
        return Ok(None);
    };
    if membership.path.split('/').any(|part| part == "..") {
        return Err(format!(
            "control group {} lies outside the namespace that is visible here",
            membership.path
        ));
    }
    // A mount of some other part of the tree is, in a container, the container's own group.
    let relative = below(&mount.root, &membership.path).unwrap_or_default();
    Ok(Some(Branch {
        version,
        directories: upwards(&mount.mount_point, relative),
    }))
}

/// The part of a path below a mount's root.
fn below<'a>(root: &str, path: &'a str) -> Option<&'a str> {
    let rest = path.strip_prefix(root.trim_end_matches('/'))?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

/// The directory of a group and all above it, to the mount point.
fn upwards(mount_point: &str, relative: &str) -> Vec<String> {
    let mut directories = vec![mount_point.to_owned()];
    let mut directory = mount_point.to_owned();
    for part in relative
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .take(DEEPEST)
    {
        directory.push('/');
        directory.push_str(part);
        directories.push(directory.clone());
    }
    directories.reverse();
    directories
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read() {
        let memberships =
            memberships("4:cpu,cpuacct:/a:b\n9:name=systemd:/\n0::/x (deleted)\nbad\n1:x\n");
        assert_eq!(memberships.len(), 3);
        assert_eq!(memberships[0].controllers, ["cpu", "cpuacct"]);
        assert_eq!(memberships[0].path, "/a:b");
        assert!(memberships[2].is_v2());
        assert_eq!(memberships[2].path, "/x");

        assert_eq!(byte_limit("max\n"), Ok(None));
        assert_eq!(byte_limit("9223372036854771712"), Ok(None));
        assert_eq!(byte_limit("9223372036854710272"), Ok(None));
        assert_eq!(byte_limit("1073741824\n"), Ok(Some(1 << 30)));
        assert!(byte_limit("").is_err());

        assert_eq!(cpu_max("max 100000\n"), Ok(None));
        assert_eq!(cpu_max("150000 100000\n"), Ok(Some(1.5)));
        assert!(cpu_max("150000").is_err());
        assert!(cpu_max("150000 0").is_err());

        let stat = "usage_usec 5\nnr_periods 10\nnr_throttled 3\nthrottled_usec 9\n";
        let read = throttling(stat).unwrap();
        assert_eq!((read.periods, read.throttled), (10, 3));
        assert_eq!(throttling("usage_usec 5\n"), None);
        assert_eq!(counter("oom 1\noom_kill 2\n", "oom_kill"), Some(2));
    }

    #[test]
    fn a_group_is_placed_under_the_mount_that_shows_it() {
        assert_eq!(below("/", "/a/b"), Some("/a/b"));
        assert_eq!(below("/docker/1", "/docker/1"), Some(""));
        assert_eq!(below("/docker/1", "/docker/12"), None);
        assert_eq!(below("/docker/1", "/docker/1/x"), Some("/x"));
        assert_eq!(upwards("/m", "/a/b"), ["/m/a/b", "/m/a", "/m"]);
        assert_eq!(upwards("/m", "/"), ["/m"]);
    }
}
