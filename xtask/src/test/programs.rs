//! The workspace's test programs side by side: most of them wait for a server for most of their time.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{iter, thread};

use serde_json::Value;

use crate::command;

/// By far the longest, which begins first: else all processors but one would wait for it in the end.
const FIRST: &str = "crates/dbdyno-bench/tests/tpcc/main.rs";

/// Those that look at times: they run when the others are done, one after the other.
const ALONE: [&str; 2] = [
    "crates/dbdyno-bench/tests/driver/main.rs",
    "crates/dbdyno-trial/tests/trial/main.rs",
];

/// One test program as cargo built it.
struct Program {
    /// Its source, from the workspace's root.
    name: String,
    path: PathBuf,
    /// Of its package, where cargo would start it.
    directory: PathBuf,
}

/// What a program said, and how long it took.
struct Outcome {
    passed: bool,
    output: String,
    took: Duration,
}

/// Builds all, then runs as many at once as there are processors, each as `prepare` has it. What each said is shown
/// whole when it has ended, and all failed ones are named at the end.
pub(crate) fn run(prepare: &(dyn Fn(&mut Command) + Sync)) -> Result<(), String> {
    let mut programs = build()?;
    let count = programs.len();
    for named in ALONE.into_iter().chain([FIRST]) {
        if !programs.iter().any(|program| program.name == named) {
            return Err(format!(
                "{named} has a place in the order, and is no test program"
            ));
        }
    }
    programs.sort_by_key(|program| program.name != FIRST);
    let is_alone = |program: &Program| ALONE.contains(&program.name.as_str());
    let (alone, others): (Vec<_>, Vec<_>) = programs.into_iter().partition(is_alone);
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let mut failed = side_by_side(others, processors, prepare);
    failed.extend(side_by_side(alone, 1, prepare));
    if failed.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{} of {count} test programs failed: {}",
        failed.len(),
        failed.join(", ")
    ))
}

/// The names of those that failed.
fn side_by_side(
    programs: Vec<Program>,
    at_once: usize,
    prepare: &(dyn Fn(&mut Command) + Sync),
) -> Vec<String> {
    let waiting = Mutex::new(programs.into_iter());
    let next = || {
        waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .next()
    };
    let failed = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                for program in iter::from_fn(next) {
                    let outcome = execute(&program, prepare);
                    print!("{}", describe(&program, &outcome));
                    if !outcome.passed {
                        let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                        failed.push(program.name);
                    }
                }
            });
        }
    });
    failed.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn build() -> Result<Vec<Program>, String> {
    let format = "--message-format=json-render-diagnostics";
    let mut cargo = command::cargo_command();
    cargo
        .current_dir(command::root())
        .args(["test", "--workspace", "--no-run", format])
        .stderr(Stdio::inherit());
    let programs: Vec<Program> = command::read(&mut cargo)?
        .lines()
        .filter_map(|line| program(&serde_json::from_str(line).ok()?))
        .collect();
    if programs.is_empty() {
        return Err(format!(
            "{} names no test program",
            command::describe(&cargo)
        ));
    }
    Ok(programs)
}

/// Nothing where the message tells of something else.
fn program(message: &Value) -> Option<Program> {
    if message["reason"] != "compiler-artifact" || message["profile"]["test"] != true {
        return None;
    }
    let source = Path::new(message["target"]["src_path"].as_str()?);
    let source = source.strip_prefix(command::root()).unwrap_or(source);
    let manifest = Path::new(message["manifest_path"].as_str()?);
    Some(Program {
        name: source.display().to_string(),
        path: message["executable"].as_str()?.into(),
        directory: manifest.parent()?.into(),
    })
}

fn execute(program: &Program, prepare: &(dyn Fn(&mut Command) + Sync)) -> Outcome {
    let begin = Instant::now();
    let mut command = Command::new(&program.path);
    command.current_dir(&program.directory).stdin(Stdio::null());
    prepare(&mut command);
    let (passed, output) = match command.output() {
        Ok(output) => {
            let said = [output.stdout, output.stderr].concat();
            let mut said = String::from_utf8_lossy(&said).into_owned();
            if !output.status.success() {
                let _ = writeln!(said, "{}", output.status);
            }
            (output.status.success(), said)
        }
        Err(error) => (false, format!("cannot run it: {error}\n")),
    };
    Outcome {
        passed,
        output,
        took: begin.elapsed(),
    }
}

/// As cargo has it: the program's name, then all that it said. Printed at once, so that two never mix.
fn describe(program: &Program, outcome: &Outcome) -> String {
    let (name, took) = (&program.name, outcome.took.as_secs_f64());
    let end = if outcome.passed {
        String::new()
    } else {
        format!("FAILED {name}, see above\n")
    };
    format!("     Ran {name} in {took:.1} s\n{}\n{end}", outcome.output)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(reason: &str, test: bool) -> Value {
        serde_json::json!({
            "reason": reason,
            "manifest_path": command::root().join("crates/a/Cargo.toml"),
            "target": {"src_path": command::root().join("crates/a/tests/b.rs")},
            "profile": {"test": test},
            "executable": if test { Some("/target/b-1") } else { None },
        })
    }

    #[test]
    fn a_test_program_is_known_among_what_cargo_builds() {
        let found = program(&told("compiler-artifact", true)).unwrap();
        assert_eq!(found.name, "crates/a/tests/b.rs");
        assert_eq!(found.path, Path::new("/target/b-1"));
        assert!(found.directory.ends_with("crates/a"));
        assert!(program(&told("compiler-artifact", false)).is_none());
        assert!(program(&told("build-finished", true)).is_none());
    }

    fn script(text: &str) -> (Program, Outcome) {
        let program = Program {
            name: "a.rs".into(),
            path: "/bin/sh".into(),
            directory: "/".into(),
        };
        let outcome = execute(&program, &|command| {
            command.args(["-c", text]);
        });
        (program, outcome)
    }

    #[test]
    fn what_a_program_said_is_shown_whole() {
        let (program, outcome) = script("echo 'test a ... ok'; echo 'test result: ok. 1 passed'");
        let text = describe(&program, &outcome);
        assert!(text.starts_with("     Ran a.rs in "), "{text}");
        let said = " s\ntest a ... ok\ntest result: ok. 1 passed\n\n";
        assert!(text.ends_with(said), "{text}");

        let (program, outcome) = script("echo out; echo err >&2; exit 3");
        let text = describe(&program, &outcome);
        let said = " s\nout\nerr\nexit status: 3\n\nFAILED a.rs, see above\n";
        assert!(text.ends_with(said), "{text}");
    }
}
