//! Plain tables with aligned columns.

use crate::number::MISSING;
use crate::style::{Role, Style};
use crate::text::{clean, columns, cut};

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
        let cells = cells.into_iter().map(|cell| clean(&cell));
        let mut row: Vec<String> = cells.take(self.head.len()).collect();
        row.resize(self.head.len(), MISSING.to_owned());
        self.rows.push(row);
    }

    /// Head and rows as lines, columns two spaces apart, nothing at the ends of lines.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        self.painted(Style::Plain, |_, _| None)
    }

    /// The same with cells in colours: the role of each by row, from 0 below the head, and column.
    pub(crate) fn painted(
        &self,
        style: Style,
        role: impl Fn(usize, usize) -> Option<Role>,
    ) -> Vec<String> {
        let widths: Vec<usize> = (0..self.head.len())
            .map(|column| self.width_of(column))
            .collect();
        let head = self.line(&self.head, &widths, |_, cell| cell.to_owned());
        let rows = self.rows.iter().enumerate().map(|(index, row)| {
            self.line(row, &widths, |column, cell| match role(index, column) {
                Some(role) => style.paint(role, cell),
                None => cell.to_owned(),
            })
        });
        std::iter::once(style.paint(Role::Dim, &head))
            .chain(rows)
            .collect()
    }

    /// Columns of the terminal that a column takes.
    pub(crate) fn width_of(&self, column: usize) -> usize {
        let cells = self.rows.iter().map(|row| columns(&row[column]));
        cells.max().unwrap_or(0).max(columns(&self.head[column]))
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

    /// A row's cells, padded by what they take and not by how they are painted.
    fn line(
        &self,
        row: &[String],
        widths: &[usize],
        paint: impl Fn(usize, &str) -> String,
    ) -> String {
        let mut line = String::new();
        let mut blanks = 0;
        for (column, cell) in row.iter().enumerate() {
            let free = widths[column].saturating_sub(columns(cell));
            let (before, after) = match self.align[column] {
                Align::Left => (0, free),
                Align::Right => (free, 0),
            };
            // Blanks are held back until something follows, so that no line ends in them.
            blanks += before;
            if !cell.is_empty() {
                line.push_str(&" ".repeat(blanks));
                line.push_str(&paint(column, cell));
                blanks = 0;
            }
            blanks += after + 2;
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::{Align, Table};
    use crate::style::{Role, Style};
    use crate::testing::without_colour;

    #[test]
    fn paint_takes_no_columns() {
        let mut table = Table::new(&[("word", Align::Left), ("n", Align::Right)]);
        table.row(["worse".to_owned(), "4".to_owned()]);
        table.row([String::new(), "12".to_owned()]);
        let painted = table.painted(Style::Coloured, |row, column| {
            (row == 0 && column == 0).then_some(Role::Bad)
        });
        let plain: Vec<String> = painted.iter().map(|line| without_colour(line)).collect();
        assert_eq!(plain, ["word    n", "worse   4", "       12"]);
        assert_eq!(plain, table.lines());
        assert_eq!(painted[1], "\u{1b}[1m\u{1b}[31mworse\u{1b}[0m   4");
    }

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
