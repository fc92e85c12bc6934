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

/// Cargo as it was called for this task, without what it told this task of its own package: build scripts that look at
/// that would run again, and all that stands on them be compiled again.
pub(crate) fn cargo_command() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in std::env::vars_os() {
        let own = ["CARGO_MANIFEST_", "CARGO_PKG_"];
        if own
            .iter()
            .any(|own| name.to_string_lossy().starts_with(own))
        {
            cargo.env_remove(&name);
        }
    }
    cargo
}

pub(crate) fn cargo(arguments: &[&str]) -> Result<(), String> {
    run(cargo_command().args(arguments))
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

pub(crate) fn describe(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words
        .map(|word| word.to_string_lossy().into_owned())
        .collect::<Vec<_>>()
        .join(" ")
}
