//! The file: who may read it, what may stand in its place, and where it cannot be.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::thread;

use dbdyno_store::{Store, StoreError};
use rustix::process::{Gid, Uid, geteuid};
use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
use tempfile::tempdir;

use crate::trials::{NAME, begun, tune};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Runs as somebody whom the modes of files bind: root is not.
fn as_ordinary_user<T: Send>(directory: &Path, act: impl FnOnce() -> T + Send) -> T {
    const NOBODY: u32 = 65_534;
    let is_root = geteuid().is_root();
    if is_root {
        let chown = |path: &Path| std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY));
        chown(directory).unwrap();
        for entry in fs::read_dir(directory).unwrap() {
            chown(&entry.unwrap().path()).unwrap();
        }
    }
    thread::scope(|scope| {
        let thread = scope.spawn(move || {
            if is_root {
                // Of this thread alone.
                let (uid, gid) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
                set_thread_groups(&[]).unwrap();
                set_thread_res_gid(gid, gid, gid).unwrap();
                set_thread_res_uid(uid, uid, uid).unwrap();
            }
            act()
        });
        thread.join().unwrap()
    })
}

#[test]
fn only_the_owner_reads_what_is_made() {
    let directory = tempdir().unwrap();
    set_mode(directory.path(), 0o755);
    let path = directory.path().join("a/b/store.sqlite");
    let (mut store, moved) = Store::sqlite(&path).unwrap();
    assert_eq!(moved, None);
    store.save(&tune()).unwrap();
    for part in ["", "-wal", "-shm"] {
        let part = path.with_file_name(format!("store.sqlite{part}"));
        assert_eq!(mode(&part), 0o600, "{}", part.display());
    }
    assert_eq!(mode(&directory.path().join("a")), 0o700);
    assert_eq!(mode(&directory.path().join("a/b")), 0o700);
    assert_eq!(
        mode(directory.path()),
        0o755,
        "what was there is left alone"
    );
}

#[test]
fn a_name_that_looks_like_an_address_is_a_file() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("file:odd?mode=memory#é");
    Store::sqlite(&path).unwrap().0.save(&begun()).unwrap();
    assert_eq!(Store::sqlite(&path).unwrap().0.load(NAME).unwrap(), begun());
    assert!(path.is_file());
}

#[test]
fn a_link_to_a_store_is_followed() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("store.sqlite");
    Store::sqlite(&path).unwrap().0.save(&begun()).unwrap();
    let link = directory.path().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    assert_eq!(Store::sqlite(&link).unwrap().0.load(NAME).unwrap(), begun());
    let nowhere = directory.path().join("nowhere");
    std::os::unix::fs::symlink(directory.path().join("gone"), &nowhere).unwrap();
    let error = Store::sqlite(&nowhere).unwrap_err();
    assert!(error.to_string().contains("nowhere"), "{error}");
}

#[test]
fn what_is_no_file_is_named() {
    let directory = tempdir().unwrap();
    let error = Store::sqlite(directory.path()).unwrap_err();
    assert!(matches!(error, StoreError::NotAFile { .. }), "{error}");
    assert!(
        error.to_string().ends_with("is a directory, not a file"),
        "{error}"
    );
    assert!(error.hint().unwrap().contains("--store"));
    let error = Store::sqlite(Path::new("/dev/null")).unwrap_err();
    assert_eq!(error.to_string(), "/dev/null is a device, not a file");
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    let error = Store::sqlite(&file.join("store.sqlite")).unwrap_err();
    assert!(matches!(error, StoreError::Io { .. }), "{error}");
    assert!(error.hint().unwrap().contains("--store"), "{error}");
}

#[test]
fn an_empty_file_is_a_store_not_yet_begun() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("store.sqlite");
    fs::write(&path, "").unwrap();
    let (mut store, moved) = Store::sqlite(&path).unwrap();
    assert_eq!(moved, None);
    store.save(&begun()).unwrap();
}

#[test]
fn a_directory_that_may_not_be_written_is_named() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("store.sqlite");
    let said = |operation: &str, at: &Path| {
        let error = as_ordinary_user(directory.path(), || Store::sqlite(&path)).unwrap_err();
        let wanted = format!("cannot {operation} {}: Permission denied", at.display());
        assert!(error.to_string().starts_with(&wanted), "{error}");
        assert!(
            error.hint().unwrap().contains("writable for you"),
            "{error}"
        );
    };
    set_mode(directory.path(), 0o555);
    said("create", &path);
    // An existing store needs its directory too, for what SQLite keeps beside it.
    set_mode(directory.path(), 0o755);
    let (mut store, _) = Store::sqlite(&path).unwrap();
    store.save(&begun()).unwrap();
    drop(store);
    set_mode(directory.path(), 0o555);
    said("open", directory.path());
    // And the file itself.
    set_mode(directory.path(), 0o755);
    set_mode(&path, 0o444);
    said("open", &path);
    set_mode(&path, 0o000);
    said("open", &path);
    set_mode(&path, 0o600);
    let read = as_ordinary_user(directory.path(), || {
        Store::sqlite(&path).unwrap().0.load(NAME).unwrap()
    });
    assert_eq!(read, begun(), "and nothing was lost by it");
}
