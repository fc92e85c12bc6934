//! The options of `cargo xtask bench drivers`.

use std::path::PathBuf;

use super::parts::Part;
use super::site::Engine;

/// What a run of dbdyno needs to find the end of its warm-up.
const LEAST_SECONDS: u64 = 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) rounds: usize,
    /// Of each run.
    pub(super) seconds: u64,
    pub(super) parts: Vec<Part>,
    pub(super) engines: Vec<Engine>,
    pub(super) go_tpc: Option<PathBuf>,
    pub(super) benchbase: Option<PathBuf>,
    pub(super) sysbench_tpcc: Option<PathBuf>,
    /// What runs BenchBase.
    pub(super) java: PathBuf,
}

impl Options {
    pub(super) fn parse(words: &[&str]) -> Result<Self, String> {
        let mut options = Self {
            rounds: 3,
            seconds: 20,
            parts: Vec::new(),
            engines: Vec::new(),
            go_tpc: None,
            benchbase: None,
            sysbench_tpcc: None,
            java: PathBuf::from("java"),
        };
        let mut words = words.iter();
        while let Some(option) = words.next() {
            let value = words
                .next()
                .ok_or_else(|| format!("{option} needs a value\n\n{}", usage()))?;
            options.set(option, value)?;
        }
        options.parts = chosen(&Part::ALL, &options.parts);
        options.engines = chosen(&Engine::ALL, &options.engines);
        Ok(options)
    }

    fn set(&mut self, option: &str, value: &str) -> Result<(), String> {
        match option {
            "--rounds" => self.rounds = number(option, value, 1)?,
            "--seconds" => self.seconds = number(option, value, LEAST_SECONDS)?,
            "--only" => {
                let all = Part::ALL.map(|part| (part.name(), part));
                self.parts.push(named(option, value, &all)?);
            }
            "--server" => {
                let all = Engine::ALL.map(|engine| (engine.word(), engine));
                self.engines.push(named(option, value, &all)?);
            }
            "--go-tpc" => self.go_tpc = Some(path(value)?),
            "--benchbase" => self.benchbase = Some(path(value)?),
            "--sysbench-tpcc" => self.sysbench_tpcc = Some(path(value)?),
            "--java" => self.java = value.into(),
            _ => return Err(format!("there is no option {option}\n\n{}", usage())),
        }
        Ok(())
    }

    /// What each figure is of.
    pub(super) fn runs(&self) -> String {
        format!(
            "medians of {} alternated runs of {} s",
            self.rounds, self.seconds
        )
    }

    /// The command as somebody else would type it: what is where on this machine is left out.
    pub(super) fn shown(&self) -> String {
        let mut shown = format!(
            "cargo xtask bench drivers --rounds {} --seconds {}",
            self.rounds, self.seconds
        );
        if self.parts != Part::ALL {
            for part in &self.parts {
                shown.push_str(&format!(" --only {}", part.name()));
            }
        }
        if self.engines != Engine::ALL {
            for engine in &self.engines {
                shown.push_str(&format!(" --server {}", engine.word()));
            }
        }
        let given = [
            (self.go_tpc.is_some(), " --go-tpc PATH"),
            (self.benchbase.is_some(), " --benchbase DIR"),
            (self.sysbench_tpcc.is_some(), " --sysbench-tpcc DIR"),
        ];
        for (_, option) in given.into_iter().filter(|(is_given, _)| *is_given) {
            shown.push_str(option);
        }
        shown
    }
}

pub(super) fn usage() -> String {
    let parts = Part::ALL.map(Part::name).join(", ");
    let engines = Engine::ALL.map(Engine::word).join(", ");
    format!(
        "usage: cargo xtask bench drivers [OPTION VALUE]…

  --rounds N           runs of each driver, alternated (3)
  --seconds N          length of each run, at least {LEAST_SECONDS} (20)
  --only PART          may be repeated: {parts}
  --server NAME        may be repeated: {engines}
  --go-tpc PATH        the program go-tpc
  --benchbase DIR      BenchBase as its build unpacks: benchbase.jar, lib/ and config/, with the drivers of
                       PostgreSQL and MariaDB; or a directory of benchbase-postgres and benchbase-mariadb
  --sysbench-tpcc DIR  the scripts of sysbench-tpcc
  --java PATH          what runs BenchBase (java)

pgbench comes with the server. sysbench is what PATH has: apt-get install sysbench."
    )
}

/// All where none is named. Whatever the order they are typed in: what loads comes before what drives.
fn chosen<T: Copy + PartialEq>(all: &[T], named: &[T]) -> Vec<T> {
    let is_chosen = |one: &T| named.is_empty() || named.contains(one);
    all.iter().copied().filter(is_chosen).collect()
}

/// Peers run in directories of their own.
fn path(value: &str) -> Result<PathBuf, String> {
    std::fs::canonicalize(value).map_err(|error| format!("{value}: {error}"))
}

fn number<T: std::str::FromStr + PartialOrd + std::fmt::Display>(
    option: &str,
    value: &str,
    least: T,
) -> Result<T, String> {
    let number = value.parse::<T>().ok();
    number
        .filter(|number| *number >= least)
        .ok_or_else(|| format!("{option} {value:?}: a number from {least} up is needed"))
}

fn named<T: Copy>(option: &str, value: &str, all: &[(&str, T)]) -> Result<T, String> {
    let found = all.iter().find(|(name, _)| *name == value);
    found.map(|(_, named)| *named).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
        format!("{option} {value:?}: {} are possible", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_measured_unless_something_is_named() {
        let all = Options::parse(&[]).unwrap();
        assert_eq!((all.rounds, all.seconds), (3, 20));
        assert_eq!(all.parts, Part::ALL);
        assert_eq!(all.engines, Engine::ALL);
        assert_eq!(
            all.shown(),
            "cargo xtask bench drivers --rounds 3 --seconds 20"
        );
        let words =
            "--only verify --only load --only verify --server mariadb --rounds 1 --go-tpc /";
        let some = Options::parse(&words.split(' ').collect::<Vec<_>>()).unwrap();
        assert_eq!(some.parts, [Part::Load, Part::Verify]);
        assert_eq!(some.engines, [Engine::MariaDb]);
        assert_eq!(
            some.shown(),
            "cargo xtask bench drivers --rounds 1 --seconds 20 --only load --only verify \
             --server mariadb --go-tpc PATH"
        );
    }

    #[test]
    fn what_cannot_be_done_is_refused_by_name() {
        for (words, part) in [
            ("--rounds 0", "--rounds"),
            ("--seconds 9", "from 10 up"),
            ("--only tpch", "verify"),
            ("--server oracle", "mariadb"),
            ("--go-tpc /nowhere/go-tpc", "/nowhere/go-tpc"),
            ("--go-tpc", "needs a value"),
            ("--fast 1", "no option --fast"),
            ("--help 1", "usage"),
        ] {
            let error = Options::parse(&words.split(' ').collect::<Vec<_>>()).unwrap_err();
            assert!(error.contains(part), "{words}: {error}");
        }
    }
}
