//! This host deliberately mis-set, for one process alone: in a mount namespace and a control group of its own.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::process::parent_id;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use dbdyno_target::lab::Cap;

use super::label::Label;
use super::{fixture, host, leaving_out, mounts, own_program};
use crate::command;

/// The word for a process that its control group limits.
pub(super) const LIMITED: &str = "limited";
const UNLIMITED: &str = "unlimited";

/// Enough for the capture, and less than any machine has.
const LIMIT_BYTES: u64 = 1 << 30;

/// Only root writes there; a tmpfs of the namespace lies over it, so that nothing of ours outlives it.
const PLACE: &str = "/run/dbdyno-capture";
const DISK_BYTES: u64 = 64 << 20;
const SECTOR_BYTES: u64 = 512;
/// Where partitions began in the days of cylinders.
const START_SECTOR: u64 = 63;
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// What the kernel seems to say.
const VALUES: [(&str, &str); 8] = [
    ("/proc/sys/vm/dirty_bytes", "8589934592\n"),
    ("/proc/sys/vm/dirty_ratio", "0\n"),
    ("/proc/sys/vm/dirty_writeback_centisecs", "0\n"),
    ("/proc/sys/vm/overcommit_memory", "1\n"),
    ("/proc/sys/vm/swappiness", "100\n"),
    ("/proc/sys/vm/zone_reclaim_mode", "1\n"),
    (
        "/sys/devices/system/clocksource/clocksource0/current_clocksource",
        "hpet\n",
    ),
    (
        "/sys/kernel/mm/transparent_hugepage/enabled",
        "[always] madvise never\n",
    ),
];
/// And what its files say, beside each other.
const SYSCTL_DIRECTORY: &str = "/etc/sysctl.d";
const SYSCTL_LINES: &str = "vm.swappiness = 1\nvm.dirty_ratio = 40\nvm.dirty_bytes = 8589934592\n\
                            kernel.sched_migration_cost_ns = 5000000\n";

/// Rules that find it without any server.
const PLANTED: [&str; 9] = [
    "filesystem.access_time",
    "filesystem.write_barriers",
    "hardware.partition_alignment",
    "kernel.clocksource",
    "kernel.dead_sysctls",
    "kernel.dirty_both_forms",
    "kernel.dirty_limits",
    "kernel.dirty_order",
    "kernel.sysctl_drift",
];
const PLANTED_BY_LIMIT: &str = "container.memory_limit";

/// Runs this program again in a mount namespace, and in a limited control group where the kernel lets us.
pub(super) fn start(name: &str, left_out: &[&str]) -> Result<(), String> {
    // It goes last, once the child has left it.
    let cap = Cap::create("capture", LIMIT_BYTES);
    let limited = match &cap {
        Ok(_) => LIMITED,
        Err(why) => {
            println!("captured without a limit on memory: {why}");
            UNLIMITED
        }
    };
    // The shell waits until it is in its control group.
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", r#"read -r go && exec "$0" "$@""#])
        .args(["unshare", "--mount", "--propagation", "private", "--"])
        .arg(own_program()?)
        .args(["capture", "mis-set", name, limited])
        .args(leaving_out(left_out))
        .stdin(Stdio::piped());
    let child = command.spawn();
    let mut child = child.map_err(|error| format!("cannot run /bin/sh: {error}"))?;
    let admitted = match &cap {
        Ok(cap) => cap.admit(child.id()),
        Err(_) => Ok(()),
    };
    let sent = admitted.and_then(|()| go(&mut child));
    // Without the word it ends by itself.
    drop(child.stdin.take());
    let status = child.wait().map_err(|error| error.to_string())?;
    sent?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("the capture in its own mount namespace: {status}"))
    }
}

fn go(child: &mut Child) -> Result<(), String> {
    let stdin = child.stdin.as_mut().ok_or("no standard input")?;
    stdin.write_all(b"go\n").map_err(|error| error.to_string())
}

/// Mis-sets and captures; everything that was set goes with this process.
pub(super) fn run(name: &str, is_limited: bool, left_out: &[&str]) -> Result<(), String> {
    in_own_namespace()?;
    let place = Place::make()?;
    for (number, (path, value)) in VALUES.iter().enumerate() {
        let file = place.file(&format!("value-{number}"), value)?;
        bind(&file, path)?;
    }
    let directory = Path::new(PLACE).join("sysctl.d");
    fs::create_dir(&directory).map_err(|e| format!("{}: {e}", directory.display()))?;
    place.file("sysctl.d/90-planted.conf", SYSCTL_LINES)?;
    bind(&directory, SYSCTL_DIRECTORY)?;
    let disk = Disk::mount()?;
    let limit = is_limited.then_some(PLANTED_BY_LIMIT);
    let label = Label {
        how: "Mis-set on purpose: files bound over /proc/sys, /sys and /etc/sysctl.d in a mount \
              namespace of\nits own, ext4 without barriers and with strict access times on a \
              partition of a loop device that\nbegins at sector 63, and a control group with a \
              limit on memory where the kernel has one to give.\nThe binds themselves are left \
              out of the mount table.\n"
            .to_owned(),
        data: Some(disk.mount_point()?),
        finds: PLANTED
            .into_iter()
            .chain(limit)
            .map(str::to_owned)
            .collect(),
        ..Label::default()
    };
    host::capture(name, label, "all", left_out)?;
    mounts::leave_out(&fixture("hosts", name)?, is_bound)
}

/// Whoever started this must not see what is bound here.
fn in_own_namespace() -> Result<(), String> {
    let namespace = |process: &str| {
        let link = format!("/proc/{process}/ns/mnt");
        fs::read_link(&link).map_err(|error| format!("{link}: {error}"))
    };
    if namespace("self")? == namespace(&parent_id().to_string())? {
        return Err("run cargo xtask capture all, which makes a mount namespace for this".into());
    }
    Ok(())
}

fn bind(from: &Path, to: &str) -> Result<(), String> {
    tool("mount", |mount| mount.arg("--bind").arg(from).arg(to)).map(drop)
}

fn tool(
    name: &str,
    arguments: impl for<'a> FnOnce(&'a mut Command) -> &'a mut Command,
) -> Result<String, String> {
    let mut command = Command::new(name);
    arguments(&mut command);
    command::read(&mut command)
}

/// A tmpfs in the namespace.
struct Place;

impl Place {
    fn make() -> Result<Self, String> {
        fs::create_dir_all(PLACE).map_err(|error| format!("{PLACE}: {error}"))?;
        tool("mount", |mount| {
            mount.args(["-t", "tmpfs", "-o", "mode=0755", "tmpfs", PLACE])
        })?;
        Ok(Self)
    }

    fn file(&self, name: &str, text: &str) -> Result<PathBuf, String> {
        let path = Path::new(PLACE).join(name);
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(path)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // The files in it may still be bound; the namespace takes them along.
        let _ = tool("umount", |umount| umount.args(["--lazy", PLACE]));
        let _ = fs::remove_dir(PLACE);
    }
}

/// A loop device with a partition that begins off its boundary.
struct Disk {
    device: String,
    /// From then on the kernel detaches the device once it is unmounted, however we end.
    is_mounted: bool,
}

impl Disk {
    fn mount() -> Result<Self, String> {
        let image = Path::new(PLACE).join("disk");
        File::create(&image)
            .and_then(|file| file.set_len(DISK_BYTES))
            .map_err(|error| format!("{}: {error}", image.display()))?;
        let device = tool("losetup", |losetup| {
            losetup.args(["--find", "--show", "--partscan"]).arg(&image)
        })?;
        let mut disk = Self {
            device: device.trim().to_owned(),
            is_mounted: false,
        };
        let sectors = DISK_BYTES / SECTOR_BYTES - START_SECTOR;
        tool("addpart", |addpart| {
            addpart
                .args([disk.device.as_str(), "1"])
                .args([START_SECTOR.to_string(), sectors.to_string()])
        })?;
        let partition = format!("{}p1", disk.device);
        wait_for(Path::new(&partition))?;
        tool("mkfs.ext4", |mkfs| mkfs.args(["-q", "-F", &partition]))?;
        let point = disk.mount_point()?;
        fs::create_dir(&point).map_err(|error| format!("{point}: {error}"))?;
        let options = "barrier=0,strictatime";
        tool("mount", |mount| {
            mount.args(["-t", "ext4", "-o", options, &partition, &point])
        })?;
        disk.is_mounted = true;
        tool("losetup", |losetup| {
            losetup.args(["--detach", &disk.device])
        })?;
        Ok(disk)
    }

    fn mount_point(&self) -> Result<String, String> {
        let point = Path::new(PLACE).join("data");
        let text = point.to_str().map(str::to_owned);
        text.ok_or_else(|| format!("{} is not text", point.display()))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Once mounted, its number may be another device's as soon as it is unmounted.
        let _ = if self.is_mounted {
            let point = self.mount_point().unwrap_or_default();
            tool("umount", |umount| umount.arg(point))
        } else {
            tool("losetup", |losetup| {
                losetup.args(["--detach", &self.device])
            })
        };
    }
}

fn wait_for(path: &Path) -> Result<(), String> {
    let begin = Instant::now();
    while !path.exists() {
        if begin.elapsed() > LONGEST_WAIT {
            return Err(format!("{} does not appear", path.display()));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// The binds, and the tmpfs that holds what they bind.
fn is_bound(point: &str) -> bool {
    let ours = [SYSCTL_DIRECTORY, PLACE];
    ours.contains(&point) || VALUES.iter().any(|(path, _)| *path == point)
}

#[cfg(test)]
mod tests {
    use super::{PLANTED, PLANTED_BY_LIMIT, is_bound};

    #[test]
    fn only_our_own_mounts_are_taken_out() {
        assert!(is_bound("/proc/sys/vm/swappiness") && is_bound("/etc/sysctl.d"));
        assert!(!is_bound("/run/dbdyno-capture/data") && !is_bound("/sys/fs/cgroup"));
    }

    #[test]
    fn every_planted_rule_exists() {
        let rules = dbdyno_rules::catalogue();
        for planted in PLANTED.into_iter().chain([PLANTED_BY_LIMIT]) {
            assert!(rules.iter().any(|rule| rule.id == planted), "{planted}");
        }
    }
}
