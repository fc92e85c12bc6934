//! Mounts that a fixture leaves out: those of the tools around a capture, which no machine of a database has.

use std::fs;
use std::path::Path;

/// Whether a mount point is one of these directories, or below one.
pub(super) fn is_below(point: &str, directories: &[&str]) -> bool {
    let point = Path::new(point);
    directories
        .iter()
        .any(|directory| point.starts_with(directory))
}

/// Takes mounts out of every mount table of a captured tree, by their points.
pub(super) fn leave_out(tree: &Path, is_left_out: impl Fn(&str) -> bool) -> Result<(), String> {
    let processes = tree.join("proc");
    let entries = fs::read_dir(&processes).map_err(|e| format!("{}: {e}", processes.display()))?;
    for entry in entries.flatten() {
        let table = entry.path().join("mountinfo");
        if !table.is_file() {
            continue;
        }
        let failed = |error: std::io::Error| format!("{}: {error}", table.display());
        let text = fs::read_to_string(&table).map_err(failed)?;
        fs::write(&table, without(&text, &is_left_out)).map_err(failed)?;
    }
    Ok(())
}

fn without(table: &str, is_left_out: impl Fn(&str) -> bool) -> String {
    table
        .split_inclusive('\n')
        .filter(|line| !line.split(' ').nth(4).is_some_and(&is_left_out))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{is_below, without};

    #[test]
    fn only_what_lies_there_is_left_out() {
        let table = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:9 / /mnt/tool/a rw - tmpfs none rw\n\
                     3 1 0:9 / /mnt/toolbox rw - tmpfs none rw\n";
        let kept = without(table, |point| is_below(point, &["/mnt/tool"]));
        assert_eq!(kept.lines().count(), 2);
        assert!(kept.contains("/mnt/toolbox") && !kept.contains("/mnt/tool/a"));
        assert_eq!(without(table, |point| is_below(point, &[])), table);
    }
}
