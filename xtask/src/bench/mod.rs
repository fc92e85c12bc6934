//! `cargo xtask bench`: figures for docs/performance.md, each with the command that makes it.

mod check;
mod compare;
mod drivers;
mod floor;
mod guard;
mod load;
mod machine;
mod measure;
mod noise;
mod postgres;
mod series;
mod server;
mod start;
mod steal;
mod table;
mod trial;

use std::path::PathBuf;
use std::process::Command;

use crate::command;

const NAMES: &str =
    "compare, start, load, noise, trial, or check or drivers, each with its options";

/// Without a name, all but those with options: the drivers take an hour and a half.
pub(crate) fn run(names: &[&str]) -> Result<(), String> {
    match names {
        ["check", options @ ..] => return check::run(options),
        ["drivers", options @ ..] => return drivers::run(options),
        _ => {}
    }
    command::cargo(&["build", "--release", "-p", "dbdyno"])?;
    let names = if names.is_empty() {
        &["compare", "start", "load", "noise", "trial"]
    } else {
        names
    };
    for name in names {
        match *name {
            "compare" => compare::run()?,
            "start" => start::run()?,
            "load" => load::run()?,
            "noise" => noise::run()?,
            "trial" => trial::run()?,
            other => return Err(format!("there is no benchmark {other:?}: {NAMES}")),
        }
    }
    Ok(())
}

/// The release binary with a data directory of the benchmark's own; downloads stay cached.
fn dbdyno(arguments: &[&str]) -> Command {
    let mut command = Command::new(command::root().join("target/release/dbdyno"));
    command
        .args(arguments)
        .env("DBDYNO_DATA_DIR", data_directory());
    command
}

fn data_directory() -> PathBuf {
    std::env::temp_dir().join("dbdyno-bench")
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Runs `tune --json` to its end and returns the document.
fn tune(arguments: &[&str]) -> Result<dbdyno_model::Tune, String> {
    let mut command = dbdyno(&["tune", "--json"]);
    command
        .args(arguments)
        .stderr(std::process::Stdio::inherit());
    let text = command::read(&mut command)?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
}
