//! Tests that the accounts of the catalogue (docs/reference/catalogue*.md) and the rules agree.

use std::collections::BTreeSet;
use std::fs;

use dbdyno_rules::catalogue;
use dbdyno_rules::postgres::releases::RELEASES;
use dbdyno_target::lab::PINNED;

use crate::command;

/// One line of a table.
#[derive(Debug, PartialEq, Eq)]
struct Account {
    file: String,
    /// `(none)` for a rule that no row asked for.
    row: String,
    outcome: String,
    why: String,
}

/// The lines of every account there is.
fn accounts() -> Vec<Account> {
    let directory = command::root().join("docs/reference");
    let mut files: Vec<String> = fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("catalogue") && name.ends_with(".md"))
        .collect();
    files.sort();
    files
        .iter()
        .flat_map(|file| lines(file, &fs::read_to_string(directory.join(file)).unwrap()))
        .collect()
}

fn lines(file: &str, text: &str) -> Vec<Account> {
    text.lines()
        .filter_map(|line| line.strip_prefix("| ")?.strip_suffix('|'))
        .filter_map(|line| {
            let cells: Vec<&str> = line.split(" |").map(str::trim).collect();
            let [row, outcome, why, ..] = cells[..] else {
                return None;
            };
            Some(Account {
                file: file.to_owned(),
                row: row.to_owned(),
                outcome: outcome.to_owned(),
                why: why.to_owned(),
            })
        })
        .filter(|account| account.row != "row" && !account.row.starts_with("---"))
        .collect()
}

/// Words in backticks.
fn named(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

#[test]
fn a_table_is_read_and_its_head_is_not() {
    let text = "| row | outcome | why |\n|---|---|---|\n| a.b | built as `c.d` | |\nelse\n";
    let read = lines("f.md", text);
    assert_eq!(read.len(), 1);
    assert_eq!((read[0].row.as_str(), read[0].why.as_str()), ("a.b", ""));
    assert_eq!(named(&read[0].outcome), ["c.d"]);
}

#[test]
fn every_row_has_an_outcome_and_every_rule_that_it_names_exists() {
    let rules = catalogue();
    let ids: BTreeSet<&str> = rules.iter().map(|rule| rule.id).collect();
    let accounts = accounts();
    let mut seen = BTreeSet::new();
    for account in &accounts {
        let Account {
            file, row, outcome, ..
        } = account;
        assert!(
            row == "(none)" || seen.insert(row),
            "{file}: {row} stands twice"
        );
        let words = ["built", "merged", "corrected", "dropped", "later"];
        let word = words.iter().find(|word| outcome.starts_with(**word));
        let word = word.unwrap_or_else(|| panic!("{file}: {row}: {outcome}"));
        let names = named(outcome);
        let is_built = !matches!(*word, "dropped" | "later");
        assert_eq!(!names.is_empty(), is_built, "{file}: {row}: {outcome}");
        for name in names {
            assert!(
                ids.contains(name),
                "{file}: {row} names {name}, which is no rule"
            );
        }
        assert!(
            matches!(*word, "built" | "merged") || !account.why.is_empty(),
            "{file}: {row} lacks a reason"
        );
    }
}

#[test]
fn every_rule_is_accounted_for() {
    let accounts = accounts();
    let rows = accounts.iter().filter(|one| one.row != "(none)").count();
    assert!(rows >= 180, "{rows} rows");
    let names: BTreeSet<&str> = accounts
        .iter()
        .flat_map(|one| named(&one.outcome))
        .collect();
    for rule in catalogue() {
        assert!(names.contains(rule.id), "{} is in no row", rule.id);
    }
}

#[test]
fn the_releases_that_rules_know_are_no_older_than_those_that_the_lab_runs() {
    for pin in PINNED {
        let (major, minor) = pin.version.split_once('.').unwrap();
        let known = RELEASES
            .iter()
            .find(|release| release.major.to_string() == major)
            .unwrap();
        let minor: u32 = minor.parse().unwrap();
        assert!(known.newest_minor >= minor, "{}", pin.version);
    }
}
