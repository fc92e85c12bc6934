//! Writes the reference docs that come from code: the rules and the schemas of the documents.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use dbdyno_model::{Bench, Catalogue, Check, Comparison, Diff, Facts, Tune};

use crate::command;

/// Writes the files, or with `check` only says which of them are not up to date.
pub(crate) fn run(check: bool) -> Result<(), String> {
    let mut stale = Vec::new();
    let wanted = files()?;
    for (path, text) in &wanted {
        if fs::read_to_string(path).ok().as_deref() == Some(text) {
            continue;
        }
        if check {
            stale.push(path.display().to_string());
            continue;
        }
        let directory = path.parent().unwrap_or(path);
        fs::create_dir_all(directory).map_err(|e| format!("{}: {e}", directory.display()))?;
        fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))?;
        println!("wrote {}", path.display());
    }
    for path in strangers(&wanted) {
        if check {
            stale.push(format!("{} (no rule makes it)", path.display()));
        } else {
            fs::remove_file(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        }
    }
    if stale.is_empty() {
        return Ok(());
    }
    Err(format!(
        "not up to date, run cargo xtask generate:\n  {}",
        stale.join("\n  ")
    ))
}

fn rules_directory() -> PathBuf {
    command::root().join("docs/reference/rules")
}

fn files() -> Result<BTreeMap<PathBuf, String>, String> {
    let mut files = BTreeMap::new();
    let mut index = String::from(
        "# Rules\n\nGenerated from the rules' own files.\n\n| rule | severity | what it finds |\n|---|---|---|\n",
    );
    for rule in dbdyno_rules::catalogue() {
        let path = rules_directory().join(format!("{}.md", rule.id));
        files.insert(path, rule.markdown());
        index.push_str(&format!(
            "| [{id}]({id}.md) | {} | {} |\n",
            rule.severity.as_str(),
            rule.title(),
            id = rule.id
        ));
    }
    files.insert(rules_directory().join("README.md"), index);
    for (name, schema) in [
        ("bench", schemars::schema_for!(Bench)),
        ("tune", schemars::schema_for!(Tune)),
        ("comparison", schemars::schema_for!(Comparison)),
        ("facts", schemars::schema_for!(Facts)),
        ("check", schemars::schema_for!(Check)),
        ("diff", schemars::schema_for!(Diff)),
        ("catalogue", schemars::schema_for!(Catalogue)),
    ] {
        let schema = serde_json::to_string_pretty(&schema).map_err(|error| error.to_string())?;
        let path = format!("docs/reference/{name}.schema.json");
        files.insert(command::root().join(path), schema + "\n");
    }
    Ok(files)
}

/// Files of rules that are gone.
fn strangers(wanted: &BTreeMap<PathBuf, String>) -> Vec<PathBuf> {
    let entries = fs::read_dir(rules_directory())
        .into_iter()
        .flatten()
        .flatten();
    entries
        .map(|entry| entry.path())
        .filter(|path| !wanted.contains_key(path))
        .collect()
}
