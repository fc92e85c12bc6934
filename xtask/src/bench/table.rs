//! Figures as a Markdown table, and as a document below target/bench.

use std::fs;

use dbdyno_report::number;
use serde_json::{Value, json};

use crate::command;

/// A line of figures, in so many columns.
pub(super) trait Line<const COLUMNS: usize> {
    const HEADINGS: [&'static str; COLUMNS];

    fn cells(&self) -> [String; COLUMNS];

    fn json(&self) -> Value;
}

pub(super) fn markdown<const N: usize, L: Line<N>>(lines: &[L]) -> String {
    let mut text = row(&L::HEADINGS.map(str::to_owned));
    text.push_str(&format!("|{}\n", "---|".repeat(N)));
    for line in lines {
        text.push_str(&row(&line.cells()));
    }
    text
}

pub(super) fn document<const N: usize, L: Line<N>>(head: &Value, lines: &[L]) -> Value {
    let rows: Vec<Value> = lines.iter().map(L::json).collect();
    json!({ "head": head, "rows": rows })
}

/// Keeps the document of the benchmark of this name.
pub(super) fn save(name: &str, document: &Value) -> Result<(), String> {
    let directory = command::root().join("target/bench");
    let path = directory.join(format!("{name}.json"));
    fs::create_dir_all(&directory)
        .and_then(|()| fs::write(&path, format!("{document:#}\n")))
        .map_err(|error| format!("{}: {error}", path.display()))
}

/// In the cell of what is not there.
pub(super) fn missing() -> String {
    number::MISSING.to_owned()
}

/// What is wanted, and whether it is met where that can be said.
pub(super) fn judged(wanted: &str, is_met: Option<bool>) -> String {
    match is_met {
        None => wanted.to_owned(),
        Some(true) => format!("{wanted}: met"),
        Some(false) => format!("{wanted}: not met"),
    }
}

/// One line, whatever the cells hold.
fn row(cells: &[String]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| escaped(cell)).collect();
    format!("| {} |\n", cells.join(" | "))
}

/// An error's text, or a statement, may hold what would end the cell.
fn escaped(cell: &str) -> String {
    let lines: Vec<&str> = cell.lines().map(str::trim).collect();
    lines.join(" ").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Named(&'static str);

    impl Line<2> for Named {
        const HEADINGS: [&'static str; 2] = ["name", "what"];

        fn cells(&self) -> [String; 2] {
            [self.0.to_owned(), missing()]
        }

        fn json(&self) -> Value {
            json!(self.0)
        }
    }

    #[test]
    fn lines_stand_below_their_headings_and_beside_their_head() {
        let lines = [Named("a"), Named("b")];
        assert_eq!(
            markdown(&lines),
            "| name | what |\n|---|---|\n| a | – |\n| b | – |\n"
        );
        assert_eq!(
            document(&json!("h"), &lines),
            json!({ "head": "h", "rows": ["a", "b"] })
        );
    }

    #[test]
    fn nothing_in_a_cell_ends_it() {
        let cells = ["a || b".to_owned(), "c\n  d".to_owned()];
        assert_eq!(row(&cells), "| a \\|\\| b | c d |\n");
    }
}
