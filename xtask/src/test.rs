//! `cargo xtask test`: fetches what the tests need, says what cannot run here, runs the rest.

use std::process::Command;

use crate::{browser, command, servers};

/// Tests whose names begin so are about what only root can do.
const ROOT_ONLY: &str = "needs_root_";
/// Tests whose names begin so open pages in Chromium.
const BROWSER_ONLY: &str = "needs_browser_";
/// Tests whose names begin so start MySQL or MariaDB.
const MYSQL_ONLY: &str = "needs_mysql_";

pub(crate) fn run(arguments: &[&str]) -> Result<(), String> {
    let servers = servers::fetch()?;
    let root = is_root()?;
    let browser = browser::fetch(root);
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
    let mut skipped = Vec::new();
    if !root {
        skipped.push(Skipped::new(ROOT_ONLY, "need root")?);
    }
    if servers.mysql_roots.is_empty() {
        skipped.push(Skipped::new(MYSQL_ONLY, "need MySQL or MariaDB")?);
    } else {
        let roots = std::env::join_paths(&servers.mysql_roots).map_err(|e| e.to_string())?;
        test.env("DBDYNO_TEST_MYSQL_ROOTS", roots);
    }
    match browser {
        Ok(browser) => {
            test.env("DBDYNO_TEST_BROWSER", browser.directory);
            test.env("DBDYNO_TEST_CHROMIUM", browser.chromium);
        }
        Err(why) => skipped.push(Skipped::new(BROWSER_ONLY, &format!("open pages: {why}"))?),
    }
    for skipped in &skipped {
        test.args(["--skip", skipped.prefix]);
    }
    command::run(&mut test)?;
    println!("\nservers tested:");
    for directory in servers.bin_directories.iter().chain(&servers.mysql_roots) {
        println!("  {}", directory.display());
    }
    for Skipped { why, tests, .. } in skipped {
        println!("{} tests {why}; not run:", tests.len());
        tests.iter().for_each(|name| println!("  {name}"));
    }
    Ok(())
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
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let mut list = Command::new(cargo);
    list.current_dir(command::root())
        .args(["test", "--workspace", "--", "--list", prefix]);
    let text = command::read(&mut list)?;
    Ok(text
        .lines()
        .filter_map(|line| line.strip_suffix(": test"))
        .map(str::to_owned)
        .collect())
}
