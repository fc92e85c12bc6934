//! Copies a stopped data directory, sharing blocks where the file system can.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::{Account, LabError};

/// Copies the tree at `from` to `to` and brings it to the disk, so that a measured run does not
/// pay for writing the copy back.
pub(super) fn clone_tree(
    from: &Path,
    to: &Path,
    account: Option<&Account>,
) -> Result<(), LabError> {
    copy_directory(from, to, account)?;
    let directory = File::open(to).map_err(LabError::io("open", to))?;
    rustix::fs::syncfs(&directory).map_err(|error| LabError::io("write back", to)(error.into()))
}

fn copy_directory(from: &Path, to: &Path, account: Option<&Account>) -> Result<(), LabError> {
    fs::create_dir(to).map_err(LabError::io("create", to))?;
    for entry in fs::read_dir(from).map_err(LabError::io("read", from))? {
        let source = entry.map_err(LabError::io("read", from))?.path();
        let Some(name) = source.file_name() else {
            continue;
        };
        let target = to.join(name);
        let metadata = source
            .symlink_metadata()
            .map_err(LabError::io("read", &source))?;
        if metadata.is_dir() {
            copy_directory(&source, &target, account)?;
        } else if metadata.is_file() {
            copy_file(&source, &target)?;
            if let Some(account) = account {
                account.own(&target)?;
            }
        }
        // Neither sockets nor links belong to a data directory of ours.
    }
    let mode = fs::metadata(from)
        .map_err(LabError::io("read", from))?
        .permissions()
        .mode();
    fs::set_permissions(to, fs::Permissions::from_mode(mode))
        .map_err(LabError::io("set the mode of", to))?;
    if let Some(account) = account {
        account.own(to)?;
    }
    Ok(())
}

fn copy_file(from: &Path, to: &Path) -> Result<(), LabError> {
    let source = File::open(from).map_err(LabError::io("open", from))?;
    let target = File::create_new(to).map_err(LabError::io("create", to))?;
    if rustix::fs::ioctl_ficlone(&target, &source).is_err() {
        let copied = std::io::copy(&mut &source, &mut &target);
        copied.map_err(LabError::io("copy", from))?;
    }
    let mode = source
        .metadata()
        .map_err(LabError::io("read", from))?
        .permissions();
    target
        .set_permissions(mode)
        .map_err(LabError::io("set the mode of", to))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_the_same_bytes_and_modes() {
        let root = tempfile::tempdir().unwrap();
        let from = root.path().join("from");
        fs::create_dir_all(from.join("base/5")).unwrap();
        fs::write(from.join("base/5/1259"), vec![7_u8; 100_000]).unwrap();
        fs::write(from.join("PG_VERSION"), "15\n").unwrap();
        fs::set_permissions(from.join("base"), fs::Permissions::from_mode(0o700)).unwrap();
        fs::set_permissions(from.join("PG_VERSION"), fs::Permissions::from_mode(0o600)).unwrap();
        let to = root.path().join("to");
        clone_tree(&from, &to, None).unwrap();
        assert_eq!(
            fs::read(to.join("base/5/1259")).unwrap(),
            vec![7_u8; 100_000]
        );
        let mode = |path: &str| fs::metadata(to.join(path)).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode("base"), mode("PG_VERSION")), (0o700, 0o600));
        assert!(
            clone_tree(&from, &to, None).is_err(),
            "an existing directory is not overwritten"
        );
    }
}
