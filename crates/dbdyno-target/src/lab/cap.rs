//! Caps a lab server's memory with a cgroup of its own, where the kernel lets us.

use std::fs;
use std::path::{Path, PathBuf};

/// The cgroup that a lab server runs in; removed with it.
#[derive(Debug)]
pub struct Cap {
    directory: PathBuf,
}

impl Cap {
    /// Makes a cgroup below our own that holds its processes to `bytes`; or says why not.
    pub fn create(name: &str, bytes: u64) -> Result<Self, String> {
        let (parent, control) = memory_cgroup()?;
        let directory = parent.join(format!("dbdyno-{name}"));
        fs::create_dir(&directory)
            .map_err(|error| format!("cannot create {}: {error}", directory.display()))?;
        let cap = Self { directory };
        let file = cap.directory.join(control);
        fs::write(&file, bytes.to_string())
            .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
        Ok(cap)
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Moves a process into the cgroup; its children are born there.
    pub fn admit(&self, pid: u32) -> Result<(), String> {
        let file = self.directory.join("cgroup.procs");
        fs::write(&file, pid.to_string())
            .map_err(|error| format!("cannot write {}: {error}", file.display()))
    }
}

impl Drop for Cap {
    fn drop(&mut self) {
        remove(&self.directory);
    }
}

/// Removes an empty cgroup; the last processes may take a moment to leave it.
pub(super) fn remove(directory: &Path) {
    for _ in 0..50 {
        match fs::remove_dir(directory) {
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::BUSY.raw_os_error()) => {
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
            _ => return,
        }
    }
}

/// Our own memory cgroup's directory and the name of its limit's file.
fn memory_cgroup() -> Result<(PathBuf, &'static str), String> {
    let own = fs::read_to_string("/proc/self/cgroup").map_err(|error| error.to_string())?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").map_err(|error| error.to_string())?;
    if let Some(path) = own_path(&own, |controllers| {
        controllers.split(',').any(|c| c == "memory")
    }) {
        let mount = mount_point(&mounts, |kind, options| {
            kind == "cgroup" && options.split(',').any(|option| option == "memory")
        });
        let mount = mount.ok_or("the memory cgroup is not mounted")?;
        return Ok((below(&mount, path), "memory.limit_in_bytes"));
    }
    let path = own_path(&own, str::is_empty).ok_or("this system has no memory cgroup")?;
    let mount =
        mount_point(&mounts, |kind, _| kind == "cgroup2").ok_or("cgroup v2 is not mounted")?;
    let parent = below(&mount, path);
    let control = parent.join("cgroup.subtree_control");
    let enabled = fs::read_to_string(&control).unwrap_or_default();
    if !enabled
        .split_ascii_whitespace()
        .any(|controller| controller == "memory")
    {
        fs::write(&control, "+memory")
            .map_err(|error| format!("cannot enable memory in {}: {error}", control.display()))?;
    }
    Ok((parent, "memory.max"))
}

fn own_path(own: &str, wanted: impl Fn(&str) -> bool) -> Option<&str> {
    own.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        fields.next().filter(|controllers| wanted(controllers))?;
        fields.next()
    })
}

fn mount_point(mountinfo: &str, wanted: impl Fn(&str, &str) -> bool) -> Option<PathBuf> {
    mountinfo.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let mut after = after.split(' ');
        let (kind, options) = (after.next()?, after.nth(1)?);
        wanted(kind, options).then(|| before.split(' ').nth(4).map(PathBuf::from))?
    })
}

/// The cgroup under its mount; inside a namespace the mount itself stands for it.
fn below(mount: &Path, path: &str) -> PathBuf {
    let directory = mount.join(path.trim_start_matches('/'));
    if directory.is_dir() {
        directory
    } else {
        mount.to_path_buf()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_cgroups_are_read_in_both_versions() {
        let v1 = "4:memory:/jobs/7\n1:cpu:/\n0::/\n";
        assert_eq!(own_path(v1, |c| c == "memory"), Some("/jobs/7"));
        assert_eq!(
            own_path("0::/user.slice\n", str::is_empty),
            Some("/user.slice")
        );
        assert_eq!(own_path("0::/user.slice\n", |c| c == "memory"), None);
    }

    #[test]
    fn the_mount_of_a_hierarchy_is_found() {
        let mounts = "30 25 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
            31 25 0:27 / /sys/fs/cgroup/unified rw shared:9 - cgroup2 cgroup2 rw\n";
        let v1 = mount_point(mounts, |kind, options| {
            kind == "cgroup" && options.contains("memory")
        });
        assert_eq!(v1.unwrap(), Path::new("/sys/fs/cgroup/memory"));
        let v2 = mount_point(mounts, |kind, _| kind == "cgroup2");
        assert_eq!(v2.unwrap(), Path::new("/sys/fs/cgroup/unified"));
    }
}
