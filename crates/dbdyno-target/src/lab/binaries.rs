//! Finds PostgreSQL server binaries: named, on PATH, installed, cached, or downloaded once.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Home, LabError, download};

/// What the user asked for; nothing means the newest that is at hand.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    pub server_bin: Option<PathBuf>,
    /// `18` or `18.6`.
    pub version: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    pub major: u32,
    /// As the server words it: `15.18 (Debian 15.18-0+deb12u1)`.
    pub text: String,
}

impl Version {
    fn satisfies(&self, wanted: &str) -> bool {
        let number = self.text.split(' ').next().unwrap_or(&self.text);
        number == wanted || self.major.to_string() == wanted
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binaries {
    pub directory: PathBuf,
    pub version: Version,
}

impl Binaries {
    /// Looks where the user said, else on PATH, among installed packages, in the cache, and at
    /// last downloads. `announce` hears of a download before it begins.
    pub fn find(wanted: &Wanted, home: &Home, announce: &dyn Fn(&str)) -> Result<Self, LabError> {
        if let Some(version) = &wanted.version {
            supported(version)?;
        }
        if let Some(directory) = &wanted.server_bin {
            let found = Self::at(directory)?;
            return match &wanted.version {
                Some(version) if !found.version.satisfies(version) => Err(LabError::WrongVersion {
                    directory: found.directory,
                    found: found.version.text,
                    wanted: version.clone(),
                }),
                _ => Ok(found),
            };
        }
        let fits = |found: &Self| {
            (13..=18).contains(&found.version.major)
                && wanted
                    .version
                    .as_ref()
                    .is_none_or(|version| found.version.satisfies(version))
        };
        let installed = installed_directories(Path::new("/usr/lib/postgresql"));
        let at_hand = path_directories().chain(installed);
        // A broken installation is not the user's wish here: go on to the next.
        if let Some(found) = at_hand
            .filter(|d| d.join("postgres").exists())
            .find_map(|d| Self::at(&d).ok().filter(fits))
        {
            return Ok(found);
        }
        let version = download::pin_of(wanted.version.as_deref())?;
        Self::at(&download::cached_or_downloaded(version, home, announce)?)
    }

    /// The binaries in this directory (or in its `bin`).
    pub fn at(directory: &Path) -> Result<Self, LabError> {
        let inner = directory.join("bin");
        let directory = if !directory.join("postgres").exists() && inner.join("postgres").exists() {
            inner
        } else {
            directory.to_path_buf()
        };
        for missing in ["postgres", "initdb"] {
            if !directory.join(missing).exists() {
                return Err(LabError::NoServer { directory, missing });
            }
        }
        // The server must find it whatever directory it is started from.
        let directory = directory
            .canonicalize()
            .map_err(LabError::io("resolve", &directory))?;
        let program = directory.join("postgres");
        let does_not_run = |message: String| LabError::DoesNotRun {
            program: program.display().to_string(),
            message,
        };
        let output = Command::new(&program)
            .arg("--version")
            .output()
            .map_err(|error| does_not_run(error.to_string()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() {
            let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(does_not_run(message));
        }
        let version = parse_version(&text)
            .ok_or_else(|| does_not_run(format!("it calls itself {:?}", text.trim())))?;
        if !(13..=18).contains(&version.major) {
            return Err(LabError::UnknownVersion {
                wanted: version.text,
            });
        }
        Ok(Self { directory, version })
    }

    pub fn program(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }
}

fn supported(version: &str) -> Result<(), LabError> {
    let major = version
        .split('.')
        .next()
        .and_then(|major| major.parse::<u32>().ok());
    match major {
        Some(13..=18) => Ok(()),
        _ => Err(LabError::UnknownVersion {
            wanted: version.to_owned(),
        }),
    }
}

fn path_directories() -> impl Iterator<Item = PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).collect::<Vec<_>>().into_iter()
}

/// `VERSION/bin` directories as Debian lays them out, newest first.
fn installed_directories(root: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let mut versions: Vec<(u32, PathBuf)> = std::fs::read_dir(root)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let major = entry.file_name().to_str()?.parse().ok()?;
            Some((major, entry.path().join("bin")))
        })
        .collect();
    versions.sort_by(|a, b| b.cmp(a));
    versions.into_iter().map(|(_, directory)| directory)
}

/// Reads `postgres (PostgreSQL) 15.18 (Debian …)`.
fn parse_version(text: &str) -> Option<Version> {
    let text = text.trim().strip_prefix("postgres (PostgreSQL) ")?;
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    Some(Version {
        major: digits.parse().ok()?,
        text: text.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_the_servers_own_words() {
        let debian =
            parse_version("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n").unwrap();
        assert_eq!(debian.major, 15);
        assert!(debian.satisfies("15") && debian.satisfies("15.18"));
        assert!(!debian.satisfies("15.1") && !debian.satisfies("1"));
        assert_eq!(
            parse_version("postgres (PostgreSQL) 19beta2")
                .unwrap()
                .major,
            19
        );
        assert!(parse_version("mysqld 8.0").is_none());
    }

    #[test]
    fn a_directory_without_a_server_is_refused_by_name() {
        let directory = tempfile::tempdir().unwrap();
        let error = Binaries::at(directory.path()).unwrap_err();
        assert!(error.to_string().contains("postgres is missing"), "{error}");
        assert!(error.hint().unwrap().contains("--server-bin"));
    }

    #[test]
    fn an_unknown_version_is_refused_before_anything_is_looked_for() {
        for version in ["12", "19.1", "nine", ""] {
            let wanted = Wanted {
                version: Some(version.into()),
                ..Wanted::default()
            };
            let home = Home {
                labs: "/nowhere".into(),
                binaries: "/nowhere".into(),
            };
            let error = Binaries::find(&wanted, &home, &|_| {}).unwrap_err();
            assert!(matches!(error, LabError::UnknownVersion { .. }), "{error}");
        }
    }
}
