//! Facts of a running server, as the released program collects and hides them.

use std::fs;
use std::mem;
use std::process::Command;

use dbdyno_model::Facts;
use dbdyno_report::to_json;

use super::label::{self, Label};
use super::{fixture, mounts};
use crate::command;

/// Writes the facts with their label, whose text becomes what is told beside the server.
pub(super) fn capture(
    name: &str,
    target: &str,
    label: Label,
    left_out: &[&str],
) -> Result<(), String> {
    let fixture = fixture("facts", name)?;
    let path = fixture.with_extension("json");
    let mut collect = Command::new(command::root().join("target/release/dbdyno"));
    collect.args(["collect", target, "--output"]).arg(&path);
    // Not through `command::run`, which shows the arguments: a target may hold a password.
    let status = collect
        .status()
        .map_err(|error| format!("cannot run dbdyno collect: {error}"))?;
    if !status.success() {
        return Err(format!("dbdyno collect for {name}: {status}"));
    }
    let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut facts: Facts =
        serde_json::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))?;
    if let Some(host) = &mut facts.host {
        host.mounts = mem::take(&mut host.mounts).map(|mut points| {
            points.retain(|point| !mounts::is_below(&point.path, left_out));
            points
        });
        fs::write(&path, to_json(&facts)).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    let server = facts.postgres.as_ref();
    let server = server.ok_or_else(|| format!("{} holds no server", path.display()))?;
    let arguments = format!("server {name} TARGET");
    let origin = match &facts.host {
        Some(host) => label::origin(host, &arguments)?,
        None => format!(
            "another host, at {}, by `cargo xtask capture {arguments}`",
            facts.collected_at
        ),
    };
    let label = Label {
        how: format!(
            "Captured from PostgreSQL {} on {origin}.\n{}",
            server.version, label.how
        ),
        ..label
    };
    label.write(&fixture.with_extension("md"), name)?;
    println!("wrote {}", path.display());
    Ok(())
}
