//! Rules of the house that no compiler holds: headers, crate edges, no I/O in crates that do none.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::command;

/// What each crate may use of ours. An edge that is not here does not belong into the tree.
const EDGES: [(&str, &[&str]); 12] = [
    ("dbdyno-model", &[]),
    ("dbdyno-stats", &[]),
    ("dbdyno-rules", &["model"]),
    ("dbdyno-report", &["model", "stats"]),
    // Whom a server has to be, for all who connect to one.
    ("dbdyno-tls", &["model"]),
    ("dbdyno-bench", &["model", "stats", "tls"]),
    ("dbdyno-store", &["model"]),
    ("dbdyno-target", &["model", "tls"]),
    // What tests share: nobody may use it but as a dev-dependency.
    ("dbdyno-testing", &["target", "model"]),
    (
        "dbdyno-trial",
        &["target", "bench", "rules", "stats", "model"],
    ),
    (
        "dbdyno",
        &[
            "trial", "target", "store", "bench", "rules", "report", "stats", "model",
        ],
    ),
    (
        "xtask",
        &[
            "trial", "target", "store", "bench", "rules", "report", "stats", "model",
        ],
    ),
];

/// Crates that do no I/O: these words have no business in them.
const PURE: [&str; 4] = [
    "dbdyno-model",
    "dbdyno-stats",
    "dbdyno-rules",
    "dbdyno-report",
];
const IMPURE: [&str; 5] = [
    "std::fs",
    "std::net::Tcp",
    "std::net::Udp",
    "std::process",
    "std::env",
];

pub(crate) fn run() -> Result<(), String> {
    let root = command::root();
    let mut complaints = Vec::new();
    for file in rust_files(&root) {
        let text = fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        let shown = file
            .strip_prefix(&root)
            .unwrap_or(&file)
            .display()
            .to_string();
        complaints.extend(header(&shown, &text));
        complaints.extend(purity(&shown, &text));
    }
    for (name, allowed) in EDGES {
        let manifest = manifest(&root, name);
        let text =
            fs::read_to_string(&manifest).map_err(|e| format!("{}: {e}", manifest.display()))?;
        complaints.extend(edges(name, allowed, &text));
    }
    complaints.extend(unlisted(&root));
    if complaints.is_empty() {
        println!("tidy");
        return Ok(());
    }
    Err(complaints.join("\n"))
}

fn manifest(root: &Path, name: &str) -> PathBuf {
    let directory = if name == "xtask" {
        root.join(name)
    } else {
        root.join("crates").join(name)
    };
    directory.join("Cargo.toml")
}

fn rust_files(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut ahead: Vec<PathBuf> = ["crates", "xtask", "fuzz"]
        .iter()
        .map(|name| root.join(name))
        .collect();
    while let Some(directory) = ahead.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() && !path.ends_with("target") {
                ahead.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Every file opens with one `//!` sentence, so that a list of files reads as a map.
fn header(file: &str, text: &str) -> Option<String> {
    let first = text.lines().next().unwrap_or_default();
    let sentence = first
        .strip_prefix("//! ")
        .is_some_and(|rest| rest.len() > 10);
    (!sentence && !file.starts_with("fuzz"))
        .then(|| format!("{file}: does not open with a `//!` sentence"))
}

fn purity(file: &str, text: &str) -> Option<String> {
    let name = file.strip_prefix("crates/")?.split('/').next()?;
    if !PURE.contains(&name) || !file.contains("/src/") {
        return None;
    }
    // Tests may read their fixtures.
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let word = IMPURE.iter().find(|word| code.contains(**word))?;
    let is_test = file.ends_with("tests.rs") || file.ends_with("testing.rs");
    (!is_test).then(|| format!("{file}: {word} in a crate that does no I/O"))
}

fn edges(name: &str, allowed: &[&str], manifest: &str) -> Vec<String> {
    let mut section = "";
    let mut used: BTreeMap<&str, ()> = BTreeMap::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            section = line;
        } else if section == "[dependencies]"
            && let Some(ours) = line.strip_prefix("dbdyno-")
        {
            used.insert(ours.split(['.', ' ', '=']).next().unwrap_or(ours), ());
        }
    }
    used.into_keys()
        .filter(|ours| !allowed.contains(ours))
        .map(|ours| format!("{name} may not use dbdyno-{ours}: see ARCHITECTURE.md"))
        .collect()
}

fn unlisted(root: &Path) -> Vec<String> {
    let crates = fs::read_dir(root.join("crates"))
        .into_iter()
        .flatten()
        .flatten();
    crates
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| !EDGES.iter().any(|(known, _)| known == name))
        .map(|name| format!("crates/{name} has no edges: list it in xtask/src/tidy.rs"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forbidden_edge_is_found_and_a_dev_dependency_is_not_one() {
        let manifest = "[dependencies]\ndbdyno-target.workspace = true\nserde = \"1\"\n\
            [dev-dependencies]\ndbdyno-bench.workspace = true\n";
        assert_eq!(edges("dbdyno-rules", &["model"], manifest).len(), 1);
        assert!(edges("dbdyno-trial", &["target"], manifest).is_empty());
    }

    #[test]
    fn a_file_without_a_sentence_is_found() {
        assert!(header("crates/a/src/b.rs", "use std::fmt;\n").is_some());
        assert!(header("crates/a/src/b.rs", "//! Formats what is shown.\n").is_none());
    }

    #[test]
    fn reading_files_in_a_pure_crate_is_found() {
        let file = "crates/dbdyno-rules/src/kernel/x.rs";
        assert!(purity(file, "use std::fs;\n").is_some());
        assert!(purity(file, "fn f() {}\n#[cfg(test)]\nuse std::fs;\n").is_none());
        assert!(purity("crates/dbdyno-target/src/x.rs", "use std::fs;\n").is_none());
    }
}
