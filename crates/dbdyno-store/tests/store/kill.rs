//! A process that is killed while it adds runs loses none that was said to be stored.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Command, Stdio};

use crate::bed::{Bed, open};
use crate::trials::{NAME, begun, run};

crate::on_both!(a_killed_writer_loses_no_run);

const ADDRESS: &str = "DBDYNO_TEST_WRITES";

fn a_killed_writer_loses_no_run(bed: &Bed) {
    if let Ok(address) = std::env::var(ADDRESS) {
        return write_until_killed(&address);
    }
    bed.open().save(&begun()).unwrap();
    // What the killed ones cannot remove goes with this.
    let scratch = tempfile::tempdir().unwrap();
    let mut stored = 0;
    // Wherever in a transaction the kill falls.
    for round in 1..=5_u32 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "kill::sqlite::a_killed_writer_loses_no_run"])
            .env(ADDRESS, bed.address())
            .env("TMPDIR", scratch.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut said = 0;
        while said < stored + round * 7 {
            said = read_line(&mut lines).expect("the child writes until it is killed");
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let mut rest = String::new();
        lines.read_to_string(&mut rest).unwrap();
        said = rest.lines().rev().find_map(number).unwrap_or(said);

        let runs = bed.open().load(NAME).unwrap().runs;
        stored = u32::try_from(runs.len()).unwrap();
        // The one more was stored, and its process did not live to say so.
        assert!(
            stored == said || stored == said + 1,
            "{stored} stored, {said} said"
        );
        for (at, stored) in (1..).zip(&runs) {
            assert_eq!(*stored, run(at, "a", at));
        }
    }
}

fn read_line(lines: &mut impl std::io::BufRead) -> Option<u32> {
    lines
        .lines()
        .map_while(Result::ok)
        .find_map(|line| number(&line))
}

/// Whole lines only: the last one may be cut off.
fn number(line: &str) -> Option<u32> {
    line.strip_prefix("run ")?.strip_suffix('.')?.parse().ok()
}

fn write_until_killed(address: &str) {
    let mut store = open(address).unwrap();
    let before = store.load(NAME).unwrap().runs.len();
    let mut output = std::io::stdout();
    for at in u32::try_from(before).unwrap() + 1.. {
        store.add_run(NAME, &run(at, "a", at)).unwrap();
        // Straight to the pipe: println! would be held back by the test's runner.
        writeln!(output, "run {at}.").unwrap();
        output.flush().unwrap();
    }
}
