//! `cargo xtask test`: fetches what the tests need, says what cannot run here, runs the rest.

mod programs;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use crate::{browser, command, servers};

/// Tests whose names begin so are about what only root can do.
const ROOT_ONLY: &str = "needs_root_";
/// Tests whose names begin so open pages in Chromium.
const BROWSER_ONLY: &str = "needs_browser_";
/// Tests whose names begin so start MySQL or MariaDB.
const MYSQL_ONLY: &str = "needs_mysql_";

/// Everything, side by side; with arguments, what `cargo test` makes of them.
pub(crate) fn run(arguments: &[&str]) -> Result<(), String> {
    let servers = servers::fetch()?;
    let root = is_root()?;
    let browser = browser::fetch(root);
    // First without the servers' libraries: they are for the servers, not for the compiler.
    command::cargo(&["test", "--workspace", "--no-run"])?;
    let mut environment = vec![("DBDYNO_TEST_PG_DIRS", joined(&servers.bin_directories)?)];
    if let Some(libraries) = &servers.library_path {
        environment.push(("LD_LIBRARY_PATH", libraries.into()));
    }
    let mut skipped = Vec::new();
    if !root {
        skipped.push(Skipped::new(ROOT_ONLY, "need root")?);
    }
    if servers.mysql_roots.is_empty() {
        skipped.push(Skipped::new(MYSQL_ONLY, "need MySQL or MariaDB")?);
    } else {
        environment.push(("DBDYNO_TEST_MYSQL_ROOTS", joined(&servers.mysql_roots)?));
    }
    match browser {
        Ok(browser) => {
            environment.push(("DBDYNO_TEST_BROWSER", browser.directory.into()));
            environment.push(("DBDYNO_TEST_CHROMIUM", browser.chromium.into()));
        }
        Err(why) => skipped.push(Skipped::new(BROWSER_ONLY, &format!("open pages: {why}"))?),
    }
    let prepare = |command: &mut Command| {
        command.envs(environment.iter().cloned());
        for skipped in &skipped {
            command.args(["--skip", skipped.prefix]);
        }
    };
    let result = if arguments.is_empty() {
        command::cargo(&["test", "--workspace", "--doc", "--quiet"])
            .and_then(|()| programs::run(&prepare))
    } else {
        let mut test = command::cargo_command();
        test.args(["test", "--workspace", "--no-fail-fast"]);
        test.args(arguments).arg("--");
        prepare(&mut test);
        command::run(&mut test)
    };
    println!("\nservers tested:");
    for directory in servers.bin_directories.iter().chain(&servers.mysql_roots) {
        println!("  {}", directory.display());
    }
    for missing in &servers.missing {
        println!("{missing}");
    }
    for Skipped { why, tests, .. } in skipped {
        println!("{} tests {why}; not run:", tests.len());
        tests.iter().for_each(|name| println!("  {name}"));
    }
    result
}

fn joined(paths: &[PathBuf]) -> Result<OsString, String> {
    std::env::join_paths(paths).map_err(|error| error.to_string())
}

/// Tests that cannot run here, and why.
struct Skipped {
    prefix: &'static str,
    why: String,
    tests: Vec<String>,
}

impl Skipped {
    fn new(prefix: &'static str, why: &str) -> Result<Self, String> {
        Ok(Self {
            prefix,
            why: why.to_owned(),
            tests: tests_with(prefix)?,
        })
    }
}

fn is_root() -> Result<bool, String> {
    Ok(command::read(Command::new("id").arg("-u"))?.trim() == "0")
}

fn tests_with(prefix: &str) -> Result<Vec<String>, String> {
    let mut list = command::cargo_command();
    list.current_dir(command::root())
        .args(["test", "--workspace", "--", "--list", prefix]);
    let text = command::read(&mut list)?;
    Ok(text
        .lines()
        .filter_map(|line| line.strip_suffix(": test"))
        .map(str::to_owned)
        .collect())
}
