//! The root under which every host path is read, so that a captured tree stands in for a machine.

use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use dbdyno_model::Fact;

/// No file that describes a host is larger; one that is says nothing we could trust.
const LARGEST_FILE_BYTES: u64 = 1 << 20;
/// Tables with a line for each mount or account reach that on hosts of thousands of containers.
const LARGEST_TABLE_BYTES: u64 = 16 << 20;
/// Files with one paragraph a CPU grow without limit, and their beginning is enough.
const HEAD_BYTES: u64 = 64 << 10;
const MOST_ENTRIES: usize = 65_536;

/// A directory that holds a host's `/proc` and `/sys`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root(PathBuf);

/// Why a file of the host could not be used, as the user is told.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("no such file")]
    Missing,
    #[error("permission denied: root or its owner may read it")]
    Denied,
    #[error("the file is empty")]
    Empty,
    #[error("the file is larger than any of its kind")]
    TooLarge,
    #[error("the file is not text")]
    NotText,
    #[error("not a regular file")]
    NotAFile,
    #[error("the link leads out of the captured tree")]
    Escapes,
    #[error("the kernel has it switched off")]
    Unsupported,
    #[error("{0}")]
    Io(io::Error),
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => Self::Missing,
            ErrorKind::PermissionDenied => Self::Denied,
            ErrorKind::Unsupported => Self::Unsupported,
            _ => Self::Io(error),
        }
    }
}

impl ReadError {
    pub(super) fn is_missing(&self) -> bool {
        matches!(self, Self::Missing)
    }
}

impl Root {
    /// The machine this program runs on.
    pub fn host() -> Self {
        Self(PathBuf::from("/"))
    }

    /// A captured tree.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self(directory.into())
    }

    /// Whether system calls answer for the same machine as the files do.
    pub fn is_live(&self) -> bool {
        self.0 == Path::new("/")
    }

    fn place(&self, path: &str) -> PathBuf {
        self.0.join(path.trim_start_matches('/'))
    }

    /// The place to read; an absolute link in a captured tree would show this machine instead of that one.
    fn checked_place(&self, path: &str) -> Result<PathBuf, ReadError> {
        let place = self.place(path);
        if self.is_live() {
            return Ok(place);
        }
        let real = place.canonicalize()?;
        if real.starts_with(self.0.canonicalize()?) {
            Ok(real)
        } else {
            Err(ReadError::Escapes)
        }
    }

    /// The beginning of a file, text or not.
    pub(super) fn read_at_most(&self, path: &str, limit: u64) -> Result<Vec<u8>, ReadError> {
        // Without NONBLOCK, a pipe where a file should be would hold us for ever.
        let nonblock = rustix::fs::OFlags::NONBLOCK.bits() as i32;
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(nonblock)
            .open(self.checked_place(path)?)?;
        if !file.metadata()?.is_file() {
            return Err(ReadError::NotAFile);
        }
        let mut bytes = Vec::new();
        file.take(limit).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    pub(super) fn bytes(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        self.bytes_up_to(path, LARGEST_FILE_BYTES)
    }

    fn bytes_up_to(&self, path: &str, limit: u64) -> Result<Vec<u8>, ReadError> {
        let bytes = self.read_at_most(path, limit + 1)?;
        if bytes.len() as u64 > limit {
            return Err(ReadError::TooLarge);
        }
        if bytes.is_empty() {
            return Err(ReadError::Empty);
        }
        Ok(bytes)
    }

    /// The whole file as text; one of white space only counts as empty.
    pub(super) fn text(&self, path: &str) -> Result<String, ReadError> {
        let text = String::from_utf8(self.bytes(path)?).map_err(|_| ReadError::NotText)?;
        if text.trim().is_empty() {
            return Err(ReadError::Empty);
        }
        Ok(text)
    }

    /// The whole file, for those in which one odd name must not hide all other lines.
    pub(super) fn lossy_text(&self, path: &str) -> Result<String, ReadError> {
        Ok(String::from_utf8_lossy(&self.bytes(path)?).into_owned())
    }

    /// The same of a table that may be long.
    pub(super) fn table(&self, path: &str) -> Result<String, ReadError> {
        let bytes = self.bytes_up_to(path, LARGEST_TABLE_BYTES)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The whole lines at the beginning of a file that may be huge.
    pub(super) fn head(&self, path: &str) -> Result<String, ReadError> {
        let mut bytes = self.read_at_most(path, HEAD_BYTES)?;
        if bytes.len() as u64 == HEAD_BYTES
            && let Some(end) = bytes.iter().rposition(|byte| *byte == b'\n')
        {
            bytes.truncate(end);
        }
        let text = String::from_utf8(bytes).map_err(|_| ReadError::NotText)?;
        if text.trim().is_empty() {
            return Err(ReadError::Empty);
        }
        Ok(text)
    }

    /// The fact in a file: what `parse` makes of its text, with the path as its origin.
    pub(super) fn fact<T>(
        &self,
        path: &str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Fact<T> {
        let result = self
            .text(path)
            .map_err(|error| error.to_string())
            .and_then(|text| parse(&text));
        Fact::from_result(result, path)
    }

    pub(super) fn exists(&self, path: &str) -> bool {
        // A denied look is not an absence, but nobody can act on the difference here.
        self.place(path).symlink_metadata().is_ok()
    }

    /// Sorted names in a directory; those that are not text are no names of the kernel's.
    pub(super) fn list(&self, path: &str) -> Result<Vec<String>, ReadError> {
        let mut names: Vec<String> = std::fs::read_dir(self.checked_place(path)?)?
            .take(MOST_ENTRIES)
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect();
        names.sort();
        Ok(names)
    }

    /// The text of a symbolic link.
    pub(super) fn link(&self, path: &str) -> Option<String> {
        let target = std::fs::read_link(self.place(path)).ok()?;
        target.into_os_string().into_string().ok()
    }

    /// A path of the host with its links followed, still as the host names it.
    pub(super) fn real_path(&self, path: &Path) -> Result<PathBuf, ReadError> {
        let relative = path.strip_prefix("/").unwrap_or(path);
        let real = self.0.join(relative).canonicalize()?;
        let inside = real
            .strip_prefix(self.0.canonicalize()?)
            .map_err(|_| ReadError::Escapes)?;
        Ok(Path::new("/").join(inside))
    }
}

#[cfg(test)]
mod tests {
    use super::{ReadError, Root};

    #[test]
    fn odd_files_are_errors_and_nothing_worse() {
        let tree = tempfile::tempdir().unwrap();
        let root = Root::new(tree.path());
        let write = |name: &str, bytes: &[u8]| std::fs::write(tree.path().join(name), bytes);
        write("empty", b"").unwrap();
        write("blank", b" \n").unwrap();
        write("binary", b"\xff\xfe").unwrap();
        write("huge", &vec![b'1'; (1 << 20) + 1]).unwrap();
        write("largest", &vec![b'1'; 1 << 20]).unwrap();
        std::fs::create_dir(tree.path().join("directory")).unwrap();
        std::os::unix::fs::symlink("/proc/version", tree.path().join("outside")).unwrap();
        assert!(matches!(root.text("/absent"), Err(ReadError::Missing)));
        assert!(matches!(root.text("/empty"), Err(ReadError::Empty)));
        assert!(matches!(root.text("/blank"), Err(ReadError::Empty)));
        assert!(matches!(root.text("/binary"), Err(ReadError::NotText)));
        assert!(matches!(root.text("/huge"), Err(ReadError::TooLarge)));
        assert!(matches!(root.text("/directory"), Err(ReadError::NotAFile)));
        assert!(matches!(root.text("/outside"), Err(ReadError::Escapes)));
        assert_eq!(root.text("/largest").unwrap().len(), 1 << 20);
        assert!(root.head("/huge").is_ok());
        assert_eq!(root.table("/huge").unwrap().len(), (1 << 20) + 1);
        let endless = std::fs::File::create(tree.path().join("endless")).unwrap();
        endless.set_len((16 << 20) + 1).unwrap();
        assert!(matches!(root.table("/endless"), Err(ReadError::TooLarge)));
        assert!(root.list("/absent").is_err());
    }

    #[test]
    fn a_pipe_does_not_hold_the_collection() {
        let tree = tempfile::tempdir().unwrap();
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, tree.path().join("pipe"), kind, mode, 0).unwrap();
        let error = Root::new(tree.path()).text("/pipe").unwrap_err();
        assert!(matches!(error, ReadError::NotAFile));
    }
}
