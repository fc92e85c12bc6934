//! `dbdyno collect`, `check`, `diff`, `rule` and `grants` as a user meets them, on real servers.

// What a test cannot set up fails it.
#![allow(clippy::unwrap_used)]

mod carried;
mod faults;
mod hanging;
mod here;
mod partitions;
mod password_command;
mod planted;
mod privacy;
mod privileges;
mod refusals;
mod rules;
mod schema;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use dbdyno_testing::{Place, Running, binaries};
use serde_json::Value;

/// A running server, and a place for files.
struct Setup {
    running: Running,
    place: Place,
}

impl Setup {
    fn start(set: &[(&str, &str)]) -> Self {
        Self {
            running: Running::start(binaries(), set),
            place: Place::new("check"),
        }
    }

    fn target(&self) -> String {
        self.running.connection().display()
    }

    fn target_as(&self, user: &str) -> String {
        dbdyno_model::Connection {
            user: user.to_owned(),
            ..self.running.connection()
        }
        .display()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.place.root.join(name)
    }

    /// The file of its settings, which postgresql.conf includes.
    fn conf(&self) -> PathBuf {
        self.running.server.data().join("dbdyno.conf")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = dbdyno(arguments);
        command.env("DBDYNO_DATA_DIR", &self.place.root);
        command.current_dir(&self.place.root);
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn does(&self, arguments: &[&str]) -> String {
        stdout_of(&self.run(arguments), arguments)
    }

    /// The document of `check` with these arguments.
    fn check(&self, arguments: &[&str]) -> Value {
        let target = self.target();
        let arguments = [&["check", &target, "--json"][..], arguments].concat();
        serde_json::from_str(&self.does(&arguments)).unwrap()
    }
}

fn dbdyno(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dbdyno"));
    command.args(arguments).env("NO_COLOR", "1");
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| name.starts_with("PG")) {
            command.env_remove(name);
        }
    }
    command.stdin(Stdio::null());
    command
}

/// The outer command with the inner one behind it: its program, arguments and surroundings.
fn behind(mut outer: Command, inner: &Command) -> Command {
    outer
        .arg(inner.get_program())
        .args(inner.get_args())
        .stdin(Stdio::null());
    for (name, value) in inner.get_envs() {
        match value {
            Some(value) => outer.env(name, value),
            None => outer.env_remove(name),
        };
    }
    if let Some(directory) = inner.get_current_dir() {
        outer.current_dir(directory);
    }
    outer
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn stdout_of(output: &Output, arguments: &[&str]) -> String {
    let errors = stderr(output);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Refused by name, with the next step, and with code 2.
fn refuses(arguments: &[&str], named: &str) -> String {
    let output = dbdyno(arguments).output().unwrap();
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
    assert!(text.contains(named), "{arguments:?}: {text}");
    assert!(
        text.contains("hint:") || text.contains("For more information") || text.contains("tip:"),
        "{arguments:?}: {text}"
    );
    assert!(output.stdout.is_empty(), "{arguments:?}");
    text
}

fn findings(check: &Value) -> Vec<&Value> {
    let assessments = check["assessments"].as_array().unwrap();
    assessments
        .iter()
        .flat_map(|assessment| assessment["findings"].as_array().unwrap())
        .collect()
}

fn finding<'a>(check: &'a Value, rule: &str) -> &'a Value {
    let found = findings(check)
        .into_iter()
        .find(|finding| finding["rule"] == rule);
    found.unwrap_or_else(|| panic!("{rule} was not found in {check}"))
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}
