//! Room on a lab's disk: checked before anything starts, and looked at again after a failure.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use super::{Lab, LabError};

/// What the C library says in the locale that lab servers and their clients speak.
const NO_SPACE: &str = "No space left on device";
/// A server needs that much for its next segment of write-ahead log, and panics without it.
const SEGMENT_BYTES: u64 = 16 << 20;
/// The end of the server's log, where it says why it gave up.
const LOG_BYTES: u64 = 64 << 10;

impl Lab {
    /// The error to tell in place of `reason`, where the lab's disk is full.
    ///
    /// Clients of a server that died of it hear only that the connection is gone, and a log on
    /// the same disk may have had no room for its last line: any of the three is evidence enough.
    pub fn disk_full(&self, reason: &str) -> Option<LabError> {
        let directory = &self.shared.directory;
        let log = end_of(&directory.join("server.log")).unwrap_or_default();
        let reason = reason.lines().next().unwrap_or_default();
        let reason = match (no_space(reason), no_space(&log)) {
            (Some(_), _) => reason.to_owned(),
            (None, Some(line)) => format!("{reason} (the server's log: {line})"),
            (None, None) => {
                let left = available(directory).ok();
                let left = left.filter(|bytes| *bytes < SEGMENT_BYTES)?;
                format!("{reason} ({} left)", mib(left))
            }
        };
        Some(LabError::Full {
            directory: directory.clone(),
            reason,
        })
    }
}

pub(super) fn check(labs: &Path, needed: u64) -> Result<(), LabError> {
    let available = available(labs)?;
    if available >= needed {
        return Ok(());
    }
    Err(LabError::Disk {
        path: labs.into(),
        available: mib(available),
        needed: mib(needed),
    })
}

/// What blames the disk last, without the time before it. Shared memory is short of space in the
/// same words.
pub(super) fn no_space(text: &str) -> Option<&str> {
    let line = text
        .lines()
        .rfind(|line| line.contains(NO_SPACE) && !line.contains("shared memory"))?;
    // A line before it may have had no room for its end.
    let severity = ["PANIC: ", "FATAL: ", "ERROR: ", "LOG: "]
        .iter()
        .filter_map(|word| line.rfind(word))
        .max();
    line.get(severity.unwrap_or(0)..).map(str::trim)
}

fn available(directory: &Path) -> Result<u64, LabError> {
    let space = rustix::fs::statvfs(directory)
        .map_err(|error| LabError::io("read the free space of", directory)(error.into()))?;
    Ok(space.f_bavail.saturating_mul(space.f_frsize))
}

fn mib(bytes: u64) -> String {
    format!("{} MiB", bytes >> 20)
}

fn end_of(log: &Path) -> std::io::Result<String> {
    let mut file = File::open(log)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LOG_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(LOG_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_blames_the_disk_is_found_and_shared_memory_is_not_a_disk() {
        let log = "2026-11-22 00:31:33 UTC [7] STATEMENT:  INSERT INTO ev\
            2026-11-22 00:31:34 UTC [8] PANIC:  could not write to file \"pg_wal/xlogtemp.8\": \
            No space left on device\n\
            2026-11-22 00:31:34 UTC [1] LOG:  server process (PID 8) was terminated\n";
        assert_eq!(
            no_space(log),
            Some("PANIC:  could not write to file \"pg_wal/xlogtemp.8\": No space left on device")
        );
        let initdb = "initdb: error: could not write file: No space left on device";
        assert_eq!(no_space(initdb), Some(initdb));
        let memory = "ERROR:  could not resize shared memory segment \"/PostgreSQL.3\" \
            to 8388608 bytes: No space left on device\n";
        assert_eq!(no_space(memory), None);
        assert_eq!(
            no_space("FATAL:  the database system is shutting down"),
            None
        );
    }

    #[test]
    fn the_end_of_a_long_log_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("server.log");
        std::fs::write(&log, format!("{}last", "x".repeat(100_000))).unwrap();
        let end = end_of(&log).unwrap();
        assert!(end.ends_with("xlast") && end.len() as u64 == LOG_BYTES);
        assert!(end_of(&directory.path().join("none")).is_err());
    }
}
