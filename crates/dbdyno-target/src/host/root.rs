//! The root under which every host path is read, so that a captured tree stands in for a machine.

use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dbdyno_model::Fact;

use super::capture::{Answers, Capture, Failed};

/// No file that describes a host is larger; one that is says nothing we could trust.
pub(super) const LARGEST_FILE_BYTES: u64 = 1 << 20;
/// Tables with a line for each mount or account reach that on hosts of thousands of containers.
const LARGEST_TABLE_BYTES: u64 = 16 << 20;
/// Files with one paragraph a CPU grow without limit, and their beginning is enough.
pub(super) const HEAD_BYTES: u64 = 64 << 10;
const MOST_ENTRIES: usize = 65_536;

/// A directory that holds a host's `/proc` and `/sys`.
#[derive(Debug, Clone)]
pub struct Root {
    directory: PathBuf,
    /// What a captured tree holds beside files, or why that cannot be read.
    answers: Arc<Result<Answers, String>>,
    capture: Option<Capture>,
}

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
        Self {
            directory: PathBuf::from("/"),
            answers: Arc::new(Ok(Answers::default())),
            capture: None,
        }
    }

    /// A captured tree.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        let directory = directory.into();
        Self {
            answers: Arc::new(Answers::of(&directory)),
            directory,
            capture: None,
        }
    }

    /// The same, with everything that is read from now on noted down. What was read once stays as it
    /// was, so that all facts of one collection are of one moment.
    #[must_use]
    pub fn recorded(self, capture: &Capture) -> Self {
        Self {
            capture: Some(capture.clone()),
            ..self
        }
    }

    /// Whether system calls answer for the same machine as the files do.
    pub fn is_live(&self) -> bool {
        self.directory == Path::new("/")
    }

    fn place(&self, path: &str) -> PathBuf {
        self.directory.join(path.trim_start_matches('/'))
    }

    /// How the read of a file failed on the machine that was captured.
    fn failure(&self, path: &str) -> Option<Failed> {
        let answers = (*self.answers).as_ref().ok()?;
        answers.failed.get(path).copied()
    }

    /// The place to read; an absolute link in a captured tree would show this machine instead of that one.
    fn checked_place(&self, path: &str) -> Result<PathBuf, ReadError> {
        let failure = self.failure(path);
        if let Some(failed) = failure.filter(|failed| *failed != Failed::TooLarge) {
            return Err(failed.into());
        }
        let place = self.place(path);
        if self.is_live() {
            return Ok(place);
        }
        let real = place.canonicalize()?;
        if real.starts_with(self.directory.canonicalize()?) {
            Ok(real)
        } else {
            Err(ReadError::Escapes)
        }
    }

    /// The beginning of a file, text or not.
    fn read_at_most(&self, path: &str, limit: u64) -> Result<Vec<u8>, ReadError> {
        match &self.capture {
            Some(capture) => capture.read(path, limit, |limit| self.read_now(path, limit)),
            None => self.read_now(path, limit),
        }
    }

    fn read_now(&self, path: &str, limit: u64) -> Result<Vec<u8>, ReadError> {
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

    /// The part of a large file that tells something, which is all that a captured tree keeps of it.
    pub(super) fn excerpt(
        &self,
        path: &str,
        limit: u64,
        part: impl Fn(&[u8]) -> Option<&[u8]>,
    ) -> Result<Option<Vec<u8>>, ReadError> {
        let result = self
            .read_now(path, limit)
            .map(|content| part(&content).map(<[u8]>::to_vec));
        if let Some(capture) = &self.capture {
            capture.excerpt(path, &result);
        }
        result
    }

    pub(super) fn bytes(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        self.bytes_up_to(path, LARGEST_FILE_BYTES)
    }

    fn bytes_up_to(&self, path: &str, limit: u64) -> Result<Vec<u8>, ReadError> {
        let bytes = self.read_at_most(path, limit + 1)?;
        let was_too_large = self.failure(path) == Some(Failed::TooLarge);
        if was_too_large || bytes.len() as u64 > limit {
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
        let place = self.place(path);
        let exists = place.symlink_metadata().is_ok();
        if let Some(capture) = self.capture.as_ref().filter(|_| exists) {
            capture.present(path, place.is_dir());
        }
        exists
    }

    /// Sorted names in a directory; those that are not text are no names of the kernel's.
    pub(super) fn list(&self, path: &str) -> Result<Vec<String>, ReadError> {
        let names = self.list_now(path);
        if let Some(capture) = &self.capture {
            capture.listed(path, &names);
        }
        names
    }

    fn list_now(&self, path: &str) -> Result<Vec<String>, ReadError> {
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
        let target = target.into_os_string().into_string().ok()?;
        if let Some(capture) = &self.capture {
            capture.link(path, &target);
        }
        Some(target)
    }

    /// A path of the host with its links followed, still as the host names it.
    pub(super) fn real_path(&self, path: &Path) -> Result<PathBuf, ReadError> {
        let relative = path.strip_prefix("/").unwrap_or(path);
        let real = self.directory.join(relative).canonicalize()?;
        let inside = real
            .strip_prefix(self.directory.canonicalize()?)
            .map_err(|_| ReadError::Escapes)?;
        let real = Path::new("/").join(inside);
        if let (Some(capture), Some(from), Some(to)) = (&self.capture, path.to_str(), real.to_str())
        {
            capture.real(from, to);
        }
        Ok(real)
    }

    /// The numbers that a system call gives, such as `statvfs /data`; `None` where a captured tree
    /// does not hold them.
    pub(super) fn call(
        &self,
        call: &str,
        ask: impl FnOnce() -> Result<Vec<u64>, String>,
    ) -> Option<Result<Vec<u64>, String>> {
        let answer = match &*self.answers {
            _ if self.is_live() => Some(ask()),
            Ok(answers) => answers.calls.get(call).map(|answer| answer.result()),
            Err(why) => Some(Err(why.clone())),
        }?;
        Some(match &self.capture {
            Some(capture) => capture.call(call, answer),
            None => answer,
        })
    }

    /// Whether [`Root::call`] has an answer to this.
    pub(super) fn answers(&self, call: &str) -> bool {
        let holds = |answers: &Answers| answers.calls.contains_key(call);
        self.is_live() || (*self.answers).as_ref().is_ok_and(holds)
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
