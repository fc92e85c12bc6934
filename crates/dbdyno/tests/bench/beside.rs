//! A command that goes on beside its test, and is killed with it.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStderr, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use dbdyno_target::process::{self, Signal};
use serde_json::Value;

use super::dbdyno;

/// With all processors busy.
pub(super) const LONGEST: Duration = Duration::from_secs(120);

pub(super) struct Beside {
    child: Child,
    told: BufReader<ChildStderr>,
    /// What it prints, which is more than a pipe may hold.
    printed: Option<JoinHandle<String>>,
}

impl Beside {
    /// `dbdyno bench` with these arguments.
    pub(super) fn start(arguments: &[&str]) -> Self {
        let mut child = dbdyno()
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let told = BufReader::new(child.stderr.take().unwrap());
        let mut stdout = child.stdout.take().unwrap();
        let printed = std::thread::spawn(move || {
            let mut text = String::new();
            stdout.read_to_string(&mut text).unwrap();
            text
        });
        Self {
            child,
            told,
            printed: Some(printed),
        }
    }

    /// Until the line of this second is told.
    pub(super) fn wait_for_second(&mut self, second: u32) {
        let begin = format!("{second} s ");
        let mut all = String::new();
        loop {
            let before = all.len();
            let read = self.told.read_line(&mut all).unwrap();
            assert!(read > 0, "no second {second}:\n{all}");
            if all[before..].trim_start().starts_with(&begin) {
                return;
            }
        }
    }

    pub(super) fn interrupt(&self) {
        assert!(process::signal(self.child.id(), Signal::INT));
    }

    pub(super) fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Its end, what it printed, and what it told since.
    pub(super) fn end(mut self) -> (ExitStatus, String, String) {
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(begun.elapsed() < LONGEST, "it does not end");
            std::thread::sleep(Duration::from_millis(20));
        };
        let text = self.printed.take().unwrap().join().unwrap();
        let mut errors = String::new();
        self.told.read_to_string(&mut errors).unwrap();
        (status, text, errors)
    }

    /// The end of a run with `--json`: its document in place of what it printed.
    pub(super) fn end_of_run(self) -> (ExitStatus, Value, String) {
        let (status, text, errors) = self.end();
        let run = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {errors}"));
        (status, run, errors)
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        // It has ended, if the test went well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Until it is so.
pub(super) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < LONGEST, "never: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
