//! Space in file systems, which only a system call on the running machine tells.

use std::path::Path;

use dbdyno_model::Fact;

use super::mounts::{self, Mount};
use super::root::Root;
use super::text;

const CAPTURED: &str = "only the running machine tells it, this is a captured tree";

#[derive(Debug)]
pub(super) struct Space {
    pub(super) total_bytes: Fact<u64>,
    pub(super) free_bytes: Fact<u64>,
    pub(super) total_inodes: Fact<u64>,
    pub(super) free_inodes: Fact<u64>,
    pub(super) block_bytes: Fact<u64>,
}

/// The space of the file system that holds a path as this process sees it.
pub(super) fn of_path(root: &Root, path: &Path) -> Space {
    let origin = format!("statvfs {}", path.display());
    let numbers = root.call(&origin, || {
        let stat = rustix::fs::statvfs(path).map_err(|errno| errno.to_string())?;
        Ok(vec![
            stat.f_frsize,
            stat.f_blocks,
            stat.f_bavail,
            stat.f_files,
            stat.f_favail,
        ])
    });
    let result = numbers
        .unwrap_or_else(|| Err(CAPTURED.to_owned()))
        .and_then(|numbers| Stat::read(&numbers));
    let fact = |figure: fn(&Stat) -> Result<u64, String>| {
        let stat = result.as_ref().map_err(String::clone);
        Fact::from_result(stat.and_then(figure), &*origin)
    };
    Space {
        total_bytes: fact(|stat| bytes(stat.blocks, stat.block_bytes)),
        free_bytes: fact(|stat| bytes(stat.available, stat.block_bytes)),
        // btrfs and others make inodes as they go and report none at all.
        total_inodes: fact(|stat| Ok(stat.inodes)),
        free_inodes: fact(|stat| Ok(stat.free_inodes)),
        block_bytes: fact(|stat| Ok(stat.block_bytes)),
    }
}

/// What statvfs says of a file system, as far as it is used.
struct Stat {
    block_bytes: u64,
    blocks: u64,
    available: u64,
    inodes: u64,
    free_inodes: u64,
}

impl Stat {
    fn read(numbers: &[u64]) -> Result<Self, String> {
        let [block_bytes, blocks, available, inodes, free_inodes] = *numbers else {
            return Err(format!("{} numbers of statvfs, not 5", numbers.len()));
        };
        Ok(Self {
            block_bytes,
            blocks,
            available,
            inodes,
            free_inodes,
        })
    }
}

fn bytes(blocks: u64, block_bytes: u64) -> Result<u64, String> {
    blocks
        .checked_mul(block_bytes)
        .ok_or_else(|| format!("{blocks} blocks of {block_bytes} bytes are beyond belief"))
}

/// The size of /dev/shm where the server sees it.
pub(super) fn dev_shm(root: &Root, process: &str) -> Fact<u64> {
    const PATH: &str = "/dev/shm";
    let mounts = match mounts::read(root, process) {
        Ok(mounts) => mounts,
        Err(why) => return Fact::unknown(why, PATH),
    };
    let Some(mount) = mounts.iter().rfind(|mount| mount.mount_point == PATH) else {
        return Fact::unknown("nothing is mounted there", PATH);
    };
    if root.answers(&format!("statvfs {PATH}")) && is_ours(root, process, mount) {
        return of_path(root, Path::new(PATH)).total_bytes;
    }
    let origin = format!("/proc/{process}/mountinfo {PATH}");
    let size = mount
        .super_options
        .iter()
        .find_map(|option| option.strip_prefix("size="))
        .ok_or_else(|| "the mount options do not name its size".to_owned())
        .and_then(size);
    Fact::from_result(size, origin)
}

/// Whether a process's mount is also in our own name space, at the same place.
pub(super) fn is_ours(root: &Root, process: &str, mount: &Mount) -> bool {
    process == "self"
        || mounts::read(root, "self").is_ok_and(|ours| {
            ours.iter()
                .rfind(|own| own.mount_point == mount.mount_point)
                .is_some_and(|own| {
                    (own.major, own.minor, &own.root) == (mount.major, mount.minor, &mount.root)
                })
        })
}

/// A size as tmpfs writes it: `65536k`.
pub fn size(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1 << 10),
        None => match text.strip_suffix(['m', 'M']) {
            Some(digits) => (digits, 1 << 20),
            None => (text, 1),
        },
    };
    let number: u64 = text::number(digits)?;
    number
        .checked_mul(unit)
        .ok_or_else(|| format!("too large: {}", text::quoted(text)))
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_are_read() {
        assert_eq!(size("65536k"), Ok(64 << 20));
        assert_eq!(size("64m"), Ok(64 << 20));
        assert_eq!(size("4096"), Ok(4096));
        assert!(size("18446744073709551615k").is_err());
        assert!(size("50%").is_err());
    }
}
