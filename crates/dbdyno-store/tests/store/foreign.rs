//! What is newer, or not ours at all, stays as it is.

use std::collections::BTreeMap;

use dbdyno_store::StoreError;

use crate::bed::Bed;
use crate::trials::{NAME, begun, tune};

crate::on_both!(
    a_newer_store_is_refused_and_stays_as_it_is,
    a_place_of_another_program_is_refused_and_stays_as_it_is,
    the_last_writer_is_remembered,
);

/// Everything that is there: bytes of files, rows of tables.
fn snapshot(bed: &Bed) -> BTreeMap<String, Vec<u8>> {
    if bed.is_sqlite() {
        return std::fs::read_dir(bed.path().parent().unwrap())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .map(|path| (path.display().to_string(), std::fs::read(path).unwrap()))
            .collect();
    }
    let relations = bed.rows(
        "SELECT relname, relkind FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace \
         WHERE nspname = 'dbdyno' ORDER BY relname",
    );
    let mut all = BTreeMap::from([("relations".to_owned(), relations.concat().into_bytes())]);
    for table in ["meta", "trial", "run"] {
        // Their transactions and places too.
        let sql = format!("SELECT xmin, ctid, * FROM dbdyno.{table}");
        if relations
            .iter()
            .any(|relation| relation.contains(&format!("({table},r)")))
        {
            all.insert(table.to_owned(), bed.rows(&sql).concat().into_bytes());
        }
    }
    all
}

fn a_newer_store_is_refused_and_stays_as_it_is(bed: &Bed) {
    bed.open().save(&tune()).unwrap();
    bed.execute("UPDATE dbdyno.meta SET dbdyno_version = '9.8.7'");
    bed.execute(match bed.is_sqlite() {
        true => "PRAGMA user_version = 7",
        false => "UPDATE dbdyno.meta SET version = 7",
    });
    let before = snapshot(bed);
    let error = bed.try_open().unwrap_err();
    let StoreError::Newer { found, known, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!((*found, *known), (7, 1));
    assert!(error.to_string().contains("has version 7"), "{error}");
    assert!(error.hint().unwrap().contains("dbdyno 9.8.7"));
    assert_eq!(snapshot(bed), before);
}

fn a_place_of_another_program_is_refused_and_stays_as_it_is(bed: &Bed) {
    if bed.is_sqlite() {
        std::fs::create_dir_all(bed.path().parent().unwrap()).unwrap();
    } else {
        bed.execute("CREATE SCHEMA dbdyno");
    }
    bed.execute("CREATE TABLE dbdyno.run (miles integer)");
    let refused = |said: &str| {
        let before = snapshot(bed);
        let error = bed.try_open().unwrap_err();
        assert!(matches!(error, StoreError::Foreign { .. }), "{error}");
        assert!(error.to_string().contains(said), "{error}");
        assert!(error.hint().unwrap().contains("--store"));
        assert_eq!(snapshot(bed), before);
    };
    if bed.is_sqlite() {
        refused("another program, with 1 tables");
        bed.execute("DROP TABLE dbdyno.run; PRAGMA user_version = 1");
        refused("another program, with 0 tables");
        return;
    }
    refused("no table `meta`");
    bed.execute("CREATE TABLE dbdyno.meta (one integer, colour text)");
    refused("not dbdyno's");
    bed.execute("ALTER TABLE dbdyno.meta ADD version integer, ADD dbdyno_version text");
    refused("has no row");
}

fn the_last_writer_is_remembered(bed: &Bed) {
    let wrote = |bed: &Bed| bed.rows("SELECT dbdyno_version FROM dbdyno.meta").concat();
    let mut store = bed.open();
    assert!(wrote(bed).contains(env!("CARGO_PKG_VERSION")));
    bed.execute("UPDATE dbdyno.meta SET dbdyno_version = '0.0.1'");
    assert!(store.list().unwrap().is_empty());
    assert!(wrote(bed).contains("0.0.1"), "reading is not writing");
    store.save(&begun()).unwrap();
    assert!(wrote(bed).contains(env!("CARGO_PKG_VERSION")));
    assert_eq!(store.resolve("latest").unwrap(), NAME);
}
