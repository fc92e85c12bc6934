//! Writes what was recorded as a tree of files, links and directories.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, ErrorKind};
use std::iter;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};

use super::answers::FILE;
use super::{Answers, Capture, Failed, Read, Seen, kept};
use crate::host::root::{HEAD_BYTES, LARGEST_FILE_BYTES};
use crate::names::{self, Names};

/// Keeps a directory that says something by being there where directories without files get lost.
const KEEP: &str = ".keep";
/// Where names of processes stand; those that matter have files of their own.
const PROCESSES: &str = "/proc";
/// A directory in which the names are all there is to read.
const NAMES_ONLY: &str = "/slaves";

impl Capture {
    /// Writes what was read, and nothing else, below a directory; names and secrets go.
    ///
    /// # Errors
    /// Where the directory cannot be written, or something of the tree is there already and in the way.
    pub fn write(&self, directory: &Path, names: &Names) -> io::Result<()> {
        fs::create_dir_all(directory)?;
        let tree = Tree {
            directory: directory.canonicalize()?,
            names,
        };
        let seen = self.seen();
        for (path, real) in &seen.real {
            tree.alias(path, real)?;
        }
        for (path, target) in &seen.links {
            tree.link(path, target)?;
        }
        let mut answers = Answers::default();
        for (call, answer) in &seen.calls {
            answers.calls.insert(tree.shown(call), answer.clone());
        }
        for (path, read) in &seen.reads {
            match &read.content {
                Ok(content) => {
                    if tree.read(path, content, read)? {
                        answers.failed.insert(tree.shown(path), Failed::TooLarge);
                    }
                }
                Err(Failed::Missing) => {}
                Err(failed) => {
                    answers.failed.insert(tree.shown(path), *failed);
                }
            }
        }
        tree.surroundings(&seen)?;
        if answers == Answers::default() {
            return Ok(());
        }
        let text = serde_json::to_string_pretty(&answers)?;
        fs::write(tree.directory.join(FILE), text + "\n")
    }
}

struct Tree<'a> {
    directory: PathBuf,
    names: &'a Names,
}

impl Tree<'_> {
    fn shown(&self, text: &str) -> String {
        names::hidden_text(text, Some(self.names))
    }

    /// Where a path of the host stands in the tree.
    fn place(&self, path: &str) -> io::Result<PathBuf> {
        let shown = self.shown(path);
        let relative = Path::new(shown.trim_start_matches('/'));
        let is_plain = relative
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        if !is_plain {
            let why = format!("{path} does not lead to a place in a tree");
            return Err(io::Error::new(ErrorKind::InvalidInput, why));
        }
        Ok(self.directory.join(relative))
    }

    /// A path that leads elsewhere through links of the host, as one link.
    fn alias(&self, path: &str, real: &str) -> io::Result<()> {
        let (place, target) = (self.place(path)?, self.place(real)?);
        if place == target {
            return Ok(());
        }
        fs::create_dir_all(&target)?;
        let parent = parent(&place)?;
        // A link further up may lead there already.
        if place.exists() {
            return Ok(());
        }
        let parent = parent.canonicalize()?;
        let above = parent.strip_prefix(&self.directory);
        let depth = above.map_err(io::Error::other)?.components().count();
        let up: PathBuf = iter::repeat_n("..", depth).collect();
        let down = target.strip_prefix(&self.directory);
        symlink(up.join(down.map_err(io::Error::other)?), &place)
    }

    fn link(&self, path: &str, target: &str) -> io::Result<()> {
        let place = self.place(path)?;
        parent(&place)?;
        symlink(self.shown(target), &place)
    }

    /// Writes the content of a file; true where it was larger than a file may be.
    fn read(&self, path: &str, content: &[u8], read: &Read) -> io::Result<bool> {
        let is_too_large = content.len() as u64 > LARGEST_FILE_BYTES;
        let most = if is_too_large { HEAD_BYTES } else { read.asked };
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let content = &content[..content.len().min(most)];
        if let Some(kept) = kept::kept(path, content, self.names) {
            let place = self.place(path)?;
            parent(&place)?;
            fs::write(place, kept)?;
        }
        Ok(is_too_large && read.asked > LARGEST_FILE_BYTES)
    }

    /// What was not read, but seen: beside the files, which may stand in its place.
    fn surroundings(&self, seen: &Seen) -> io::Result<()> {
        let mut directories = BTreeSet::new();
        let mut placeholders = BTreeSet::new();
        for (_, real) in seen.real.iter().filter(|(path, real)| path != real) {
            directories.insert(self.place(real)?);
        }
        for (path, is_directory) in &seen.present {
            let places = if *is_directory {
                &mut directories
            } else {
                &mut placeholders
            };
            places.insert(self.place(path)?);
        }
        let opened: Vec<&String> = iter::empty()
            .chain(seen.reads.keys())
            .chain(seen.links.keys())
            .chain(seen.lists.keys())
            .chain(seen.present.keys())
            .collect();
        for (list, names) in seen.lists.iter().filter(|(list, _)| *list != PROCESSES) {
            for name in names {
                let path = format!("{list}/{name}");
                let below = format!("{path}/");
                if opened.iter().any(|opened| opened.starts_with(&below)) {
                    directories.insert(self.place(&path)?);
                } else if list.ends_with(NAMES_ONLY) {
                    placeholders.insert(self.place(&path)?);
                }
            }
        }
        for directory in &directories {
            fs::create_dir_all(directory)?;
        }
        for (path, read) in &seen.reads {
            if matches!(read.content, Err(failed) if failed != Failed::Missing) {
                placeholders.insert(self.place(path)?);
            }
        }
        for place in placeholders {
            parent(&place)?;
            if place.symlink_metadata().is_err() {
                fs::write(place, "")?;
            }
        }
        for directory in directories {
            if fs::read_dir(&directory)?.next().is_none() {
                fs::write(directory.join(KEEP), "")?;
            }
        }
        Ok(())
    }
}

/// The directory of a place, made where it is missing.
fn parent(place: &Path) -> io::Result<&Path> {
    let parent = place.parent().unwrap_or(place);
    fs::create_dir_all(parent)?;
    Ok(parent)
}
