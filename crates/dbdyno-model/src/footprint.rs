//! What a table and its indexes take, and how full their pages are.

use serde::{Deserialize, Serialize};

use crate::Fact;

/// Of the table that holds the rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Footprint {
    pub rows: u64,
    /// On InnoDB, which keeps rows in their primary key, that index.
    pub table_bytes: Fact<u64>,
    /// All indexes; on InnoDB those beside the primary key.
    pub index_bytes: Fact<u64>,
    /// Everything: all forks of table and indexes, or the length of InnoDB's file.
    pub total_bytes: Fact<u64>,
    /// What the file takes of its disk, less than its length where it has holes.
    pub allocated_bytes: Fact<u64>,
    pub fills: Vec<Fill>,
    /// What the server keeps pages of all tables in: shared_buffers, or InnoDB's buffer pool.
    pub cache_bytes: Option<u64>,
}

/// How full the pages of a table or an index are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fill {
    pub name: String,
    /// Of a table all its pages, of an index its leaves.
    pub pages: Fact<u64>,
    /// Between 0 and 1; on InnoDB an estimate from the size of a row.
    pub fill: Fact<f64>,
}

impl Footprint {
    /// Table and indexes, where either way of asking for them tells.
    #[must_use]
    pub fn stored_bytes(&self) -> Option<u64> {
        let parts = self.table_bytes.get().zip(self.index_bytes.get());
        let sum = parts.map(|(table, indexes)| table + indexes);
        self.total_bytes.get().or(sum)
    }

    /// Table and indexes together; none where nothing is stored or the size is unknown.
    #[must_use]
    pub fn bytes_per_row(&self) -> Option<f64> {
        let total = self.total_bytes.get()?;
        (self.rows > 0).then(|| total as f64 / self.rows as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_per_row_need_rows_and_a_size() {
        let mut footprint = Footprint {
            rows: 4,
            table_bytes: Fact::default(),
            index_bytes: Fact::default(),
            total_bytes: Fact::known(1_000, "test"),
            allocated_bytes: Fact::default(),
            fills: Vec::new(),
            cache_bytes: None,
        };
        assert_eq!(footprint.bytes_per_row(), Some(250.0));
        footprint.total_bytes = Fact::unknown("not allowed", "test");
        assert_eq!(footprint.bytes_per_row(), None);
        footprint.total_bytes = Fact::known(0, "test");
        footprint.rows = 0;
        assert_eq!(footprint.bytes_per_row(), None);
    }
    #[test]
    fn parts_stand_in_for_a_total_that_is_not_told() {
        let mut footprint = Footprint {
            rows: 4,
            table_bytes: Fact::known(700, "test"),
            index_bytes: Fact::known(200, "test"),
            total_bytes: Fact::known(1_000, "test"),
            allocated_bytes: Fact::default(),
            fills: Vec::new(),
            cache_bytes: None,
        };
        assert_eq!(footprint.stored_bytes(), Some(1_000));
        footprint.total_bytes = Fact::unknown("not allowed", "test");
        assert_eq!(footprint.stored_bytes(), Some(900));
        footprint.index_bytes = Fact::unknown("not allowed", "test");
        assert_eq!(footprint.stored_bytes(), None);
    }
}
