//! Database servers for the tests, in a directory of the build: nothing is installed.

mod mysql;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use dbdyno_target::lab::{Binaries, Home, PINNED, Wanted};

use crate::command;

/// Where the servers of the tests live.
pub(crate) fn directory() -> PathBuf {
    command::root().join("target/test-servers")
}

/// What a test run needs to know of its servers.
pub(crate) struct Servers {
    /// Directories that hold `postgres`, the Debian build first.
    pub(crate) bin_directories: Vec<PathBuf>,
    /// Libraries of the unpacked packages, where the machine lacks them.
    pub(crate) library_path: Option<PathBuf>,
    /// Unpacked packages of MariaDB and MySQL, as far as they are to be had.
    pub(crate) mysql_roots: Vec<PathBuf>,
    /// What is tested elsewhere, and was not to be had here.
    pub(crate) missing: Vec<Missing>,
}

impl Servers {
    /// # Errors
    /// One was not to be had: what passes without it has not shown much.
    pub(crate) fn all_there(&self) -> Result<(), String> {
        if self.missing.is_empty() {
            return Ok(());
        }
        let missing: Vec<String> = self.missing.iter().map(Missing::to_string).collect();
        Err(missing.join("\n"))
    }
}

/// A server that was not to be had, and why.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Missing {
    server: String,
    why: String,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not tested: {}", self.server, self.why)
    }
}

/// What was fetched, where it was; else it is said, and noted.
fn note<T>(server: &str, fetched: Result<T, String>, missing: &mut Vec<Missing>) -> Option<T> {
    let noted = fetched.map_err(|why| Missing {
        server: server.to_owned(),
        why,
    });
    match noted {
        Ok(fetched) => Some(fetched),
        Err(one) => {
            println!("{one}");
            missing.push(one);
            None
        }
    }
}

/// Debian's PostgreSQL and every pinned build, fetched once.
pub(crate) fn fetch() -> Result<Servers, String> {
    let mut missing = Vec::new();
    let debian = note("Debian's PostgreSQL", debian(), &mut missing);
    let (bin, library_path) = debian.unzip();
    let mut bin_directories: Vec<PathBuf> = bin.into_iter().collect();
    for pin in PINNED {
        let server = format!("PostgreSQL {}", pin.version);
        bin_directories.extend(note(&server, pinned(pin.version), &mut missing));
    }
    if bin_directories.is_empty() {
        return Err("no PostgreSQL server could be fetched for the tests".into());
    }
    let mysql_roots = mysql::fetch(&mut missing);
    Ok(Servers {
        bin_directories,
        library_path,
        mysql_roots,
        missing,
    })
}

fn pinned(version: &str) -> Result<PathBuf, String> {
    let directory = directory();
    let home = Home {
        labs: directory.join("labs"),
        binaries: directory.join("pinned"),
    };
    // The version alone: what is installed may be another build of the same major.
    let wanted = Wanted {
        server_bin: None,
        version: Some(version.to_owned()),
    };
    Binaries::find(&wanted, &home, &|line| println!("{line}"))
        .map(|binaries| binaries.directory)
        .map_err(|error| error.to_string())
}

/// Downloads Debian's package and those of its libraries that are missing here, and unpacks them.
fn debian() -> Result<(PathBuf, PathBuf), String> {
    let place = directory().join("debian");
    let root = place.join("root");
    let libraries = root.join(format!("usr/lib/{}-linux-gnu", std::env::consts::ARCH));
    if let Some(bin) = unpacked(&root) {
        return Ok((bin, libraries));
    }
    let package = newest_package(&place)?;
    println!("fetching {package} from Debian (once)");
    let client = package.replace("postgresql-", "postgresql-client-");
    apt(
        &place,
        &[
            "--download-only",
            "--reinstall",
            "--no-install-recommends",
            "install",
            &package,
            &client,
        ],
    )?;
    let archives = place.join("cache/archives");
    let entries = fs::read_dir(&archives).map_err(|e| format!("{}: {e}", archives.display()))?;
    for entry in entries
        .flatten()
        .filter(|entry| entry.path().extension().is_some_and(|e| e == "deb"))
    {
        command::read(
            Command::new("dpkg-deb")
                .arg("-x")
                .arg(entry.path())
                .arg(&root),
        )?;
    }
    unpacked(&root)
        .map(|bin| (bin, libraries))
        .ok_or_else(|| format!("{package} holds no server"))
}

fn unpacked(root: &Path) -> Option<PathBuf> {
    let versions = fs::read_dir(root.join("usr/lib/postgresql")).ok()?;
    let bins = versions.flatten().map(|version| version.path().join("bin"));
    bins.into_iter()
        .find(|bin| bin.join("postgres").exists() && bin.join("psql").exists())
}

fn newest_package(place: &Path) -> Result<String, String> {
    for directory in ["lists/partial", "cache/archives/partial"] {
        let directory = place.join(directory);
        fs::create_dir_all(&directory).map_err(|e| format!("{}: {e}", directory.display()))?;
    }
    apt(place, &["update"])?;
    let mut search = Command::new("apt-cache");
    search
        .args(options(place))
        .args(["search", "--names-only", r"^postgresql-[0-9]+$"]);
    let names = command::read(&mut search)?;
    names
        .lines()
        .filter_map(|line| line.split(' ').next())
        .max_by_key(|name| {
            name.rsplit('-')
                .next()
                .and_then(|major| major.parse::<u32>().ok())
        })
        .map(str::to_owned)
        .ok_or_else(|| "this system's package sources have no PostgreSQL server".to_owned())
}

/// apt's state in a directory of ours, so that no root is needed and nothing of the system's moves.
fn options(place: &Path) -> Vec<String> {
    let option = |name: &str, value: String| ["-o".to_owned(), format!("{name}={value}")];
    [
        option(
            "Dir::State::lists",
            place.join("lists").display().to_string(),
        ),
        option("Dir::Cache", place.join("cache").display().to_string()),
        option("Debug::NoLocking", "true".into()),
        option("APT::Sandbox::User", String::new()),
    ]
    .concat()
}

fn apt(place: &Path, arguments: &[&str]) -> Result<(), String> {
    let mut apt = Command::new("apt-get");
    apt.args(options(place))
        .args(["--quiet=2", "--yes"])
        .args(arguments);
    command::read(&mut apt).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_to_be_had_is_noted_with_its_reason() {
        let mut missing = Vec::new();
        assert_eq!(note("MariaDB", Ok(1), &mut missing), Some(1));
        let failed: Result<u8, String> = Err("no package sources".to_owned());
        assert_eq!(note("MySQL 9.7", failed, &mut missing), None);
        let mut servers = Servers {
            bin_directories: Vec::new(),
            library_path: None,
            mysql_roots: Vec::new(),
            missing,
        };
        let told = servers.all_there().unwrap_err();
        assert_eq!(told, "MySQL 9.7 is not tested: no package sources");
        servers.missing.clear();
        assert_eq!(servers.all_there(), Ok(()));
    }
}
