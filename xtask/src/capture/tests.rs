//! Every fixture has a label, is read and judged whole, and holds the findings that its label lists.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use dbdyno_model::Facts;
use dbdyno_rules::{catalogue, check};
use dbdyno_target::host::{self, Root};

use super::label::Label;
use crate::command;

/// What stands in a directory of fixtures, sorted.
fn entries(kind: &str) -> Vec<PathBuf> {
    let directory = command::root().join("fixtures").join(kind);
    let mut found: Vec<PathBuf> = fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    found.sort();
    assert!(!found.is_empty(), "{} is empty", directory.display());
    found
}

fn assert_judged(fixture: &Path, facts: &Facts, label: &Label) {
    let fixture = fixture.display();
    let checked = check(facts);
    let outcomes = [
        checked.findings.len(),
        checked.passed.len(),
        checked.not_assessed.len(),
        checked.not_applicable.len(),
    ];
    let rules = catalogue();
    assert_eq!(outcomes.iter().sum::<usize>(), rules.len(), "{fixture}");
    let found: BTreeSet<&str> = checked.findings.iter().map(|f| f.rule.as_str()).collect();
    for rule in label.finds.iter().chain(&label.lacks) {
        let exists = rules.iter().any(|known| known.id == *rule);
        assert!(exists, "{fixture}: {rule} is no rule");
    }
    for rule in &label.finds {
        let is_found = found.contains(rule.as_str());
        assert!(is_found, "{fixture}: {rule} is not among {found:?}");
    }
    for rule in &label.lacks {
        assert!(!found.contains(rule.as_str()), "{fixture}: {rule} is found");
    }
}

/// Healthy and mis-set as far as a machine at hand could be made so, and by hand what is not at hand.
const DEMANDED: [&str; 11] = [
    "facts/postgres15-healthy.json",
    "facts/postgres15-mis-set.json",
    "facts/postgres18-healthy.json",
    "facts/postgres18-mis-set.json",
    "facts/rds-postgres18.json",
    "hosts/container-cgroup2",
    "hosts/ec2-nvme",
    "hosts/numa-md-raid",
    "hosts/rhel-tuned",
    "hosts/vm-healthy",
    "hosts/vm-mis-set",
];

#[test]
fn nothing_that_is_demanded_is_missing() {
    let fixtures = command::root().join("fixtures");
    let missing: Vec<&str> = DEMANDED
        .into_iter()
        .filter(|name| !fixtures.join(name).exists())
        .collect();
    assert_eq!(missing, Vec::<&str>::new());
}

#[test]
fn every_tree_of_a_host_is_labelled_and_judged() {
    for tree in entries("hosts") {
        assert!(tree.is_dir(), "{} is no tree", tree.display());
        let label = Label::read(&tree.join("README.md")).unwrap();
        let host = host::collect(&Root::new(&tree), &label.options());
        let text = serde_json::to_string(&host).unwrap();
        // What stands beside the files must be readable.
        let is_whole = !text.contains("captured.json: ");
        assert!(is_whole, "{}: {text}", tree.display());
        let facts = Facts {
            host: Some(host),
            ..Facts::default()
        };
        assert_judged(&tree, &facts, &label);
    }
}

#[test]
fn all_facts_are_labelled_and_judged() {
    for path in entries("facts") {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("json") => {
                let label = Label::read(&path.with_extension("md")).unwrap();
                let text = fs::read_to_string(&path).unwrap();
                let facts: Facts = serde_json::from_str(&text).unwrap();
                assert_eq!(facts.schema, Facts::SCHEMA, "{}", path.display());
                assert!(facts.postgres.is_some(), "{}", path.display());
                assert_judged(&path, &facts, &label);
            }
            Some("md") => {
                let facts = path.with_extension("json");
                assert!(facts.exists(), "{} labels nothing", path.display());
            }
            _ => panic!("{} is neither facts nor their label", path.display()),
        }
    }
}
