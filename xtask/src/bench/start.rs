//! Seconds from the start of `dbdyno tune` to its plan and to its first measured second.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::time::Instant;

use super::{dbdyno, median};

const REPEATS: usize = 5;

pub(super) fn run() -> Result<(), String> {
    // Once before, so that a download is not counted.
    once()?;
    let figures: Vec<(f64, f64)> = (0..REPEATS).map(|_| once()).collect::<Result<_, _>>()?;
    let plan = median(figures.iter().map(|figure| figure.0).collect());
    let live = median(figures.iter().map(|figure| figure.1).collect());
    println!("start: plan after {plan:.1} s, first measured second after {live:.1} s");
    println!("       (1 warehouse, cached binaries, median of {REPEATS})");
    Ok(())
}

fn once() -> Result<(f64, f64), String> {
    let begun = Instant::now();
    let mut command = dbdyno(&["tune", "--warehouses", "1"]);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let stderr = child.stderr.take().ok_or("no standard error")?;
    let mut plan = None;
    let mut lines = BufReader::new(stderr).lines().map_while(Result::ok);
    let live = lines.find_map(|line| {
        if line.starts_with("measuring ") {
            plan = Some(begun.elapsed().as_secs_f64());
        }
        line.starts_with("pair 1 of")
            .then(|| begun.elapsed().as_secs_f64())
    });
    interrupt(&mut child);
    // Read on, so that it can say its last words.
    lines.for_each(drop);
    child.wait().map_err(|error| error.to_string())?;
    plan.zip(live)
        .ok_or_else(|| "dbdyno did not get to its first run".to_owned())
}

fn interrupt(child: &mut Child) {
    dbdyno_target::process::signal(child.id(), dbdyno_target::process::Signal::INT);
}
