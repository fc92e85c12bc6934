//! A command that prints the password: what an interrupt leaves of it, and whom it may ask.

use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use dbdyno_target::process::{Signal, is_alive, signal};
use dbdyno_testing::Place;

use crate::{dbdyno, stderr};

/// Nobody listens there, and nobody is asked before there is a password.
const TARGET: &str = "host=127.0.0.1 port=1 user=u dbname=d";

/// A shell and its child, which hears neither an interrupt nor the end of its terminal.
const WAITS: &str = "trap '' HUP; sleep 600 & echo $! > pids; echo $$ >> pids; wait";

fn wait_for(what: &str, ready: impl Fn() -> bool) {
    let begun = Instant::now();
    while !ready() {
        assert!(begun.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn lines(file: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let lines = text.split_inclusive('\n');
    let whole = lines.filter_map(|line| line.strip_suffix('\n'));
    whole.map(str::to_owned).collect()
}

/// The two processes of `WAITS`, once both run.
fn both(place: &Place) -> Vec<u32> {
    let file = place.root.join("pids");
    wait_for("two processes", || lines(&file).len() == 2);
    let pids = lines(&file);
    std::fs::remove_file(&file).unwrap();
    pids.iter().map(|pid| pid.parse().unwrap()).collect()
}

fn wait_for_the_end_of(pids: &[u32], what: &str) {
    for pid in pids {
        wait_for(&format!("{what}: {pid} is left"), || !is_alive(*pid));
    }
}

#[test]
fn an_interrupt_leaves_nothing_of_a_command_that_prints_the_password() {
    let place = Place::new("password");
    let commands: [&[&str]; 4] = [
        &["check", TARGET],
        &["collect", TARGET],
        &["grants", TARGET],
        &["bench", "verify", "tpcc", TARGET],
    ];
    for command in commands {
        for by in [Signal::INT, Signal::TERM] {
            let what = format!("{command:?} by {by:?}");
            let arguments = [command, &["--password-command", WAITS][..]].concat();
            let child = dbdyno(&arguments)
                .current_dir(&place.root)
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let pids = both(&place);
            assert!(signal(child.id(), by), "{what}");
            let output = child.wait_with_output().unwrap();
            let text = stderr(&output);
            assert_eq!(output.status.code(), Some(130), "{what}: {text}");
            assert!(text.contains("nothing is left running"), "{what}: {text}");
            wait_for_the_end_of(&pids, &what);
        }
    }
}

/// `dbdyno grants` at a terminal of its own, by script(1) of util-linux.
fn at_a_terminal(place: &Place, password_command: &str) -> Child {
    let asks = place.root.join("asks");
    std::fs::write(&asks, password_command).unwrap();
    let dbdyno = env!("CARGO_BIN_EXE_dbdyno");
    let line = format!("exec '{dbdyno}' grants '{TARGET}' --password-command 'sh asks'\n");
    std::fs::write(place.root.join("line"), line).unwrap();
    let started = Command::new("script")
        .args(["-qec", "sh line", "/dev/null"])
        .current_dir(&place.root)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("SHELL", "/bin/sh")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn();
    started.expect("script(1) of util-linux makes the terminal")
}

#[test]
fn a_command_that_prints_the_password_may_ask_at_the_terminal() {
    let place = Place::new("asks");
    let asks = "echo > asked; read line </dev/tty; echo \"$line\" > told; echo secret";
    let mut script = at_a_terminal(&place, asks);
    wait_for("a question", || place.root.join("asked").exists());
    let mut keyboard = script.stdin.take().unwrap();
    keyboard.write_all(b"open sesame\n").unwrap();
    let told = place.root.join("told");
    wait_for("what was typed", || !lines(&told).is_empty());
    assert_eq!(lines(&told), ["open sesame"]);
    // With the password it looks for the server.
    assert_eq!(script.wait().unwrap().code(), Some(2));
}

#[test]
fn an_interrupt_typed_at_the_terminal_leaves_nothing_of_the_command() {
    let place = Place::new("typed");
    let mut script = at_a_terminal(&place, WAITS);
    let pids = both(&place);
    // Nobody types in the instant in which a process is made.
    std::thread::sleep(Duration::from_millis(200));
    let mut keyboard = script.stdin.take().unwrap();
    keyboard.write_all(b"\x03").unwrap();
    wait_for_the_end_of(&pids, "typed");
    script.wait().unwrap();
}
