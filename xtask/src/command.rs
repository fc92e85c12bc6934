//! Runs programs and says which one failed.

use std::path::PathBuf;
use std::process::Command;

/// The workspace's root.
pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .map(PathBuf::from)
        .unwrap_or_default()
}

pub(crate) fn cargo(arguments: &[&str]) -> Result<(), String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    run(Command::new(cargo).args(arguments))
}

/// Runs to the end, output shown.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let shown = describe(command);
    eprintln!("$ {shown}");
    let status = command
        .current_dir(root())
        .status()
        .map_err(|error| format!("cannot run {shown}: {error}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{shown}: {status}"))
    }
}

/// Runs to the end and returns standard output.
pub(crate) fn read(command: &mut Command) -> Result<String, String> {
    let shown = describe(command);
    let output = command
        .output()
        .map_err(|error| format!("cannot run {shown}: {error}"))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{shown}: {}\n{stderr}", output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn describe(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words
        .map(|word| word.to_string_lossy().into_owned())
        .collect::<Vec<_>>()
        .join(" ")
}
