//! What one of these workloads is made of: sysbench's options, with sysbench's defaults.

use super::distribution::Distribution;
use super::kind::Kind;

/// Rows, tables and statements of a workload, and how they are drawn and sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    pub kind: Kind,
    pub tables: u32,
    /// Rows of each table.
    pub table_size: u64,
    /// Rows of each range.
    pub range_size: u64,
    pub distribution: Distribution,
    /// No BEGIN and COMMIT: each statement is a transaction of its own.
    pub skip_transactions: bool,
    /// Statements share a round trip where none needs the answer to another, and where a failure
    /// undoes those behind it: on PostgreSQL a whole transaction, on MySQL BEGIN and reads.
    pub pipelined: bool,
    /// Of the rows.
    pub seed: u64,
    pub point_selects: u32,
    pub simple_ranges: u32,
    pub sum_ranges: u32,
    pub order_ranges: u32,
    pub distinct_ranges: u32,
    pub index_updates: u32,
    pub non_index_updates: u32,
    pub delete_inserts: u32,
    /// Values in the IN list of select-random-points.
    pub random_points: u32,
    /// Ranges that select-random-ranges joins by OR, and how far each reaches.
    pub number_of_ranges: u32,
    pub delta: u32,
    /// Parts of the table that select-random-points and -ranges divide among the connections:
    /// as many as there are connections, to do as sysbench does.
    pub segments: u32,
}

impl Config {
    /// Tables and parameters of a statement: more than anybody drives.
    const MOST_TABLES: u32 = 100_000;
    const MOST_VALUES: u32 = 10_000;
    /// Ids are four bytes, with a sign.
    const MOST_IDS: u64 = i32::MAX as u64;

    /// With sysbench's defaults.
    #[must_use]
    pub fn new(kind: Kind) -> Self {
        Self {
            kind,
            tables: 1,
            table_size: 10_000,
            range_size: 100,
            distribution: Distribution::default(),
            skip_transactions: false,
            pipelined: false,
            seed: 1,
            point_selects: if kind == Kind::PointSelect { 1 } else { 10 },
            simple_ranges: 1,
            sum_ranges: 1,
            order_ranges: 1,
            distinct_ranges: 1,
            index_updates: 1,
            non_index_updates: 1,
            delete_inserts: 1,
            random_points: 10,
            number_of_ranges: 10,
            delta: 5,
            segments: 1,
        }
    }

    #[must_use]
    pub fn description(&self) -> String {
        let (kind, random) = (self.kind, self.distribution.name());
        let (tables, rows) = (self.tables, self.table_size);
        let plural = if tables == 1 { "" } else { "s" };
        format!(
            "{}: {}, {tables} table{plural} of {rows} rows, {random}",
            kind.name(),
            kind.description()
        )
    }

    /// Statements of one transaction, BEGIN and COMMIT among them.
    #[must_use]
    pub fn statements(&self) -> u64 {
        let count = u64::from;
        let ranges = count(self.simple_ranges)
            + count(self.sum_ranges)
            + count(self.order_ranges)
            + count(self.distinct_ranges);
        let reads = count(self.point_selects) + ranges;
        let writes = count(self.index_updates)
            + count(self.non_index_updates)
            + 2 * count(self.delete_inserts);
        let own = match self.kind {
            Kind::PointSelect => count(self.point_selects),
            Kind::ReadOnly => reads,
            Kind::ReadWrite => reads + writes,
            Kind::WriteOnly => writes,
            Kind::UpdateIndex => count(self.index_updates),
            Kind::UpdateNonIndex => count(self.non_index_updates),
            Kind::Insert | Kind::Delete | Kind::SelectRandomPoints | Kind::SelectRandomRanges => 1,
        };
        own + self.control_statements()
    }

    /// BEGIN and COMMIT.
    fn control_statements(&self) -> u64 {
        if self.is_wrapped() { 2 } else { 0 }
    }

    /// Whether BEGIN and COMMIT are sent.
    pub(crate) fn is_wrapped(&self) -> bool {
        self.kind.has_transactions() && !self.skip_transactions
    }

    /// Rows of all tables after a load.
    #[must_use]
    pub fn rows(&self) -> u64 {
        u64::from(self.tables) * self.table_size
    }

    /// What is wrong with it, if anything is.
    #[must_use]
    pub fn refusal(&self) -> Option<String> {
        if !(1..=Self::MOST_TABLES).contains(&self.tables) {
            let (tables, most) = (self.tables, Self::MOST_TABLES);
            return Some(format!(
                "{tables} tables: between 1 and {most} are possible"
            ));
        }
        // The last range ends behind the last row, and random ranges reach that far too.
        let reach = self.range_size.max(self.delta.into());
        let most = Self::MOST_IDS.saturating_sub(reach);
        if !(1..=most).contains(&self.table_size) || self.range_size == 0 {
            let (rows, range) = (self.table_size, self.range_size);
            return Some(format!(
                "tables of {rows} rows with ranges of {range}: ids are numbers of four bytes"
            ));
        }
        let values = [self.random_points, self.number_of_ranges];
        let possible = 1..=Self::MOST_VALUES;
        if !values.iter().all(|value| possible.contains(value)) {
            let most = Self::MOST_VALUES;
            return Some(format!(
                "random points and ranges: between 1 and {most} are possible"
            ));
        }
        if self.segments == 0 {
            return Some("no segments: at least 1 is needed".to_owned());
        }
        if self.statements() == self.control_statements() {
            return Some(format!("{} has no statements left", self.kind.name()));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transactions_have_as_many_statements_as_sysbench_counts() {
        let expected = [1, 16, 20, 6, 1, 1, 1, 1, 1, 1];
        let counted = Kind::ALL.map(|kind| Config::new(kind).statements());
        assert_eq!(counted, expected);
        let bare = Config {
            skip_transactions: true,
            ..Config::new(Kind::ReadWrite)
        };
        assert_eq!(bare.statements(), 18);
    }

    #[test]
    fn what_cannot_be_drawn_is_refused() {
        for kind in Kind::ALL {
            assert_eq!(Config::new(kind).refusal(), None);
        }
        let sound = Config::new(Kind::WriteOnly);
        let refused = [
            Config { tables: 0, ..sound },
            Config {
                table_size: 0,
                ..sound
            },
            Config {
                table_size: i32::MAX as u64,
                ..sound
            },
            Config {
                range_size: u64::MAX,
                ..sound
            },
            Config {
                random_points: 0,
                ..sound
            },
            Config {
                segments: 0,
                ..sound
            },
            Config {
                index_updates: 0,
                non_index_updates: 0,
                delete_inserts: 0,
                ..sound
            },
        ];
        for config in refused {
            assert!(config.refusal().is_some(), "{config:?}");
        }
    }
}
