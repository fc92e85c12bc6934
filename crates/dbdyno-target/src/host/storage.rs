//! Storage under a directory: its mount, its space and the devices below.

use std::path::{Path, PathBuf};

use dbdyno_model::Fact;
use dbdyno_model::host::Storage;

use super::root::{ReadError, Root};
use super::space::{self, Space};
use super::{block, mounts};

/// `process` is `self` or the server's number, whose mounts then count.
pub(super) fn collect(root: &Root, process: &str, directory: &Path) -> Fact<Storage> {
    let origin = format!("/proc/{process}/mountinfo {}", directory.display());
    Fact::from_result(storage(root, process, directory), origin)
}

fn storage(root: &Root, process: &str, directory: &Path) -> Result<Storage, String> {
    if !directory.is_absolute() {
        return Err(format!("{} is not an absolute path", directory.display()));
    }
    let mounts = mounts::read(root, process)?;
    let path = real_path(root, process, directory)?;
    let mount = mounts::of_path(&mounts, &path)
        .ok_or_else(|| format!("no mount holds {}", path.display()))?;
    let space = if space::is_ours(root, process, mount) {
        space::of_path(root, &path)
    } else {
        // The server lives among other mounts; its own root shows them, to those who may look.
        let inside = format!("/proc/{process}/root");
        space::of_path(root, &Path::new(&inside).join(strip_slash(&path)))
    };
    let Space {
        total_bytes,
        free_bytes,
        total_inodes,
        free_inodes,
    } = space;
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
    })
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
