//! Several at once: threads and processes that open a fresh store, and that write to one.

use std::process::{Command, Stdio};
use std::sync::Barrier;
use std::thread;

use crate::bed::{Bed, open};
use crate::trials::{NAME, begun, run};

crate::on_both!(
    threads_open_a_fresh_store_at_once,
    processes_open_a_fresh_store_at_once,
    writers_of_one_trial_take_turns,
);

const ADDRESS: &str = "DBDYNO_TEST_OPENS";

fn threads_open_a_fresh_store_at_once(bed: &Bed) {
    let barrier = Barrier::new(8);
    thread::scope(|scope| {
        for number in 0..8 {
            let barrier = &barrier;
            scope.spawn(move || {
                barrier.wait();
                let mut trial = begun();
                trial.name = format!("tune-{number}");
                bed.open().save(&trial).unwrap();
            });
        }
    });
    assert_eq!(bed.open().list().unwrap().len(), 8);
}

fn processes_open_a_fresh_store_at_once(bed: &Bed) {
    if let Ok(address) = std::env::var(ADDRESS) {
        let mut trial = begun();
        trial.name = format!("tune-{}", std::process::id());
        return open(&address).unwrap().save(&trial).unwrap();
    }
    let engine = if bed.is_sqlite() {
        "sqlite"
    } else {
        "postgres"
    };
    let children: Vec<_> = (0..6)
        .map(|_| {
            // Each opens a bed of its own too, which for a file costs nothing.
            Command::new(std::env::current_exe().unwrap())
                .args([
                    "--exact",
                    "together::sqlite::processes_open_a_fresh_store_at_once",
                ])
                .env(ADDRESS, bed.address())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            output.status.success() && said.contains("1 passed"),
            "{engine}: {said}"
        );
    }
    assert_eq!(bed.open().list().unwrap().len(), 6);
}

fn writers_of_one_trial_take_turns(bed: &Bed) {
    bed.open().save(&begun()).unwrap();
    thread::scope(|scope| {
        for writer in 0..4 {
            scope.spawn(move || {
                let mut store = bed.open();
                for count in 0..15 {
                    let number = writer * 15 + count + 1;
                    store
                        .add_run(NAME, &run(number, "a", number % 5 + 1))
                        .unwrap();
                    if number % 5 == 4 {
                        store.discard_pair(NAME, 5, "others").unwrap();
                    }
                }
            });
        }
    });
    let runs = bed.open().load(NAME).unwrap().runs;
    let numbers: Vec<u32> = runs.iter().map(|run| run.number).collect();
    assert_eq!(numbers, (1..=60).collect::<Vec<u32>>());
    // Each writer discards pair 5 right after its own run of it.
    for run in runs {
        assert_eq!(run.discarded.is_some(), run.pair == Some(5), "{run:?}");
    }
}
