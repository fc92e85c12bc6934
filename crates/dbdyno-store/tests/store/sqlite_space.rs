//! Disks that are full or only read, which only root can make.

use std::fs;
use std::path::PathBuf;

use dbdyno_store::{Store, StoreError};
use dbdyno_testing::SmallDisk;
use rustix::mount::{MountFlags, mount_remount};

use crate::trials::{NAME, begun, run};

fn store_on(disk: &SmallDisk) -> PathBuf {
    disk.home().data().join("store.sqlite")
}

fn full(error: &StoreError) {
    assert!(matches!(error, StoreError::Full { .. }), "{error}");
    assert!(error.to_string().ends_with("the disk is full"), "{error}");
    assert!(error.hint().unwrap().contains("free some space"));
}

#[test]
fn needs_root_a_full_disk_refuses_a_run_and_loses_none() {
    let disk = SmallDisk::mount("store-full", 2);
    let path = store_on(&disk);
    let (mut store, _) = Store::sqlite(&path).unwrap();
    store.save(&begun()).unwrap();
    let mut stored = 0;
    let error = (1..)
        .find_map(|number| {
            let result = store.add_run(NAME, &run(number, "a", number));
            stored = number - u32::from(result.is_err());
            result.err()
        })
        .unwrap();
    full(&error);
    assert!(stored > 3, "{stored}");
    full(&store.save(&begun()).unwrap_err());
    assert_eq!(store.load(NAME).unwrap().runs.len(), stored as usize);
    // Somebody else looks at it in the meantime, and it is still full.
    let seen = Store::sqlite(&path).map(|(mut store, moved)| {
        assert_eq!(moved, None);
        store.load(NAME).unwrap().runs.len()
    });
    assert_eq!(seen.unwrap(), stored as usize);
    store.remove(NAME).unwrap_err();
    drop(store);
    let (mut store, moved) = Store::sqlite(&path).unwrap();
    assert_eq!(moved, None);
    assert_eq!(store.load(NAME).unwrap().runs.len(), stored as usize);
    drop(store);
    disk.unmount();
}

#[test]
fn needs_root_on_a_full_disk_no_store_is_begun() {
    let disk = SmallDisk::mount("store-none", 1);
    let path = store_on(&disk);
    disk.fill();
    full(&Store::sqlite(&path).unwrap_err());
    // With space it goes on where it stood.
    fs::remove_file(path.with_file_name("filler")).unwrap();
    Store::sqlite(&path).unwrap().0.save(&begun()).unwrap();
    disk.unmount();
}

#[test]
fn needs_root_a_disk_that_is_only_read_is_named() {
    let disk = SmallDisk::mount("store-read", 1);
    let path = store_on(&disk);
    Store::sqlite(&path).unwrap().0.save(&begun()).unwrap();
    mount_remount(path.parent().unwrap(), MountFlags::RDONLY, "").unwrap();
    for file in [path.clone(), path.with_file_name("new.sqlite")] {
        let error = Store::sqlite(&file).unwrap_err();
        let StoreError::Io { source, .. } = &error else {
            panic!("{error}")
        };
        assert_eq!(source.kind(), std::io::ErrorKind::ReadOnlyFilesystem);
        assert!(error.hint().unwrap().contains("--store"));
    }
    disk.unmount();
}
