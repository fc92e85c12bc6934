//! How long the file is waited for, and what a connection promises.

use rusqlite::TransactionBehavior;
use tempfile::tempdir;

use super::*;
use crate::engine::Engine as _;

#[test]
fn who_keeps_the_file_locked_is_waited_for_and_then_told_of() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("store.sqlite");
    let short = Duration::from_millis(50);
    let (mut store, _) = Sqlite::open(&path, short).unwrap();

    let mut other = Connection::open(&path).unwrap();
    let behavior = TransactionBehavior::Immediate;
    let held = other.transaction_with_behavior(behavior).unwrap();
    let begun = Instant::now();
    let error = store.remove("any").unwrap_err();
    assert!(begun.elapsed() >= short, "it did not wait");
    assert!(matches!(error, StoreError::Locked { .. }), "{error}");
    assert!(error.hint().unwrap().contains("fuser"));
    // A store of the right version is opened and read without the lock.
    let (mut reader, _) = Sqlite::open(&path, short).unwrap();
    assert!(reader.list().unwrap().is_empty());
    drop(held);
    assert!(!store.remove("any").unwrap());
}

#[test]
fn a_lock_in_the_way_of_making_the_tables_is_told_of() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("store.sqlite");
    let mut other = Connection::open(&path).unwrap();
    let behavior = TransactionBehavior::Exclusive;
    let held = other.transaction_with_behavior(behavior).unwrap();
    let error = Sqlite::open(&path, Duration::from_millis(50)).unwrap_err();
    assert!(matches!(error, StoreError::Locked { .. }), "{error}");
    drop(held);
    assert!(Sqlite::open(&path, Duration::from_millis(50)).is_ok());
}

#[test]
fn a_commit_is_on_the_disk_and_runs_belong_to_a_trial() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("store.sqlite");
    let (store, _) = Sqlite::open(&path, crate::store::PATIENCE).unwrap();
    let text = |name: &str| -> String {
        let value = |row: &rusqlite::Row<'_>| row.get::<_, rusqlite::types::Value>(0);
        let value = store.connection.pragma_query_value(None, name, value);
        format!("{:?}", value.unwrap())
    };
    assert_eq!(text("journal_mode"), "Text(\"wal\")");
    // FULL.
    assert_eq!(text("synchronous"), "Integer(2)");
    assert_eq!(text("foreign_keys"), "Integer(1)");
    assert_eq!(text("busy_timeout"), "Integer(10000)");
}
