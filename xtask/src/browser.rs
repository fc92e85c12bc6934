//! The browser that tests open reports with, and the checkers it needs, in a directory of the build.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command;

/// Beside the test that uses them.
const SOURCES: &str = "crates/dbdyno/tests/page/browser";
const FILES: [&str; 3] = ["package.json", "package-lock.json", "check.mjs"];
const CHROMIUM: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
/// What the checkers ask for.
const OLDEST_NODE: u32 = 18;

/// What a test needs to open a page.
pub(crate) struct Browser {
    pub(crate) directory: PathBuf,
    pub(crate) chromium: PathBuf,
}

/// Finds or, as root, installs Chromium and Node.js, and fetches the pinned checkers.
pub(crate) fn fetch(root: bool) -> Result<Browser, String> {
    if root && (chromium().is_none() || node().is_none() || which("npm").is_none()) {
        install(&["chromium", "nodejs", "npm"])?;
    }
    let chromium = chromium().ok_or("no Chromium here: apt-get install chromium")?;
    let version = node().ok_or("no Node.js here: apt-get install nodejs npm")?;
    if version < OLDEST_NODE {
        return Err(format!("Node.js {version} is older than {OLDEST_NODE}"));
    }
    let directory = command::root().join("target/test-browser");
    fs::create_dir_all(&directory).map_err(|e| format!("{}: {e}", directory.display()))?;
    let changed = copy(&directory)?;
    if changed || !directory.join("node_modules").exists() {
        println!("fetching the page checkers (once)");
        let mut npm = Command::new("npm");
        npm.args(["ci", "--no-audit", "--no-fund", "--ignore-scripts"])
            .current_dir(&directory);
        command::read(&mut npm)?;
    }
    Ok(Browser {
        directory,
        chromium,
    })
}

/// True when the list of packages is another than the one that was fetched.
fn copy(directory: &Path) -> Result<bool, String> {
    let mut changed = false;
    for name in FILES {
        let (from, to) = (
            command::root().join(SOURCES).join(name),
            directory.join(name),
        );
        let bytes = fs::read(&from).map_err(|e| format!("{}: {e}", from.display()))?;
        changed |= name == "package-lock.json" && fs::read(&to).ok().as_ref() != Some(&bytes);
        fs::write(&to, bytes).map_err(|e| format!("{}: {e}", to.display()))?;
    }
    Ok(changed)
}

fn chromium() -> Option<PathBuf> {
    CHROMIUM.into_iter().find_map(which)
}

fn node() -> Option<u32> {
    let version = command::read(Command::new("node").arg("--version")).ok()?;
    let major = version.trim().trim_start_matches('v').split('.').next()?;
    major.parse().ok()
}

fn which(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|directory| directory.join(name))
        .find(|file| file.is_file())
}

fn install(packages: &[&str]) -> Result<(), String> {
    println!("installing {}", packages.join(", "));
    command::read(Command::new("apt-get").args(["--quiet=2", "update"]))?;
    let mut install = Command::new("apt-get");
    install.env("DEBIAN_FRONTEND", "noninteractive").args([
        "--quiet=2",
        "--yes",
        "--no-install-recommends",
        "install",
    ]);
    // What is there already is left as it is.
    let missing = packages
        .iter()
        .filter(|package| which(package_program(package)).is_none());
    command::read(install.args(missing)).map(drop)
}

fn package_program(package: &str) -> &str {
    if package == "nodejs" { "node" } else { package }
}
