//! The service files of libpq: sections of connection parameters under a name.
//!
//! The user's own file is searched first, then the system's; the first section of the name counts.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::Machine;
use super::error::ConnectionError;
use super::parameters::{Origin, Parameters};

/// A file that is longer is none of services.
const LONGEST: u64 = 1 << 20;

/// The name of the user's own file, and of the system's.
const USERS: &str = ".pg_service.conf";
const SYSTEMS: &str = "pg_service.conf";

/// Where builds of libpq look for the system's file, distribution by distribution: Debian's, the
/// PostgreSQL project's for RHEL, others that build with /etc, and one without a distribution.
pub(super) const DIRECTORIES: &[&str] = &[
    "/etc/postgresql-common",
    "/etc/sysconfig/pgsql",
    "/etc/postgresql",
    "/usr/local/pgsql/etc",
];

/// A parameter of a section, as its line has it.
#[derive(Debug, PartialEq, Eq)]
struct Entry<'a> {
    line: usize,
    name: &'a str,
    value: &'a str,
}

/// Fills from the service that was asked for, if one was, what was not given.
pub(super) fn fill(
    given: &mut Parameters,
    machine: &Machine,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<(), ConnectionError> {
    let lookup = |variable| environment(variable).filter(|value: &String| !value.is_empty());
    let typed = given.get("service").map(str::to_owned);
    let Some(service) = typed.or_else(|| lookup("PGSERVICE")) else {
        return Ok(());
    };
    let named = given.get("servicefile").map(str::to_owned);
    let named = named.or_else(|| lookup("PGSERVICEFILE")).map(PathBuf::from);
    let mut searched = Vec::new();
    for path in files(machine, named, environment) {
        let text = read(&path)?;
        if let Some(entries) = section(&text, &service) {
            return take(given, &path, &service, entries);
        }
        searched.push(path);
    }
    Err(ConnectionError::NoService { service, searched })
}

/// Those that are there, and the one that was named whether it is there or not.
fn files(
    machine: &Machine,
    named: Option<PathBuf>,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Vec<PathBuf> {
    let users = || {
        let file = machine.home(environment)?.join(USERS);
        file.exists().then_some(file)
    };
    let directories = match environment("PGSYSCONFDIR").filter(|value| !value.is_empty()) {
        Some(directory) => vec![PathBuf::from(directory)],
        None => machine.service_directories.clone(),
    };
    let systems = directories
        .into_iter()
        .map(|directory| directory.join(SYSTEMS))
        .find(|file| file.exists());
    named.or_else(users).into_iter().chain(systems).collect()
}

fn read(path: &Path) -> Result<String, ConnectionError> {
    let failed = |why: String| ConnectionError::ServiceFile {
        path: path.to_owned(),
        why,
    };
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| failed(error.to_string()))?;
    let read = file.take(LONGEST + 1).read_to_end(&mut bytes);
    read.map_err(|error| failed(error.to_string()))?;
    if bytes.len() as u64 > LONGEST {
        return Err(failed(format!("it is longer than {LONGEST} bytes")));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn take(
    given: &mut Parameters,
    path: &Path,
    service: &str,
    entries: Vec<Result<Entry<'_>, usize>>,
) -> Result<(), ConnectionError> {
    let origin = |line| Origin::Service {
        path: path.to_owned(),
        line,
        service: service.to_owned(),
    };
    for entry in entries {
        let entry = entry.map_err(|line| {
            origin(line).locate(ConnectionError::Malformed {
                form: "parameters",
                why: "a line is not name=value",
            })
        })?;
        let origin = origin(entry.line);
        if matches!(entry.name, "service" | "servicefile") {
            return Err(origin.locate(ConnectionError::NestedService));
        }
        if entry.value.contains('\0') {
            return Err(origin.locate(ConnectionError::Malformed {
                form: "parameters",
                why: "it contains a zero byte",
            }));
        }
        given.set_weaker(entry.name, entry.value.to_owned(), origin)?;
    }
    Ok(())
}

/// What stands in the first section of that name; of a line that is no parameter, its number.
fn section<'a>(text: &'a str, service: &str) -> Option<Vec<Result<Entry<'a>, usize>>> {
    let mut found = None;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_ascii();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(rest) = line.strip_prefix('[') {
            if found.is_some() {
                break;
            }
            let rest = rest.strip_prefix(service);
            if rest.is_some_and(|rest| rest.starts_with(']')) {
                found = Some(Vec::new());
            }
            continue;
        }
        if let Some(entries) = &mut found {
            let line_number = index + 1;
            entries.push(match line.split_once('=') {
                Some((name, value)) => Ok(Entry {
                    line: line_number,
                    name,
                    value,
                }),
                None => Err(line_number),
            });
        }
    }
    found
}

/// How many parameters a file's text holds for a service, for fuzzing.
#[doc(hidden)]
pub fn read_service(text: &str, service: &str) -> Option<usize> {
    Some(section(text, service)?.into_iter().flatten().count())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FILE: &str = "\
# ours
[first]
host=one
[prod]  # the one that matters
  host=db.example
port=6000

# a comment
options=-c search_path=shop -c jit=off
password= with blanks
not a parameter
[prod]
host=too late
[last]
";

    #[test]
    fn the_first_section_of_the_name_counts_up_to_the_next() {
        let entries = section(FILE, "prod").unwrap();
        let entry = |line, name, value| Ok(Entry { line, name, value });
        assert_eq!(
            entries,
            [
                entry(5, "host", "db.example"),
                entry(6, "port", "6000"),
                entry(9, "options", "-c search_path=shop -c jit=off"),
                entry(10, "password", " with blanks"),
                Err(11),
            ]
        );
        assert_eq!(section(FILE, "last"), Some(Vec::new()));
        for missing in ["pro", "prod]", "PROD", "", "none"] {
            assert_eq!(section(FILE, missing), None, "{missing}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(\\[?[a-z=#\\] \n]{0,5}){0,20}", name in "[a-z\\]]{0,2}") {
            let _ = section(&text, &name);
        }

        #[test]
        fn a_section_carries_every_value_but_the_blanks_at_its_end(
            name in "[A-Za-z0-9 _.-]{1,12}",
            values in prop::collection::vec("[!-~]([ -~]{0,12}[!-~])?", 0..6),
        ) {
            let lines = values.iter().map(|value| format!("user={value} \n"));
            let text = format!("[other]\n[{name}]\n{}[next]\nx=y\n", lines.collect::<String>());
            prop_assume!(name != "other");
            let entries = section(&text, &name).unwrap();
            let read: Vec<&str> = entries.iter().map(|entry| entry.as_ref().unwrap().value).collect();
            prop_assert_eq!(read, values);
        }
    }
}
