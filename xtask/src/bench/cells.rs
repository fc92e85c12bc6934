//! Rows of a Markdown table.

/// One line, whatever the cells hold.
pub(super) fn row(cells: &[String]) -> String {
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
    use super::row;

    #[test]
    fn nothing_in_a_cell_ends_it() {
        let cells = ["a || b".to_owned(), "c\n  d".to_owned()];
        assert_eq!(row(&cells), "| a \\|\\| b | c d |\n");
    }
}
