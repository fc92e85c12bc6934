//! This host as a tree of the files that the collectors read.

use std::fs;
use std::path::Path;

use dbdyno_target::host::{self, Capture, Root};
use dbdyno_target::names::{self, Names};

use super::label::{self, Label};
use super::{fixture, mounts};

/// Captures with the options of the command line.
pub(super) fn run(name: &str, options: &[&str], left_out: &[&str]) -> Result<(), String> {
    let mut label = Label::default();
    let mut note = "";
    for option in options.chunks(2) {
        match option {
            ["--note", text] => note = *text,
            ["--data", directory] => label.data = Some(directory_of(directory)?),
            ["--wal", directory] => label.wal = Some(directory_of(directory)?),
            ["--server", pid] => {
                let number = pid.parse::<u32>();
                label.server = Some(number.map_err(|_| format!("{pid:?} is no process id"))?);
            }
            _ => return Err(super::USAGE.to_owned()),
        }
    }
    label.how = note.to_owned();
    capture(name, label, &format!("host {name}"), left_out)
}

/// Writes the tree with its label, whose text becomes what is told beside the machine.
pub(super) fn capture(
    name: &str,
    label: Label,
    arguments: &str,
    left_out: &[&str],
) -> Result<(), String> {
    let tree = fixture("hosts", name)?;
    let names = Names::here(&|name| std::env::var(name).ok());
    let capture = Capture::default();
    let root = Root::host().recorded(&capture);
    let options = label.options();
    // The counters are recorded too, which the tree then tells.
    host::sample(&root);
    host::traffic(&root, &options);
    let facts = host::collect(&root, &options);
    let failed = |error: std::io::Error| format!("cannot write {}: {error}", tree.display());
    if tree.exists() {
        fs::remove_dir_all(&tree).map_err(failed)?;
    }
    capture.write(&tree, &names).map_err(failed)?;
    mounts::leave_out(&tree, |point| mounts::is_below(point, left_out))?;
    let hidden = |path: String| names::hidden_text(&path, Some(&names));
    let origin = label::origin(&facts, arguments)?;
    let label = Label {
        how: format!("Captured from {origin}.\n{}", label.how),
        data: label.data.map(hidden),
        wal: label.wal.map(hidden),
        ..label
    };
    label.write(&tree.join("README.md"), name)?;
    println!("wrote {}", tree.display());
    Ok(())
}

fn directory_of(path: &str) -> Result<String, String> {
    let directory = Path::new(path);
    if directory.is_absolute() && directory.is_dir() {
        return Ok(path.to_owned());
    }
    Err(format!("{path} is no directory with an absolute path"))
}
