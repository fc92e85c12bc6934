//! Storage under a directory: its mount, its space and the devices below.

use std::path::{Path, PathBuf};

use dbdyno_model::Fact;
use dbdyno_model::host::Storage;

use super::root::{ReadError, Root};
use super::space::{self, Space};
use super::{block, fstab, mounts, patience};

/// `process` is `self` or the server's number, whose mounts then count.
pub(super) fn collect(root: &Root, process: &str, directory: &Path) -> Fact<Storage> {
    let origin = format!("/proc/{process}/mountinfo {}", directory.display());
    let (tree, name, place) = (root.clone(), process.to_owned(), directory.to_owned());
    let found = patience::within_limit(move || storage(&tree, &name, &place));
    Fact::from_result(found.unwrap_or_else(Err), origin)
}

fn storage(root: &Root, process: &str, directory: &Path) -> Result<Storage, String> {
    if !directory.is_absolute() {
        return Err(format!("{} is not an absolute path", directory.display()));
    }
    let mounts = mounts::read(root, process)?;
    let path = real_path(root, process, directory)?;
    let mount = mounts::of_path(&mounts, &path)
        .ok_or_else(|| format!("no mount holds {}", path.display()))?;
    let seen_at = if space::is_ours(root, process, mount) {
        path.clone()
    } else {
        // The server lives among other mounts; its own root shows them, to those who may look.
        Path::new(&format!("/proc/{process}/root")).join(strip_slash(&path))
    };
    let Space {
        total_bytes,
        free_bytes,
        total_inodes,
        free_inodes,
        block_bytes,
    } = space::of_path(root, &seen_at);
    Ok(Storage {
        path: path.display().to_string(),
        mount_point: mount.mount_point.clone(),
        source: mount.source.clone(),
        filesystem: mount.filesystem.clone(),
        mount_options: mount.all_options(),
        total_bytes,
        free_bytes,
        total_inodes,
        free_inodes,
        devices: block::under(root, mount),
        block_bytes,
        no_copy_on_write: no_copy_on_write(root, &mount.filesystem, &seen_at),
        fstab_options: fstab::options(root, &mount.mount_point),
    })
}

/// Whether new files in the directory are overwritten in place although the file system is btrfs.
fn no_copy_on_write(root: &Root, filesystem: &str, directory: &Path) -> Fact<bool> {
    let origin = format!("FS_IOC_GETFLAGS {}", directory.display());
    if filesystem != "btrfs" {
        return Fact::unknown("only btrfs has the attribute", origin);
    }
    let flags = root.call(&origin, || {
        let open = std::fs::File::open(directory).map_err(|error| error.to_string())?;
        let flags = rustix::fs::ioctl_getflags(open).map_err(|errno| errno.to_string())?;
        Ok(vec![u64::from(flags.contains(rustix::fs::IFlags::NOCOW))])
    });
    let flags = flags.unwrap_or_else(|| Err("only the running machine tells it".to_owned()));
    Fact::from_result(flags.map(|flags| flags.first() == Some(&1)), origin)
}

/// The directory with its links followed: `pg_wal` is often a link to another disk.
fn real_path(root: &Root, process: &str, directory: &Path) -> Result<PathBuf, String> {
    match root.real_path(directory) {
        Ok(path) => Ok(path),
        // In a captured tree, or among the mounts of another container, the directory itself need not be here.
        Err(ReadError::Missing) if !root.is_live() || process != "self" => Ok(directory.to_owned()),
        Err(ReadError::Missing) => Err(format!("{}: no such directory", directory.display())),
        Err(error) => Err(format!("{}: {error}", directory.display())),
    }
}

fn strip_slash(path: &Path) -> &Path {
    path.strip_prefix("/").unwrap_or(path)
}
