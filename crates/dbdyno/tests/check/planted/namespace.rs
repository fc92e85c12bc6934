//! Runs a program among files that stand in for the machine's, in mounts of its own that end with it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Binds what the list in `$0` names, a line `FROM<tab>TO` each, and becomes the program.
const BIND: &str = "while IFS='\t' read -r from to; do mount --bind \"$from\" \"$to\"; done <\"$0\"; \
                    exec \"$@\"";

/// The same command where each path of the map is what the map gives for it. `list` is written.
pub(super) fn among(inner: &Command, bound: &BTreeMap<PathBuf, PathBuf>, list: &Path) -> Command {
    let mut lines = String::new();
    for (to, from) in bound {
        writeln!(lines, "{}\t{}", from.display(), to.display()).unwrap();
    }
    fs::write(list, lines).unwrap();
    let mut outer = Command::new("unshare");
    outer
        .args(["--mount", "--propagation", "private", "sh", "-ec", BIND])
        .arg(list);
    crate::behind(outer, inner)
}
