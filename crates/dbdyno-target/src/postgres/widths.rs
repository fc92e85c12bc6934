//! How wide rows and index keys are on average, from what ANALYZE found in each column.

use std::collections::BTreeMap;

use ::postgres::{Client, Error};

use super::reader::Subject;
use super::text::text;

pub(super) const SUBJECT: Subject = Subject::new("postgres.widths", "pg_attribute, pg_stats");

/// Columns of tables by the tables' oids, each in its order.
#[derive(Debug, Default)]
pub(super) struct Widths {
    tables: BTreeMap<u32, Vec<Column>>,
}

#[derive(Debug, Clone, Copy)]
struct Column {
    number: i16,
    /// Bytes of a type with a fixed length; -1 for those without.
    length: i16,
    alignment: f64,
    statistics: Option<Statistics>,
}

#[derive(Debug, Clone, Copy)]
struct Statistics {
    null_fraction: f64,
    /// Of a value that is not null, as it lies in the row: compressed, or a pointer into TOAST.
    width: f64,
}

/// Data with a header of one byte is not aligned.
const LONGEST_WITH_SHORT_HEADER: f64 = 127.0;

impl Column {
    /// What the position of a value of that width is a multiple of.
    fn step(&self, width: f64) -> f64 {
        if self.length < 0 && width < LONGEST_WITH_SHORT_HEADER {
            1.0
        } else {
            self.alignment
        }
    }
}

impl Widths {
    /// Data of an average row; none where one of its columns has no statistics.
    pub(super) fn row_bytes(&self, table: u32) -> Option<f64> {
        data_bytes(self.tables.get(&table)?)
    }

    /// Data of an average entry of an index on these columns; 0 stands for an expression.
    pub(super) fn key_bytes(&self, table: u32, columns: &[i16]) -> Option<f64> {
        let all = self.tables.get(&table)?;
        let key = columns
            .iter()
            .map(|number| all.iter().find(|column| column.number == *number).copied())
            .collect::<Option<Vec<Column>>>()?;
        data_bytes(&key)
    }
}

/// Each column begins where its alignment allows; a null takes no room.
fn data_bytes(columns: &[Column]) -> Option<f64> {
    let mut end = 0.0_f64;
    for column in columns {
        let statistics = column.statistics?;
        let step = column.step(statistics.width);
        let padding = (end / step).ceil() * step - end;
        end += (1.0 - statistics.null_fraction) * (padding + statistics.width);
    }
    (!columns.is_empty()).then_some(end)
}

/// Two statements for all tables, without columns that 18 computes when they are read: those take no
/// room, and have no statistics. pg_stats shows a role only the columns it may select.
pub(super) fn read(client: &mut Client, tables: &[u32]) -> Result<Widths, Error> {
    const COLUMNS: &str = "SELECT a.attrelid, n.nspname::text, c.relname::text, a.attname::text, \
             a.attnum, a.attlen, a.attalign::text \
         FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid \
             JOIN pg_namespace n ON n.oid = c.relnamespace \
         WHERE a.attrelid = ANY($1) AND a.attnum > 0 AND NOT a.attisdropped \
             AND a.attgenerated <> 'v' \
         ORDER BY a.attrelid, a.attnum";
    let rows = client.query(COLUMNS, &[&tables])?;
    let mut names = Vec::with_capacity(rows.len());
    for row in &rows {
        let name: Name = (text(row, 1)?, text(row, 2)?, text(row, 3)?);
        names.push(name);
    }
    let statistics = read_statistics(client, &names)?;
    let mut widths = Widths::default();
    for (row, name) in rows.iter().zip(&names) {
        let alignment: String = row.try_get(6)?;
        let column = Column {
            number: row.try_get(4)?,
            length: row.try_get(5)?,
            alignment: alignment_bytes(&alignment),
            statistics: statistics.get(name).copied(),
        };
        let table: u32 = row.try_get(0)?;
        widths.tables.entry(table).or_default().push(column);
    }
    Ok(widths)
}

/// Schema, table and column.
type Name = (String, String, String);

fn read_statistics(
    client: &mut Client,
    names: &[Name],
) -> Result<BTreeMap<Name, Statistics>, Error> {
    const SQL: &str = "SELECT schemaname::text, tablename::text, attname::text, \
             null_frac::float8, avg_width::float8 \
         FROM pg_stats WHERE schemaname = ANY($1) AND tablename = ANY($2) AND NOT inherited";
    let mut schemas: Vec<&str> = names.iter().map(|(schema, _, _)| schema.as_str()).collect();
    let mut tables: Vec<&str> = names.iter().map(|(_, table, _)| table.as_str()).collect();
    schemas.dedup();
    tables.dedup();
    client
        .query(SQL, &[&schemas, &tables])?
        .iter()
        .map(|row| {
            let statistics = Statistics {
                null_fraction: row.try_get(3)?,
                width: row.try_get(4)?,
            };
            let name: Name = (text(row, 0)?, text(row, 1)?, text(row, 2)?);
            Ok((name, statistics))
        })
        .collect()
}

/// `attalign`, in bytes.
fn alignment_bytes(letter: &str) -> f64 {
    match letter {
        "d" => 8.0,
        "i" => 4.0,
        "s" => 2.0,
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(number: i16, length: i16, letter: &str, width: f64, null_fraction: f64) -> Column {
        Column {
            number,
            length,
            alignment: alignment_bytes(letter),
            statistics: Some(Statistics {
                null_fraction,
                width,
            }),
        }
    }

    fn widths(columns: Vec<Column>) -> Widths {
        Widths {
            tables: BTreeMap::from([(7, columns)]),
        }
    }

    #[test]
    fn columns_are_aligned_in_their_order() {
        // A boolean, a bigint that has to begin at 8, and a short text right behind it.
        let columns = vec![
            column(1, 1, "c", 1.0, 0.0),
            column(2, 8, "d", 8.0, 0.0),
            column(3, -1, "i", 11.0, 0.0),
        ];
        let widths = widths(columns);
        assert_eq!(widths.row_bytes(7), Some(27.0));
        assert_eq!(widths.key_bytes(7, &[2]), Some(8.0));
        assert_eq!(widths.key_bytes(7, &[3, 2]), Some(24.0));
    }

    #[test]
    fn nulls_take_no_room_and_long_values_are_aligned() {
        let columns = vec![
            column(1, 1, "c", 1.0, 0.0),
            column(2, 8, "d", 8.0, 0.5),
            column(4, -1, "i", 200.0, 0.0),
        ];
        // 1 + half of (7 + 8) = 8.5, which is rounded up to 12.
        assert_eq!(widths(columns).row_bytes(7), Some(212.0));
    }

    #[test]
    fn what_was_not_analysed_or_is_no_column_has_no_width() {
        let mut unseen = column(2, 4, "i", 4.0, 0.0);
        unseen.statistics = None;
        let widths = widths(vec![column(1, 4, "i", 4.0, 0.0), unseen]);
        assert_eq!(widths.row_bytes(7), None);
        assert_eq!(widths.key_bytes(7, &[1]), Some(4.0));
        assert_eq!(widths.key_bytes(7, &[1, 0]), None);
        assert_eq!(widths.row_bytes(8), None);
    }
}
