//! Damaged files: moved aside whole when a store is opened, told of when they are met later.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::thread;

use dbdyno_store::{Moved, Store, StoreError};
use tempfile::{TempDir, tempdir};

use crate::trials::{NAME, begun, run, tune};

/// A directory with a store in it that has been closed.
fn stored() -> (TempDir, PathBuf) {
    let directory = tempdir().unwrap();
    let path = directory.path().join("store.sqlite");
    let (mut store, _) = Store::sqlite(&path).unwrap();
    store.save(&tune()).unwrap();
    (directory, path)
}

fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, fs::read(entry.path()).unwrap())
        })
        .collect()
}

/// Opens what is damaged, checks that a new store is begun, and gives what was put aside.
fn moved(path: &Path) -> Moved {
    let (mut store, moved) = Store::sqlite(path).unwrap();
    let moved = moved.expect("the damaged file is moved");
    assert_eq!(moved.from, path);
    let name = moved.to.file_name().unwrap().to_str().unwrap();
    let stamp = name.strip_prefix("store.sqlite.damaged-").unwrap();
    assert!(
        stamp.starts_with("20") && stamp.contains('T') && stamp.contains('Z'),
        "{name}"
    );
    assert!(store.list().unwrap().is_empty());
    store.save(&begun()).unwrap();
    drop(store);
    let (mut store, again) = Store::sqlite(path).unwrap();
    assert_eq!(again, None);
    assert_eq!(store.load(NAME).unwrap(), begun());
    moved
}

#[test]
fn garbage_is_moved_aside_whole() {
    for garbage in [&b"x"[..], &[0; 5000], b"SQLite format 3", &[0xff; 123_456]] {
        let directory = tempdir().unwrap();
        let path = directory.path().join("store.sqlite");
        for (part, bytes) in [
            ("", garbage),
            ("-wal", b"a log"),
            ("-shm", b"an index of it"),
        ] {
            fs::write(directory.path().join(format!("store.sqlite{part}")), bytes).unwrap();
        }
        let moved = moved(&path);
        let read = |part: &str| fs::read(format!("{}{part}", moved.to.display())).unwrap();
        assert_eq!(read(""), garbage);
        assert_eq!(read("-wal"), b"a log");
        // SQLite makes its index of the log anew wherever it looks at one.
        assert!(!read("-shm").is_empty());
        assert_eq!(
            files(directory.path()).len(),
            4,
            "{:?}",
            files(directory.path()).keys()
        );
    }
}

#[test]
fn a_truncated_database_is_moved_aside_and_what_was_moved_is_what_was_left() {
    for left in [1, 50, 100, 4096, 4097, 12_000] {
        let (_directory, path) = stored();
        let whole = fs::read(&path).unwrap();
        assert!(whole.len() > 12_288, "{}", whole.len());
        fs::write(&path, &whole[..left]).unwrap();
        let moved = moved(&path);
        assert_eq!(
            fs::read(&moved.to).unwrap(),
            whole[..left],
            "cut to {left} bytes"
        );
    }
}

#[test]
fn a_log_is_kept_where_its_database_is_gone() {
    let (directory, path) = stored();
    let (mut store, _) = Store::sqlite(&path).unwrap();
    store.add_run(NAME, &run(9, "a", 9)).unwrap();
    // As a crash leaves it.
    let log = fs::read(directory.path().join("store.sqlite-wal")).unwrap();
    drop(store);
    fs::write(directory.path().join("store.sqlite-wal"), &log).unwrap();
    fs::write(&path, b"").unwrap();
    let moved = moved(&path);
    assert_eq!(fs::read(&moved.to).unwrap(), b"");
    assert_eq!(
        fs::read(format!("{}-wal", moved.to.display())).unwrap(),
        log
    );
}

#[test]
fn a_log_that_was_left_behind_is_taken_in() {
    let (directory, path) = stored();
    let elsewhere = tempdir().unwrap();
    let (mut store, _) = Store::sqlite(&path).unwrap();
    store.add_run(NAME, &run(9, "a", 9)).unwrap();
    for (name, bytes) in files(directory.path()) {
        if !name.ends_with("-shm") {
            fs::write(elsewhere.path().join(name), bytes).unwrap();
        }
    }
    let copy = elsewhere.path().join("store.sqlite");
    let (mut copied, moved) = Store::sqlite(&copy).unwrap();
    assert_eq!(moved, None);
    assert_eq!(copied.load(NAME).unwrap(), store.load(NAME).unwrap());
    assert_eq!(copied.load(NAME).unwrap().runs.len(), 9);
}

#[test]
fn a_newer_store_with_a_log_keeps_both() {
    let (directory, path) = stored();
    let newer = rusqlite::Connection::open(&path).unwrap();
    newer
        .execute_batch("UPDATE meta SET dbdyno_version = '5.0.0'; PRAGMA user_version = 5")
        .unwrap();
    let as_it_runs = files(directory.path());
    drop(newer);
    // As a kill of the newer dbdyno leaves it.
    for (name, bytes) in as_it_runs
        .iter()
        .filter(|(name, _)| !name.ends_with("-shm"))
    {
        fs::write(directory.path().join(name), bytes).unwrap();
    }
    let error = Store::sqlite(&path).unwrap_err();
    assert!(
        matches!(error, StoreError::Newer { found: 5, .. }),
        "{error}"
    );
    assert!(error.hint().unwrap().contains("5.0.0"));
    let mut after = files(directory.path());
    let mut before = as_it_runs;
    // What SQLite makes anew from the log.
    before.remove("store.sqlite-shm");
    after.remove("store.sqlite-shm");
    assert_eq!(after, before);
}

#[test]
fn one_of_several_moves_it_and_nobody_moves_what_is_new() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("store.sqlite");
    fs::write(&path, [7; 10_000]).unwrap();
    let barrier = Barrier::new(8);
    let moved: Vec<Moved> = thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|number| {
                let (path, barrier) = (&path, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    let (mut store, moved) = Store::sqlite(path).unwrap();
                    let mut trial = begun();
                    trial.name = format!("tune-{number}");
                    store.save(&trial).unwrap();
                    moved
                })
            })
            .collect();
        let joined = threads.into_iter().map(|thread| thread.join().unwrap());
        joined.flatten().collect()
    });
    assert_eq!(moved.len(), 1, "{moved:?}");
    assert_eq!(fs::read(&moved[0].to).unwrap(), [7; 10_000]);
    let (mut store, _) = Store::sqlite(&path).unwrap();
    assert_eq!(store.list().unwrap().len(), 8);
}

#[test]
fn twice_in_a_second_are_two_files() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("store.sqlite");
    let mut kept = Vec::new();
    for garbage in [b"one", b"two", b"six"] {
        fs::write(&path, garbage).unwrap();
        let (_, moved) = Store::sqlite(&path).unwrap();
        kept.push((moved.unwrap().to, garbage));
    }
    for (path, garbage) in kept {
        assert_eq!(fs::read(path).unwrap(), garbage);
    }
}

#[test]
fn damage_that_is_met_later_is_told_of_and_nothing_is_moved() {
    let (directory, path) = stored();
    let mut bytes = fs::read(&path).unwrap();
    let pages = bytes.len() / 4096;
    // Everything but the page that says what there is.
    for byte in &mut bytes[4096..] {
        *byte = byte.wrapping_add(101);
    }
    assert!(pages > 3, "{pages}");
    fs::write(&path, &bytes).unwrap();
    let (mut store, moved) = Store::sqlite(&path).unwrap();
    assert_eq!(moved, None, "nothing of it is read when it is opened");
    let failures = [
        store.load(NAME).unwrap_err(),
        store.list().unwrap_err(),
        store.resolve("latest").unwrap_err(),
        store.save(&tune()).unwrap_err(),
        store.add_run(NAME, &run(9, "a", 9)).unwrap_err(),
    ];
    for error in failures {
        assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
        let hint = error.hint().unwrap();
        assert!(
            hint.contains("copy") && hint.contains("dbdyno runs export"),
            "{hint}"
        );
    }
    drop(store);
    assert_eq!(files(directory.path())["store.sqlite"], bytes);
}
