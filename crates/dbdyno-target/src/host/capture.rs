//! Records what the collectors read of a host, and writes it as a tree that they read again.

mod answers;
mod kept;
#[cfg(test)]
mod tests;
mod tree;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(super) use answers::{Answers, Call, Failed};

use super::root::{LARGEST_FILE_BYTES, ReadError};

/// Everything that was read under the roots that were [recorded](super::Root::recorded) with it.
#[derive(Debug, Clone, Default)]
pub struct Capture(Arc<Mutex<Seen>>);

#[derive(Debug, Default)]
struct Seen {
    reads: BTreeMap<String, Read>,
    /// What was there when it was looked for, and whether it is a directory.
    present: BTreeMap<String, bool>,
    /// Names in directories.
    lists: BTreeMap<String, Vec<String>>,
    /// Texts of symbolic links.
    links: BTreeMap<String, String>,
    /// Paths with their links followed.
    real: BTreeMap<String, String>,
    calls: BTreeMap<String, Call>,
}

#[derive(Debug)]
struct Read {
    content: Result<Vec<u8>, Failed>,
    /// The most that anybody wanted of it.
    asked: u64,
}

impl Capture {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        // What was noted before a panic is still true.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The beginning of a file, read with `read` unless it is known.
    pub(super) fn read(
        &self,
        path: &str,
        limit: u64,
        read: impl FnOnce(u64) -> Result<Vec<u8>, ReadError>,
    ) -> Result<Vec<u8>, ReadError> {
        let mut seen = self.seen();
        let known = match seen.reads.entry(path.to_owned()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                let content = match read(LARGEST_FILE_BYTES + 1) {
                    Ok(content) => Ok(content),
                    Err(error) => match Failed::of(&error) {
                        Some(failed) => Err(failed),
                        None => return Err(error),
                    },
                };
                place.insert(Read { content, asked: 0 })
            }
        };
        known.asked = known.asked.max(limit);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        match &known.content {
            Ok(content) => Ok(content[..content.len().min(limit)].to_vec()),
            Err(failed) => Err((*failed).into()),
        }
    }

    /// The part of a file that was used; nothing is kept of a file that held no such part.
    pub(super) fn excerpt(&self, path: &str, result: &Result<Option<Vec<u8>>, ReadError>) {
        let content = match result {
            Ok(Some(part)) => Ok(part.clone()),
            Ok(None) => return,
            Err(error) => match Failed::of(error) {
                Some(failed) => Err(failed),
                None => return,
            },
        };
        let asked = LARGEST_FILE_BYTES;
        let read = Read { content, asked };
        self.seen().reads.insert(path.to_owned(), read);
    }

    pub(super) fn present(&self, path: &str, is_directory: bool) {
        self.seen().present.insert(path.to_owned(), is_directory);
    }

    pub(super) fn listed(&self, path: &str, result: &Result<Vec<String>, ReadError>) {
        let mut seen = self.seen();
        match result {
            Ok(names) => {
                seen.lists.insert(path.to_owned(), names.clone());
            }
            Err(error) => {
                if let Some(failed) = Failed::of(error) {
                    let content = Err(failed);
                    let read = Read { content, asked: 0 };
                    seen.reads.entry(path.to_owned()).or_insert(read);
                }
            }
        }
    }

    pub(super) fn link(&self, path: &str, target: &str) {
        self.seen().links.insert(path.to_owned(), target.to_owned());
    }

    pub(super) fn real(&self, path: &str, real: &str) {
        self.seen().real.insert(path.to_owned(), real.to_owned());
    }

    /// The first answer to this call, for good.
    pub(super) fn call(
        &self,
        call: &str,
        answer: Result<Vec<u64>, String>,
    ) -> Result<Vec<u64>, String> {
        let mut seen = self.seen();
        let known = seen.calls.entry(call.to_owned());
        known.or_insert_with(|| answer.into()).result()
    }
}
