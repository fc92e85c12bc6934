//! Tasks of the workspace: `cargo xtask test | tidy | ci | bench | generate | capture`.

// A task talks to the person who runs it.
#![allow(clippy::print_stdout, clippy::print_stderr)]

#[cfg(test)]
mod accounts;
mod bench;
mod browser;
mod capture;
mod command;
mod generate;
mod servers;
mod test;
mod tidy;

use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask TASK

  test           fetch what the tests need, then run them
  tidy           the rules of the house that no compiler holds
  ci             format, tidy, generated docs, lints, tests: what has to pass
  generate       write the generated reference docs; --check only compares
  bench [NAME]   measure, with figures for docs/performance.md
  capture …      write a fixture from this host or a server: host NAME, server NAME TARGET, all
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["test", rest @ ..] => test::run(rest),
        ["tidy"] => tidy::run(),
        ["ci"] => ci(),
        ["generate"] => generate::run(false),
        ["generate", "--check"] => generate::run(true),
        ["bench", rest @ ..] => bench::run(rest),
        ["capture", rest @ ..] => capture::run(rest),
        _ => Err(USAGE.to_owned()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn ci() -> Result<(), String> {
    command::cargo(&["fmt", "--all", "--check"])?;
    tidy::run()?;
    // Before the long part: a test that was left out has passed nothing.
    servers::fetch()?.all_there()?;
    generate::run(true)?;
    command::cargo(&[
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ])?;
    // The targets need nightly to run, but may not rot meanwhile.
    let fuzz = ["check", "--locked", "--manifest-path", "fuzz/Cargo.toml"];
    command::cargo(&[&fuzz[..], &["--target-dir", "target"]].concat())?;
    test::run(&[])
}
