//! Names: taken, found, listed and removed.

use dbdyno_model::verdict::Word;
use dbdyno_model::{Facts, Tune};
use dbdyno_store::{StoreError, Summary};

use crate::bed::Bed;
use crate::trials::{NAME, begun, run, tune};

crate::on_both!(
    a_name_belongs_to_one_trial,
    a_text_finds_the_trial_that_is_meant,
    a_summary_tells_what_the_trial_tells,
    pairs_are_counted_before_there_is_a_verdict,
    a_thousand_trials_are_listed_without_their_documents,
    a_trial_is_removed_with_its_runs,
);

fn named(name: &str, started_at: &str) -> Tune {
    Tune {
        name: name.into(),
        started_at: started_at.into(),
        ..begun()
    }
}

fn a_name_belongs_to_one_trial(bed: &Bed) {
    let mut store = bed.open();
    let first = tune();
    store.save(&first).unwrap();
    let later = Tune {
        started_at: "2026-11-21T21:46:41Z".into(),
        ..first.clone()
    };
    let by_another_command = Tune {
        command: vec!["dbdyno".into(), "tune".into()],
        ..first.clone()
    };
    for other in [later, by_another_command] {
        let error = store.save(&other).unwrap_err();
        assert!(matches!(error, StoreError::NameTaken { .. }), "{error}");
        assert!(
            error
                .hint()
                .unwrap()
                .contains(&format!("dbdyno runs remove {NAME}"))
        );
        assert_eq!(store.load(NAME).unwrap(), first, "nothing was touched");
    }
    let mut noted = first.clone();
    noted.notes.push("seen again".into());
    noted.runs.pop();
    store.save(&noted).unwrap();
    assert_eq!(store.load(NAME).unwrap(), noted);
}

fn a_text_finds_the_trial_that_is_meant(bed: &Bed) {
    let mut store = bed.open();
    let error = store.resolve("latest").unwrap_err();
    assert!(
        matches!(error, StoreError::NotFound { is_empty: true, .. }),
        "{error}"
    );
    assert!(error.hint().unwrap().contains("holds no trial yet"));
    for (name, started_at) in [
        ("tune-20261121T214640Z-k3f9", "2026-11-21T21:46:40Z"),
        // Newest, though not the last by name.
        ("tune-20261121T214640Z-a222", "2026-11-22T08:00:00Z"),
        ("before", "2026-11-01T00:00:00Z"),
        ("before-k3f9", "2026-11-02T00:00:00Z"),
    ] {
        store.save(&named(name, started_at)).unwrap();
    }
    let mut found = |text: &str| store.resolve(text).unwrap();
    assert_eq!(found("latest"), "tune-20261121T214640Z-a222");
    assert_eq!(found("before"), "before", "the exact name is meant");
    assert_eq!(found("before-"), "before-k3f9");
    assert_eq!(found("a222"), "tune-20261121T214640Z-a222");
    for (text, wanted) in [
        (
            "tune-2026",
            ["tune-20261121T214640Z-a222", "tune-20261121T214640Z-k3f9"],
        ),
        ("k3f9", ["tune-20261121T214640Z-k3f9", "before-k3f9"]),
    ] {
        let error = store.resolve(text).unwrap_err();
        let StoreError::Ambiguous { candidates, .. } = &error else {
            panic!("{error}")
        };
        assert_eq!(*candidates, wanted, "newest first");
        assert!(error.hint().is_some());
    }
    // Nothing in it is a pattern.
    for text in ["%", "tune%", "_efore", "3f9", "", "BEFORE"] {
        let error = store.resolve(text).unwrap_err();
        assert!(
            matches!(
                error,
                StoreError::NotFound {
                    is_empty: false,
                    ..
                }
            ),
            "{error}"
        );
        assert!(error.to_string().contains(&format!("`{text}`")), "{error}");
        assert!(error.hint().unwrap().contains("dbdyno runs list"));
    }
    let error = store.load("befor").unwrap_err();
    assert!(
        error.hint().unwrap().contains("dbdyno runs list"),
        "loading does not guess"
    );
}

fn a_summary_tells_what_the_trial_tells(bed: &Bed) {
    let mut store = bed.open();
    let tune = tune();
    store.save(&tune).unwrap();
    let listed = store.list().unwrap();
    let bytes = listed[0].bytes;
    let wanted = Summary {
        name: NAME.into(),
        started_at: "2026-11-21T21:46:40Z".into(),
        finished_at: Some("2026-11-21T21:58:10Z".into()),
        complete: true,
        workload: "TPC-C".into(),
        machine: tune.machine.summary,
        server: "PostgreSQL 15.18".into(),
        budget: Some("quick".into()),
        arms: vec!["shipped".into(), "recommended".into()],
        word: Some(Word::Improved),
        ratio: Some(1.312),
        interval: Some([1.252, 1.375]),
        level: Some(0.95),
        pairs: 2,
        runs: 8,
        bytes,
        dbdyno_version: "0.1.0".into(),
    };
    assert_eq!(listed, [wanted]);
    let json = serde_json::to_value(&listed[0]).unwrap();
    assert_eq!(json["word"], "improved");
    let length = if bed.is_sqlite() {
        "length"
    } else {
        "octet_length"
    };
    let sum = |table: &str| -> u64 {
        let sql = format!("SELECT sum({length}(document)) AS bytes FROM {table}");
        let digits: String = bed.rows(&sql)[0]
            .chars()
            .filter(char::is_ascii_digit)
            .collect();
        digits.parse().unwrap()
    };
    assert_eq!(bytes, sum("dbdyno.trial") + sum("dbdyno.run"));
}

fn pairs_are_counted_before_there_is_a_verdict(bed: &Bed) {
    let mut store = bed.open();
    store.save(&begun()).unwrap();
    let summary = store.list().unwrap().remove(0);
    assert_eq!((summary.pairs, summary.runs), (0, 0));
    assert_eq!(
        (summary.word, summary.ratio, summary.interval),
        (None, None, None)
    );
    assert_eq!((summary.level, summary.complete), (None, false));
    for (number, pair) in [(1, 1), (2, 1), (3, 1), (4, 1), (5, 2)] {
        if number == 3 {
            store.discard_pair(NAME, 1, "steal").unwrap();
        }
        store.add_run(NAME, &run(number, "a", pair)).unwrap();
    }
    let summary = store.list().unwrap().remove(0);
    // Pair 1 was repeated, and of pair 2 one run is missing.
    assert_eq!((summary.pairs, summary.runs), (1, 5));
}

fn a_thousand_trials_are_listed_without_their_documents(bed: &Bed) {
    let mut store = bed.open();
    let mut wanted = Vec::new();
    for number in 0..1_000_u32 {
        // Saved in an order that is not that of time.
        let minute = number * 389 % 1_000;
        let started_at = format!("2026-11-21T{:02}:{:02}:00Z", minute / 60, minute % 60);
        let mut trial = Tune {
            facts: Facts::default(),
            ..named(&format!("tune-{number:04}"), &started_at)
        };
        if number % 100 == 0 {
            trial.runs = vec![run(1, "a", 1), run(2, "b", 1)];
        }
        store.save(&trial).unwrap();
        wanted.push((started_at, trial.name));
    }
    wanted.sort();
    wanted.reverse();
    let junk = if bed.is_sqlite() { "x'00'" } else { r"'\x00'" };
    bed.execute(&format!("UPDATE dbdyno.trial SET document = {junk}"));
    bed.execute(&format!("UPDATE dbdyno.run SET document = {junk}"));
    let listed = store.list().unwrap();
    let order: Vec<(String, String)> = listed
        .iter()
        .map(|trial| (trial.started_at.clone(), trial.name.clone()))
        .collect();
    assert_eq!(order, wanted);
    assert_eq!(listed.iter().map(|trial| trial.runs).sum::<u32>(), 20);
    assert_eq!(listed.iter().map(|trial| trial.bytes).sum::<u64>(), 1_020);
    assert_eq!(store.resolve("latest").unwrap(), wanted[0].1);
}

fn a_trial_is_removed_with_its_runs(bed: &Bed) {
    let mut store = bed.open();
    let kept = Tune {
        name: "kept".into(),
        ..tune()
    };
    store.save(&tune()).unwrap();
    store.save(&kept).unwrap();
    store.remove(NAME).unwrap();
    assert_eq!(
        bed.rows("SELECT number FROM dbdyno.run").len(),
        kept.runs.len()
    );
    assert_eq!(store.load("kept").unwrap(), kept);
    for missing in [NAME, "kep"] {
        let error = store.remove(missing).unwrap_err();
        assert!(matches!(error, StoreError::NotFound { .. }), "{error}");
    }
    // The name is free again.
    store.save(&named(NAME, "2027-01-01T00:00:00Z")).unwrap();
}
