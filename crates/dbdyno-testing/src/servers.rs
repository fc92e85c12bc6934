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

/// Whether it is a distribution's package, contrib modules and all; the pinned builds have none. Debian's
/// place is looked for, in the system or below the root that the package was unpacked in.
pub fn is_packaged(binaries: &Binaries) -> bool {
    let major = binaries.version.major.to_string();
    let place = Path::new("usr/lib/postgresql").join(major).join("bin");
    binaries.directory.ends_with(place)
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

#[cfg(test)]
mod tests {
    use dbdyno_target::lab::Version;

    use super::*;

    #[test]
    fn a_package_is_known_by_its_place() {
        let at = |directory: &str| Binaries {
            directory: directory.into(),
            version: Version {
                major: 15,
                text: "15.18".into(),
            },
        };
        assert!(is_packaged(&at("/usr/lib/postgresql/15/bin")));
        assert!(is_packaged(&at("/b/debian/root/usr/lib/postgresql/15/bin")));
        assert!(!is_packaged(&at("/b/pinned/postgresql-15.18/bin")));
        assert!(!is_packaged(&at("/usr/lib/postgresql/14/bin")));
    }
}
