//! Plain tables with aligned columns.

use crate::number::MISSING;
use crate::text::{columns, cut};

/// To which side the cells of a column are pushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    Left,
    /// Numbers, so that their digits stand under each other.
    Right,
}

/// A table that grows row by row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    head: Vec<String>,
    align: Vec<Align>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these columns and no rows.
    #[must_use]
    pub fn new(columns: &[(&str, Align)]) -> Self {
        Self {
            head: columns.iter().map(|(name, _)| (*name).to_owned()).collect(),
            align: columns.iter().map(|(_, align)| *align).collect(),
            rows: Vec::new(),
        }
    }

    /// Appends a row: cells beyond the columns are dropped, missing ones read `–`.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let mut row: Vec<String> = cells.into_iter().take(self.head.len()).collect();
        row.resize(self.head.len(), MISSING.to_owned());
        self.rows.push(row);
    }

    /// Head and rows as lines, columns two spaces apart, nothing at the ends of lines.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let widths: Vec<usize> = (0..self.head.len())
            .map(|column| {
                let cells = self.rows.iter().map(|row| columns(&row[column]));
                cells.max().unwrap_or(0).max(columns(&self.head[column]))
            })
            .collect();
        std::iter::once(&self.head)
            .chain(&self.rows)
            .map(|row| self.line(row, &widths))
            .collect()
    }

    /// The lines where they fit the width; else turned on its side, a column for each row, and what
    /// is then still too wide is cut.
    #[must_use]
    pub fn fit(&self, width: usize) -> Vec<String> {
        let lines = self.lines();
        if self.rows.is_empty() || lines.iter().all(|line| columns(line) <= width) {
            return lines;
        }
        let names = self
            .head
            .iter()
            .map(|name| columns(name))
            .max()
            .unwrap_or(0);
        let room = (width.saturating_sub(names) / self.rows.len())
            .saturating_sub(2)
            .max(4);
        let name = |column: usize| self.head[column].clone();
        let cells = |column: usize| self.rows.iter().map(move |row| cut(&row[column], room));
        let turned = Self {
            head: std::iter::once(name(0)).chain(cells(0)).collect(),
            align: std::iter::once(Align::Left)
                .chain(self.rows.iter().map(|_| Align::Right))
                .collect(),
            rows: (1..self.head.len())
                .map(|column| std::iter::once(name(column)).chain(cells(column)).collect())
                .collect(),
        };
        turned.lines()
    }

    fn line(&self, row: &[String], widths: &[usize]) -> String {
        let cells: Vec<String> = row
            .iter()
            .zip(widths)
            .zip(&self.align)
            .map(|((cell, width), align)| match align {
                Align::Left => format!("{cell:<width$}"),
                Align::Right => format!("{cell:>width$}"),
            })
            .collect();
        cells.join("  ").trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::{Align, Table};

    #[test]
    fn columns_are_aligned_and_missing_cells_are_dashes() {
        let mut table = Table::new(&[("arm", Align::Left), ("TPS", Align::Right)]);
        table.row(["shipped".to_owned(), "2,410".to_owned()]);
        table.row(["recommended".to_owned()]);
        assert_eq!(
            table.lines(),
            [
                "arm            TPS",
                "shipped      2,410",
                "recommended      –"
            ]
        );
    }

    #[test]
    fn a_table_too_wide_is_turned() {
        let mut table = Table::new(&[("arm", Align::Left), ("TPS", Align::Right)]);
        table.row(["shipped".to_owned(), "2,410".to_owned()]);
        table.row(["recommended".to_owned(), "3,160".to_owned()]);
        assert_eq!(table.fit(18), table.lines());
        assert_eq!(
            table.fit(17),
            ["arm    ship…  reco…", "TPS    2,410  3,160"].map(|l| l.replacen("    ", "  ", 1))
        );
    }

    #[test]
    fn a_table_without_rows_is_its_head() {
        assert_eq!(Table::new(&[("arm", Align::Left)]).lines(), ["arm"]);
        assert_eq!(Table::default().lines(), [""]);
    }
}
