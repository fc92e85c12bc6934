//! `cargo xtask test`: fetches what the tests need, says what cannot run here, runs the rest.

use std::process::Command;

use crate::{command, servers};

/// Tests whose names begin so are about what only root can do.
const ROOT_ONLY: &str = "needs_root_";

pub(crate) fn run(arguments: &[&str]) -> Result<(), String> {
    let servers = servers::fetch()?;
    // First without the servers' libraries: they are for the servers, not for the compiler.
    command::cargo(&["test", "--workspace", "--no-run"])?;
    let mut test = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()));
    test.args(["test", "--workspace", "--no-fail-fast"]);
    let directories = std::env::join_paths(&servers.bin_directories).map_err(|e| e.to_string())?;
    test.env("DBDYNO_TEST_PG_DIRS", directories);
    // Labs of the tests stay out of the user's.
    if let Some(libraries) = &servers.library_path {
        test.env("LD_LIBRARY_PATH", libraries);
    }
    test.args(arguments).arg("--");
    let skipped = if is_root()? { Vec::new() } else { root_only()? };
    if !skipped.is_empty() {
        test.args(["--skip", ROOT_ONLY]);
    }
    command::run(&mut test)?;
    println!("\nservers tested:");
    for directory in &servers.bin_directories {
        println!("  {}", directory.display());
    }
    if !skipped.is_empty() {
        println!("{} tests need root and were not run:", skipped.len());
        skipped.iter().for_each(|name| println!("  {name}"));
    }
    Ok(())
}

fn is_root() -> Result<bool, String> {
    Ok(command::read(Command::new("id").arg("-u"))?.trim() == "0")
}

fn root_only() -> Result<Vec<String>, String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let mut list = Command::new(cargo);
    list.current_dir(command::root())
        .args(["test", "--workspace", "--", "--list", ROOT_ONLY]);
    let text = command::read(&mut list)?;
    Ok(text
        .lines()
        .filter_map(|line| line.strip_suffix(": test"))
        .map(str::to_owned)
        .collect())
}
