//! The catalogue on the command line, and the one table of exit codes.

use std::path::Path;

use serde_json::Value;

use crate::{dbdyno, stdout_of};

fn does(arguments: &[&str]) -> String {
    stdout_of(&dbdyno(arguments).output().unwrap(), arguments)
}

fn docs(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    std::fs::read_to_string(root.join(path)).unwrap()
}

#[test]
fn the_catalogue_is_listed_whole_and_by_family() {
    let all = does(&["rule", "list"]);
    let json: Value = serde_json::from_str(&does(&["rule", "list", "--json"])).unwrap();
    assert_eq!(json["schema"], "dbdyno.catalogue/1");
    let rules = json["rules"].as_array().unwrap();
    for rule in rules {
        let id = rule["id"].as_str().unwrap();
        assert!(all.lines().any(|line| line.starts_with(id)), "{id}");
    }
    let family = rules[0]["family"].as_str().unwrap();
    let of_family = does(&["rule", "list", family, "--json"]);
    let of_family: Value = serde_json::from_str(&of_family).unwrap();
    let of_family = of_family["rules"].as_array().unwrap();
    assert!(!of_family.is_empty() && of_family.len() < rules.len());
    assert!(of_family.iter().all(|rule| rule["family"] == family));
}

#[test]
fn a_rule_shows_its_page_of_the_reference() {
    let page = does(&["rule", "show", "postgres.fsync"]);
    let shown: Vec<&str> = page.split_whitespace().collect();
    for word in docs("reference/rules/postgres.fsync.md").split_whitespace() {
        let word = word.trim_matches(['<', '>', '#']);
        assert!(
            word.is_empty() || shown.contains(&word),
            "{word} is lost in {page}"
        );
    }
}

#[test]
fn help_and_reference_have_the_same_table_of_exit_codes() {
    let reference = docs("reference/exit-codes.md");
    for command in [
        &["--help"][..],
        &["check", "--help"],
        &["diff", "--help"],
        &["tune", "--help"],
    ] {
        let help = does(command);
        let (_, table) = help.split_once("Exit codes:\n").unwrap();
        for line in table.lines().filter(|line| !line.trim().is_empty()) {
            let (code, meaning) = line.trim().split_once(' ').unwrap();
            let row = format!("| {code} | {} |", meaning.trim());
            assert!(reference.contains(&row), "{row}");
        }
    }
}
