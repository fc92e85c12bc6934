//! A trial goes in, is added to, and comes out as it was.

use std::cell::RefCell;

use dbdyno_model::Run;
use dbdyno_model::run::{Latency, ServerUse};
use dbdyno_store::{Location, StoreError};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::bed::Bed;
use crate::trials::{NAME, begun, run, tune};

crate::on_both!(
    a_trial_comes_back_as_it_was_saved,
    a_trial_grows_run_by_run,
    any_run_comes_back,
    the_same_run_may_be_added_again_and_another_not,
    a_discarded_pair_marks_the_runs_that_are_not_marked,
    what_json_cannot_hold_is_refused_and_stores_nothing,
    a_document_that_is_damaged_or_newer_is_told_of,
    columns_and_documents_that_disagree_are_told_of,
);

fn a_trial_comes_back_as_it_was_saved(bed: &Bed) {
    let tune = tune();
    bed.open().save(&tune).unwrap();
    assert_eq!(bed.open().load(NAME).unwrap(), tune);
    // The documents are compressed.
    let stored = bed.open().list().unwrap()[0].bytes;
    let json = serde_json::to_vec(&tune).unwrap().len() as u64;
    assert!(stored * 3 < json, "{stored} of {json} bytes");
}

fn a_trial_grows_run_by_run(bed: &Bed) {
    let whole = tune();
    let mut store = bed.open();
    let mut growing = begun();
    store.save(&growing).unwrap();
    for (count, run) in whole.runs.iter().enumerate() {
        store.add_run(NAME, run).unwrap();
        // Another process sees each of them at once.
        assert_eq!(bed.open().load(NAME).unwrap().runs, whole.runs[..=count]);
    }
    growing.runs.clone_from(&whole.runs);
    assert_eq!(store.load(NAME).unwrap(), growing);
    store.save(&whole).unwrap();
    assert_eq!(store.load(NAME).unwrap(), whole);
    // What a trial no longer has is not kept.
    store.save(&begun()).unwrap();
    assert_eq!(store.load(NAME).unwrap(), begun());
    let error = store.add_run("tune-elsewhere", &whole.runs[0]).unwrap_err();
    assert!(matches!(error, StoreError::NotFound { .. }), "{error}");
}

fn any_run_comes_back(bed: &Bed) {
    // The runner takes a closure that changes nothing.
    let store = RefCell::new(bed.open());
    let config = Config {
        cases: 48,
        failure_persistence: None,
        ..Config::default()
    };
    TestRunner::new(config)
        .run(&any_run(), |run| {
            let mut store = store.borrow_mut();
            store.save(&begun()).unwrap();
            store.add_run(NAME, &run).unwrap();
            let why = run.arm.clone();
            let mut wanted = run;
            prop_assert_eq!(
                &store.load(NAME).unwrap().runs,
                std::slice::from_ref(&wanted)
            );
            if let Some(pair) = wanted.pair {
                store.discard_pair(NAME, pair, &why).unwrap();
                wanted.discarded.get_or_insert(why);
                prop_assert_eq!(store.load(NAME).unwrap().runs, [wanted]);
            }
            Ok(())
        })
        .unwrap();
}

/// Every finite number, and texts of every kind, NUL included.
fn any_run() -> impl Strategy<Value = Run> {
    let number = any::<f64>().prop_filter("JSON has no other", |number| number.is_finite());
    let maybe = proptest::option::of(number.clone());
    let texts = (
        ".*",
        "\\PC*|[\\x00-\\x1f\"\\\\]*",
        proptest::option::of("(?s).*"),
    );
    let counts = (
        any::<u32>(),
        proptest::option::of(any::<u32>()),
        any::<u64>(),
        any::<bool>(),
    );
    (texts, counts, number.clone(), number, maybe.clone(), maybe).prop_map(
        |(texts, counts, tps, tps_with_checkpoint, slope, wal)| {
            let (started_at, arm, discarded) = texts;
            let (number, pair, seed, steady) = counts;
            Run {
                number,
                arm,
                pair,
                started_at,
                seed,
                tps,
                tps_with_checkpoint,
                steady,
                slope,
                latency_ms: slope.map(|p99| Latency {
                    p99,
                    ..Latency::default()
                }),
                server: ServerUse {
                    wal_bytes_per_transaction: wal,
                    ..ServerUse::default()
                },
                discarded,
                ..Run::default()
            }
        },
    )
}

fn the_same_run_may_be_added_again_and_another_not(bed: &Bed) {
    let mut store = bed.open();
    store.save(&begun()).unwrap();
    let first = run(1, "shipped", 1);
    store.add_run(NAME, &first).unwrap();
    store.add_run(NAME, &first).unwrap();
    let other = Run {
        tps: first.tps + 1.0,
        ..first.clone()
    };
    let error = store.add_run(NAME, &other).unwrap_err();
    assert!(
        error
            .to_string()
            .contains(&format!("another run 1 of {NAME}")),
        "{error}"
    );
    assert!(error.hint().is_some());
    assert_eq!(store.load(NAME).unwrap().runs, [first]);
}

fn a_discarded_pair_marks_the_runs_that_are_not_marked(bed: &Bed) {
    let mut store = bed.open();
    store.save(&begun()).unwrap();
    for (number, arm, pair) in [(1, "a", 1), (2, "b", 1), (3, "a", 2), (4, "b", 2)] {
        store.add_run(NAME, &run(number, arm, pair)).unwrap();
    }
    store.discard_pair(NAME, 1, "steal").unwrap();
    // The pair is repeated under its number.
    store.add_run(NAME, &run(5, "b", 1)).unwrap();
    store.discard_pair(NAME, 1, "the server died").unwrap();
    store.discard_pair(NAME, 9, "none of it was run").unwrap();
    let why: Vec<Option<String>> = store
        .load(NAME)
        .unwrap()
        .runs
        .into_iter()
        .map(|run| run.discarded)
        .collect();
    let [steal, died] = ["steal", "the server died"].map(|why| Some(why.to_owned()));
    assert_eq!(why, [steal.clone(), steal, None, None, died]);
    let marked = bed.rows("SELECT number, discarded FROM dbdyno.run WHERE discarded IS NOT NULL");
    assert_eq!(marked.len(), 3, "{marked:?}");
    let error = store.discard_pair("tune-0", 1, "steal").unwrap_err();
    assert!(matches!(error, StoreError::NotFound { .. }), "{error}");
}

fn what_json_cannot_hold_is_refused_and_stores_nothing(bed: &Bed) {
    let mut store = bed.open();
    let mut tune = tune();
    tune.runs[3].tps = f64::INFINITY;
    let error = store.save(&tune).unwrap_err();
    assert!(
        error.to_string().starts_with(&format!("run 4 of {NAME}: ")),
        "{error}"
    );
    assert!(store.list().unwrap().is_empty());
    store.save(&begun()).unwrap();
    let error = store.add_run(NAME, &tune.runs[3]).unwrap_err();
    assert!(matches!(error, StoreError::Document { .. }), "{error}");
    tune.runs = vec![run(1, "a", 1), run(1, "b", 1)];
    let error = store.save(&tune).unwrap_err();
    assert!(
        error.to_string().contains("two runs have the number 1"),
        "{error}"
    );
    assert_eq!(store.load(NAME).unwrap(), begun());
    tune.name.clear();
    assert!(matches!(
        store.save(&tune),
        Err(StoreError::Document { .. })
    ));
}

fn a_document_that_is_damaged_or_newer_is_told_of(bed: &Bed) {
    let mut store = bed.open();
    let mut other = begun();
    other.name = "other".into();
    store.save(&tune()).unwrap();
    store.save(&other).unwrap();
    let zeros = if bed.is_sqlite() {
        "zeroblob(9)"
    } else {
        r"'\x000000'"
    };
    bed.execute(&format!(
        "UPDATE dbdyno.run SET document = {zeros} WHERE number = 5"
    ));
    let error = store.load(NAME).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    assert!(
        error.to_string().contains(&format!("run 5 of {NAME}")),
        "{error}"
    );
    assert!(error.hint().unwrap().contains("dbdyno runs export"));
    let error = store.discard_pair(NAME, 2, "steal").unwrap_err();
    assert!(
        error.to_string().contains(&format!("run 5 of {NAME}")),
        "{error}"
    );
    // Neither of the pair is marked.
    let marked = bed.rows("SELECT number FROM dbdyno.run WHERE discarded IS NOT NULL");
    assert_eq!(marked.len(), 2, "{marked:?}");
    assert_eq!(
        store.load("other").unwrap(),
        other,
        "the others are still read"
    );

    // zlib, stored without compression.
    let newer = hex_of_stored(br#"{"schema":"dbdyno.tune/2","dbdyno_version":"3.1.4"}"#);
    let newer = if bed.is_sqlite() {
        format!("x'{newer}'")
    } else {
        format!(r"'\x{newer}'")
    };
    bed.execute(&format!(
        "UPDATE dbdyno.trial SET document = {newer} WHERE name = 'other'"
    ));
    let error = store.load("other").unwrap_err();
    assert!(matches!(error, StoreError::Document { .. }), "{error}");
    assert!(
        error.to_string().contains("other: it is dbdyno.tune/2"),
        "{error}"
    );
    assert!(error.hint().unwrap().contains("dbdyno 3.1.4"));
}

/// One block of RFC 1951 that is not compressed, as RFC 1950 wraps it.
fn hex_of_stored(bytes: &[u8]) -> String {
    let length = u16::try_from(bytes.len()).unwrap();
    let (mut a, mut b) = (1_u32, 0_u32);
    for byte in bytes {
        a = (a + u32::from(*byte)) % 65_521;
        b = (b + a) % 65_521;
    }
    let mut all = vec![0x78, 0x01, 0x01];
    all.extend(length.to_le_bytes());
    all.extend((!length).to_le_bytes());
    all.extend(bytes);
    all.extend((b << 16 | a).to_be_bytes());
    all.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn columns_and_documents_that_disagree_are_told_of(bed: &Bed) {
    let mut store = bed.open();
    store.save(&tune()).unwrap();
    bed.execute("UPDATE dbdyno.run SET discarded = 'by hand' WHERE number = 6");
    let error = store.load(NAME).unwrap_err();
    assert!(
        error.to_string().contains("tell different things"),
        "{error}"
    );
    bed.execute("UPDATE dbdyno.run SET discarded = NULL WHERE number = 6");
    bed.execute("UPDATE dbdyno.run SET number = 60 WHERE number = 6");
    let error = store.load(NAME).unwrap_err();
    assert!(
        error.to_string().contains("its document is that of run 6"),
        "{error}"
    );
    let StoreError::Damaged { location, .. } = error else {
        panic!("{error}")
    };
    assert_eq!(matches!(location, Location::File(_)), bed.is_sqlite());
}
