//! A home for labs that belongs to one test.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use dbdyno_target::lab::{Home, Lab, LabOptions};
use tempfile::TempDir;

use crate::binaries;

/// A directory where an unprivileged server may go; removed with all that is in it.
#[derive(Debug)]
pub struct Place {
    pub root: PathBuf,
    pub home: Home,
    _directory: TempDir,
}

impl Place {
    pub fn new(name: &str) -> Self {
        let directory = tempfile::Builder::new()
            .prefix(&format!("dbdyno-{name}-"))
            .tempdir()
            .unwrap();
        // The server's account has to pass through.
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(directory.path(), mode).unwrap();
        Self {
            root: directory.path().to_path_buf(),
            home: home_below(directory.path()),
            _directory: directory,
        }
    }

    /// How many labs there are.
    pub fn labs(&self) -> usize {
        std::fs::read_dir(&self.home.labs).map_or(0, Iterator::count)
    }

    /// A lab with its template made.
    pub fn lab(&self) -> Lab {
        let lab = Lab::create(&self.home, binaries(), &LabOptions::default()).unwrap();
        lab.init().unwrap();
        lab
    }
}

/// As `DBDYNO_DATA_DIR` lays it out.
pub(crate) fn home_below(root: &Path) -> Home {
    let root = root.to_str().unwrap();
    Home::find(&|name| (name == "DBDYNO_DATA_DIR").then(|| root.to_owned())).unwrap()
}
