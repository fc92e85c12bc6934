//! Disks that fill up half-way: told with their directory and a hint, and nothing stays behind.

use dbdyno_bench::tpcc;
use dbdyno_target::lab::{LabError, LabOptions};
use dbdyno_testing::{SmallDisk, binaries};

use super::*;

/// Grows as it runs, and no faster than a small disk bears on any machine until it is filled.
const GROWING: &str = "-- dbdyno: setup
CREATE TABLE event (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, note text NOT NULL);
-- dbdyno: transaction note
INSERT INTO event (note) SELECT repeat('x', 1000) FROM generate_series(1, 10);
SELECT pg_sleep(0.01);
-- dbdyno: check no-note-is-short
SELECT 1 FROM event WHERE length(note) <> 1000 LIMIT 1;
";

fn lab_on(disk: &SmallDisk, disk_bytes: u64) -> Lab {
    let options = LabOptions {
        disk_bytes,
        ..LabOptions::default()
    };
    let lab = Lab::create(&disk.home(), binaries(), &options).unwrap();
    lab.init().unwrap();
    lab
}

/// The full disk is told; the lab goes, and then nothing uses the disk any more.
fn assert_told_and_left(error: &TrialError, lab: Lab, disk: SmallDisk) {
    let directory = lab.directory().to_path_buf();
    let TrialError::Lab(LabError::Full { .. }) = error else {
        panic!("{error:?}")
    };
    let text = error.to_string();
    assert!(text.contains(&*directory.to_string_lossy()), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    let hint = error.hint().unwrap();
    assert!(
        hint.contains("free some space") && hint.contains("DBDYNO_DATA_DIR"),
        "{hint}"
    );
    drop(lab);
    assert!(!directory.exists());
    disk.unmount();
}

#[test]
fn needs_root_a_disk_that_fills_up_during_the_load_is_told() {
    let disk = SmallDisk::mount("load-full", 600);
    // Enough for a warehouse, as far as anybody can know beforehand.
    let lab = lab_on(&disk, 400 << 20);
    let workload = Workload::Tpcc(tpcc::Config::default(), tpcc::Mode::default());
    let full = AtomicBool::new(false);
    let others_fill = |progress: dbdyno_bench::workload::Progress| {
        if progress.rows > 0 && !full.swap(true, Ordering::SeqCst) {
            disk.fill();
        }
    };
    let stop = AtomicBool::new(false);
    let error = load_template(&lab, &workload, 2, 1 << 30, &others_fill, &stop).unwrap_err();
    assert!(full.load(Ordering::SeqCst), "{error}");
    assert_told_and_left(&error, lab, disk);
}

#[test]
fn needs_root_a_disk_that_fills_up_during_a_run_keeps_the_finished_pair() {
    let disk = SmallDisk::mount("run-full", 700);
    let lab = lab_on(&disk, 0);
    let mut spec = spec(vec![base(), other()], GROWING);
    spec.budget.open_loop = None;
    template(&lab, &spec);
    let mut listener = Listener {
        fill_after: Some((2, &disk)),
        ..Listener::default()
    };
    let outcome = run(&lab, &spec, &Arc::default(), &mut listener);
    assert!(listener.fill_after.is_none(), "{:?}", outcome.error);
    let arms: Vec<&str> = outcome.runs.iter().map(|run| run.arm.as_str()).collect();
    assert_eq!(arms, ["shipped", "recommended"]);
    assert!(outcome.runs.iter().all(|run| run.pair == Some(1)));
    assert_eq!(listener.saved.len(), 2);
    let verdict = &outcome.verdict;
    assert_eq!((verdict.pairs, verdict.discarded_pairs), (1, 0));
    assert_told_and_left(&outcome.error.unwrap(), lab, disk);
}
