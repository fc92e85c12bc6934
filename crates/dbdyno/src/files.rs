//! Files that are old or new, never half: temporary, fsync, rename, fsync of the directory.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// Writes a private file whole or not at all.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // A bare name has an empty parent, which cannot be opened.
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let directory = parent.unwrap_or(Path::new("."));
    let temporary = path.with_extension(format!("{}.tmp", std::process::id()));
    let result = write_and_rename(&temporary, path, bytes);
    if result.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    result?;
    File::open(directory)?.sync_all()
}

fn write_and_rename(temporary: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(temporary, path)
}

/// Makes a private directory and proves that a file can be written there.
pub(crate) fn make_writable(directory: &Path) -> io::Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)?;
    let probe = directory.join(format!(".dbdyno-{}.tmp", std::process::id()));
    let written = File::create(&probe).and_then(|mut file| file.write_all(b"probe"));
    let removed = fs::remove_file(&probe);
    written.and(removed)
}

/// Proves that a file could be written there, and leaves what is there alone.
pub(crate) fn check_writable(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let temporary = path.with_extension(format!("{}.tmp", std::process::id()));
    File::create_new(&temporary)?;
    fs::remove_file(temporary)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn files_are_private_replaced_whole_and_leave_no_temporary() {
        let directory = std::env::temp_dir().join(format!("dbdyno-files-{}", std::process::id()));
        make_writable(&directory).unwrap();
        let path = directory.join("run.json");
        write(&path, b"old").unwrap();
        write(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 1);
        let below_a_file = path.join("run.json");
        assert!(write(&below_a_file, b"x").is_err());
        assert!(make_writable(&path).is_err());
        fs::remove_dir_all(&directory).unwrap();
    }
}
