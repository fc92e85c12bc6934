//! The servers to test with: those that `DBDYNO_TEST_PG_DIRS` names, else what the machine has.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use dbdyno_target::lab::{Binaries, Home, Wanted};

/// Bin directories, separated by colons.
const NAMED: &str = "DBDYNO_TEST_PG_DIRS";

/// One server to test with.
pub fn binaries() -> Binaries {
    match named().first() {
        Some(directory) => Binaries::at(directory).unwrap(),
        None => at_hand(),
    }
}

/// Every server that is named.
pub fn all_binaries() -> Vec<Binaries> {
    let named: Vec<Binaries> = named()
        .iter()
        .map(|directory| Binaries::at(directory).unwrap())
        .collect();
    if named.is_empty() {
        return vec![at_hand()];
    }
    named
}

/// One server of each major that is named or installed.
pub fn every_major() -> Vec<Binaries> {
    let installed = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path().join("bin"));
    let mut majors = BTreeSet::new();
    let found: Vec<Binaries> = named()
        .into_iter()
        .chain(installed)
        .filter_map(|directory| Binaries::at(&directory).ok())
        .filter(|binaries| majors.insert(binaries.version.major))
        .collect();
    assert!(!found.is_empty(), "no PostgreSQL binaries to test with");
    found
}

fn named() -> Vec<PathBuf> {
    let directories = std::env::var(NAMED).unwrap_or_default();
    directories
        .split(':')
        .filter(|directory| !directory.is_empty())
        .map(|directory| Path::new(directory).to_path_buf())
        .collect()
}

fn at_hand() -> Binaries {
    let home = Home::find(&|name| std::env::var(name).ok()).unwrap();
    Binaries::find(&Wanted::default(), &home, &|_| {}).unwrap()
}
