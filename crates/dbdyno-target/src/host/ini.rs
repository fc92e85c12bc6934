//! Files with `name = value` lines under headings, as systemd, logind, sysctl.d and tuned have them.

use std::collections::BTreeMap;

use super::root::Root;

/// One assignment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Empty above the first heading.
    pub section: String,
    pub name: String,
    pub value: String,
    pub line: u32,
}

/// The assignments in order; comments and lines that are none are left out.
pub fn entries(text: &str) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut section = String::new();
    // A backslash at its end carries a line on; comments between the parts do not count.
    let mut begun: Option<(u32, String)> = None;
    for (number, line) in (1_u32..).zip(text.lines()) {
        let line = line.trim();
        if line.starts_with(['#', ';']) {
            continue;
        }
        // Grown in place: nothing but continued lines must not cost the square of the length.
        let (first, mut whole) = begun.take().unwrap_or((number, String::new()));
        if !whole.is_empty() {
            whole.push(' ');
        }
        whole.push_str(line);
        if whole.ends_with('\\') {
            whole.pop();
            whole.truncate(whole.trim_end().len());
            begun = Some((first, whole));
            continue;
        }
        if let Some(heading) = whole
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            section = heading.to_owned();
        } else if let Some((name, value)) = whole.split_once('=') {
            entries.push(Entry {
                section: section.clone(),
                name: name.trim().to_owned(),
                value: value.trim().to_owned(),
                line: first,
            });
        }
    }
    entries
}

/// Files `*.conf` as systemd merges directories: in the order of their names, whichever directory
/// holds them; of one name only the first directory's counts.
pub(super) fn merged(root: &Root, directories: &[String]) -> Vec<String> {
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    for directory in directories {
        for name in root.list(directory).unwrap_or_default() {
            if name.ends_with(".conf") {
                let path = format!("{directory}/{name}");
                files.entry(name).or_insert(path);
            }
        }
    }
    files.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assignments_keep_their_section_and_line() {
        let text = "# comment\nloose = 1\n\n[Service]\n; no\nLimitNOFILE=1024\nExecStart=/bin/a \\\n  # between\n  -b = c\nnothing\n";
        let read = entries(text);
        let short: Vec<(&str, &str, &str, u32)> = read
            .iter()
            .map(|entry| {
                (
                    entry.section.as_str(),
                    entry.name.as_str(),
                    entry.value.as_str(),
                    entry.line,
                )
            })
            .collect();
        let expected = [
            ("", "loose", "1", 2),
            ("Service", "LimitNOFILE", "1024", 6),
            ("Service", "ExecStart", "/bin/a -b = c", 7),
        ];
        assert_eq!(short, expected);
        assert_eq!(entries("a = b \\"), []);
    }

    #[test]
    fn files_are_merged_by_name_and_the_first_directory_wins() {
        let tree = tempfile::tempdir().unwrap();
        let write = |path: &str| {
            let path = tree.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x").unwrap();
        };
        write("etc/d/20-b.conf");
        write("usr/d/20-b.conf");
        write("usr/d/10-a.conf");
        write("usr/d/README");
        let root = Root::new(tree.path());
        let directories = ["/etc/d", "/run/d", "/usr/d"].map(str::to_owned);
        let expected = ["/usr/d/10-a.conf", "/etc/d/20-b.conf"];
        assert_eq!(merged(&root, &directories), expected);
    }
}
