//! `cargo xtask capture`: writes fixtures from this host and from servers, each labelled with how it was made.

mod host;
mod label;
mod mis_set;
mod mounts;
mod planted;
mod server;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::process::Command;

use self::label::Label;
use crate::{command, servers};

const USAGE: &str = "usage: cargo xtask capture …

  host NAME [--data DIR] [--wal DIR] [--server PID] [--note TEXT]
                        this host as a tree, fixtures/hosts/NAME
  server NAME TARGET [--note TEXT]
                        facts of a PostgreSQL, fixtures/facts/NAME.json
  all                   this host as it is and mis-set (needs root), PostgreSQL healthy and mis-set

  --leave-out DIR       of each of them: without the mounts at or below this directory
";

const LEAVE_OUT: &str = "--leave-out";
/// Bin directories of the servers, as the tests name them.
const SERVERS: &str = "DBDYNO_TEST_PG_DIRS";

pub(crate) fn run(arguments: &[&str]) -> Result<(), String> {
    let (arguments, left_out) = left_out(arguments)?;
    let left_out = left_out.as_slice();
    match arguments.as_slice() {
        ["host", name, options @ ..] => host::run(name, options, left_out),
        ["server", name, target] => server_of(name, target, "", left_out),
        ["server", name, target, "--note", note] => server_of(name, target, note, left_out),
        ["all"] => all(left_out),
        // What `all` runs in surroundings of their own.
        ["mis-set", name, limited] => mis_set::run(name, *limited == mis_set::LIMITED, left_out),
        ["planted"] => planted::run(left_out),
        _ => Err(USAGE.to_owned()),
    }
}

/// The other arguments, and the directories of mounts that a fixture is to lack.
fn left_out<'a>(arguments: &[&'a str]) -> Result<(Vec<&'a str>, Vec<&'a str>), String> {
    let (mut others, mut directories) = (Vec::new(), Vec::new());
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        if *argument == LEAVE_OUT {
            directories.push(*arguments.next().ok_or(USAGE)?);
        } else {
            others.push(*argument);
        }
    }
    Ok((others, directories))
}

/// The same as arguments again.
fn leaving_out<'a>(directories: &[&'a str]) -> impl Iterator<Item = &'a str> {
    directories
        .iter()
        .flat_map(|directory| [LEAVE_OUT, *directory])
}

fn server_of(name: &str, target: &str, note: &str, left_out: &[&str]) -> Result<(), String> {
    build()?;
    let expected = Label {
        how: note.to_owned(),
        ..Label::default()
    };
    server::capture(name, target, expected, left_out)
}

fn build() -> Result<(), String> {
    command::cargo(&["build", "--release", "-p", "dbdyno"])
}

/// Everything, as far as it can be made here; what could not be made is the error.
fn all(left_out: &[&str]) -> Result<(), String> {
    let servers = servers::fetch()?;
    build()?;
    let mut planted = Command::new(own_program()?);
    planted
        .args(["capture", "planted"])
        .args(leaving_out(left_out));
    let directories = std::env::join_paths(&servers.bin_directories).map_err(|e| e.to_string())?;
    planted.env(SERVERS, directories);
    if let Some(libraries) = &servers.library_path {
        planted.env("LD_LIBRARY_PATH", libraries);
    }
    let results = [
        ("the healthy host", host::run("vm-healthy", &[], left_out)),
        ("the mis-set host", mis_set::start("vm-mis-set", left_out)),
        ("the servers", command::run(&mut planted)),
    ];
    let failed: Vec<String> = results
        .into_iter()
        .filter_map(|(what, result)| Some(format!("{what}: {}", result.err()?)))
        .collect();
    if failed.is_empty() {
        return Ok(());
    }
    Err(format!("not captured:\n  {}", failed.join("\n  ")))
}

fn own_program() -> Result<PathBuf, String> {
    std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))
}

/// Where a fixture stands, by a name that is one part of a path.
fn fixture(kind: &str, name: &str) -> Result<PathBuf, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    if name.is_empty() || name.starts_with('-') || !name.chars().all(is_plain) {
        return Err(format!(
            "{name:?} is no name of a fixture: letters, digits and hyphens make one"
        ));
    }
    Ok(command::root().join("fixtures").join(kind).join(name))
}
