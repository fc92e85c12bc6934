//! What a transaction is to do, drawn before it is sent, so that a retry repeats it.

use super::distribution::Sampler;
use super::rows::{C, Digits, Pad};
use super::stream;
use super::{Config, Kind};
use crate::tpcc::random::Random;

/// A statement, in the order in which a connection keeps what it has prepared of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Command {
    PointSelect,
    SimpleRange,
    SumRange,
    OrderRange,
    DistinctRange,
    RandomPoints,
    RandomRanges,
    UpdateIndex,
    UpdateNonIndex,
    Delete,
    /// With the id of a row that was deleted.
    Insert,
    /// With an id that the server gives.
    Append,
}

impl Command {
    pub(crate) const COUNT: usize = Self::Append as usize + 1;

    /// Whether it changes data.
    pub(crate) fn writes(self) -> bool {
        matches!(
            self,
            Self::UpdateIndex | Self::UpdateNonIndex | Self::Delete | Self::Insert | Self::Append
        )
    }
}

/// One statement with its parameters.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    pub(crate) command: Command,
    /// From 1.
    pub(crate) table: u32,
    pub(crate) values: Values,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Values {
    Id(u32),
    Range {
        first: u32,
        last: u32,
    },
    Text {
        c: C,
        id: u32,
    },
    Row {
        /// None where the server gives one.
        id: Option<u32>,
        k: u32,
        c: C,
        pad: Pad,
    },
    /// [`Input::numbers`].
    Numbers,
}

/// The steps of one transaction. Keeps its room from one to the next.
#[derive(Debug, Default)]
pub(crate) struct Input {
    pub(crate) steps: Vec<Step>,
    /// Parameters of a statement that has many.
    pub(crate) numbers: Vec<u32>,
}

impl Input {
    fn push(&mut self, command: Command, table: u32, values: Values) {
        self.steps.push(Step {
            command,
            table,
            values,
        });
    }
}

/// Draws one transaction after the other.
#[derive(Debug)]
pub(crate) struct Dealer {
    config: Config,
    random: Random,
    ids: Sampler,
}

impl Dealer {
    /// What is drawn depends on the seed and the terminal's index alone.
    pub(crate) fn new(config: &Config, seed: u64, index: u32) -> Self {
        let (low, high) = match config.kind {
            Kind::SelectRandomPoints | Kind::SelectRandomRanges => segment(config, index),
            _ => (1, config.table_size as u32),
        };
        Self {
            config: *config,
            random: Random::stream(seed, &[stream::TERMINAL, u64::from(index)]),
            ids: Sampler::new(config.distribution, low, high),
        }
    }

    /// Replaces the steps with those of the next transaction.
    pub(crate) fn deal(&mut self, input: &mut Input) {
        input.steps.clear();
        input.numbers.clear();
        match self.config.kind {
            Kind::PointSelect => self.point_selects(input),
            Kind::ReadOnly => self.reads(input),
            Kind::ReadWrite => {
                self.reads(input);
                self.writes(input);
            }
            Kind::WriteOnly => self.writes(input),
            Kind::UpdateIndex => self.index_updates(input),
            Kind::UpdateNonIndex => self.non_index_updates(input),
            Kind::Delete => {
                let (table, id) = (self.table(), self.id());
                input.push(Command::Delete, table, Values::Id(id));
            }
            Kind::Insert => {
                let (table, k) = (self.table(), self.id());
                let row = self.row(None, k);
                input.push(Command::Append, table, row);
            }
            Kind::SelectRandomPoints => self.random_points(input),
            Kind::SelectRandomRanges => self.random_ranges(input),
        }
    }

    fn table(&mut self) -> u32 {
        self.random.uniform(1..=self.config.tables)
    }

    fn id(&mut self) -> u32 {
        self.ids.draw(&mut self.random)
    }

    fn row(&mut self, id: Option<u32>, k: u32) -> Values {
        Values::Row {
            id,
            k,
            c: Digits::draw(&mut self.random),
            pad: Digits::draw(&mut self.random),
        }
    }

    fn reads(&mut self, input: &mut Input) {
        self.point_selects(input);
        for (command, count) in [
            (Command::SimpleRange, self.config.simple_ranges),
            (Command::SumRange, self.config.sum_ranges),
            (Command::OrderRange, self.config.order_ranges),
            (Command::DistinctRange, self.config.distinct_ranges),
        ] {
            let table = self.table();
            for _ in 0..count {
                let first = self.id();
                let last = first + (self.config.range_size - 1) as u32;
                input.push(command, table, Values::Range { first, last });
            }
        }
    }

    fn writes(&mut self, input: &mut Input) {
        self.index_updates(input);
        self.non_index_updates(input);
        let table = self.table();
        for _ in 0..self.config.delete_inserts {
            let (id, k) = (self.id(), self.id());
            let row = self.row(Some(id), k);
            input.push(Command::Delete, table, Values::Id(id));
            input.push(Command::Insert, table, row);
        }
    }

    /// All of one table, as are the statements of each of the other kinds.
    fn point_selects(&mut self, input: &mut Input) {
        let table = self.table();
        for _ in 0..self.config.point_selects {
            let id = self.id();
            input.push(Command::PointSelect, table, Values::Id(id));
        }
    }

    fn index_updates(&mut self, input: &mut Input) {
        let table = self.table();
        for _ in 0..self.config.index_updates {
            let id = self.id();
            input.push(Command::UpdateIndex, table, Values::Id(id));
        }
    }

    fn non_index_updates(&mut self, input: &mut Input) {
        let table = self.table();
        for _ in 0..self.config.non_index_updates {
            let c = Digits::draw(&mut self.random);
            let id = self.id();
            input.push(Command::UpdateNonIndex, table, Values::Text { c, id });
        }
    }

    /// Always of the first table.
    fn random_points(&mut self, input: &mut Input) {
        for _ in 0..self.config.random_points {
            let value = self.id();
            input.numbers.push(value);
        }
        input.push(Command::RandomPoints, 1, Values::Numbers);
    }

    fn random_ranges(&mut self, input: &mut Input) {
        for _ in 0..self.config.number_of_ranges {
            let first = self.id();
            input.numbers.extend([first, first + self.config.delta]);
        }
        input.push(Command::RandomRanges, 1, Values::Numbers);
    }
}

/// The part of the table that a connection has for itself, from 0 on and with both ends, as sysbench
/// divides it.
fn segment(config: &Config, index: u32) -> (u32, u32) {
    let length = config.table_size as f64 / f64::from(config.segments);
    let low = length * f64::from(index % config.segments);
    (low as u32, (low + length) as u32)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn dealt(config: &Config, seed: u64, index: u32) -> Input {
        let mut input = Input::default();
        Dealer::new(config, seed, index).deal(&mut input);
        input
    }

    fn commands(kind: Kind) -> Vec<Command> {
        let input = dealt(&Config::new(kind), 3, 0);
        input.steps.iter().map(|step| step.command).collect()
    }

    #[test]
    fn a_transaction_has_the_statements_of_its_script() {
        use Command::{
            Delete, DistinctRange, Insert, OrderRange, PointSelect, SimpleRange, SumRange,
            UpdateIndex, UpdateNonIndex,
        };
        let ranges = [SimpleRange, SumRange, OrderRange, DistinctRange];
        let writes = [UpdateIndex, UpdateNonIndex, Delete, Insert];
        let reads = [&[PointSelect; 10][..], &ranges].concat();
        assert_eq!(commands(Kind::ReadOnly), reads);
        assert_eq!(commands(Kind::ReadWrite), [&reads[..], &writes].concat());
        assert_eq!(commands(Kind::WriteOnly), writes);
        assert_eq!(commands(Kind::PointSelect), [PointSelect]);
        assert_eq!(commands(Kind::Insert), [Command::Append]);
    }

    #[test]
    fn a_deleted_row_is_inserted_again() {
        let config = Config {
            tables: 9,
            delete_inserts: 3,
            ..Config::new(Kind::WriteOnly)
        };
        let input = dealt(&config, 5, 2);
        let pairs = &input.steps[2..];
        assert_eq!(pairs.len(), 6);
        for pair in pairs.chunks(2) {
            let Values::Id(deleted) = pair[0].values else {
                panic!("{pair:?}");
            };
            let Values::Row { id, .. } = pair[1].values else {
                panic!("{pair:?}");
            };
            assert_eq!(id, Some(deleted));
            assert_eq!(pair[0].table, pair[1].table);
        }
    }

    #[test]
    fn segments_divide_the_table() {
        let config = Config {
            segments: 4,
            ..Config::new(Kind::SelectRandomPoints)
        };
        let divided = [0, 1, 3, 4].map(|index| segment(&config, index));
        assert_eq!(
            divided,
            [(0, 2500), (2500, 5000), (7500, 10_000), (0, 2500)]
        );
        assert_eq!(dealt(&config, 1, 3).numbers.len(), 10);
        let ranges = Config::new(Kind::SelectRandomRanges);
        let numbers = dealt(&ranges, 1, 0).numbers;
        assert_eq!(numbers.len(), 20);
        assert!(numbers.chunks(2).all(|range| range[1] - range[0] == 5));
    }

    proptest! {
        #[test]
        fn all_is_of_rows_that_a_load_has(
            seed: u64,
            kind in prop::sample::select(Kind::ALL.to_vec()),
            tables in 1..4_u32,
            table_size in 1..300_u64,
        ) {
            let config = Config { tables, table_size, ..Config::new(kind) };
            let size = table_size as u32;
            let input = dealt(&config, seed, 1);
            let wrapped = if config.is_wrapped() { 2 } else { 0 };
            prop_assert_eq!(input.steps.len() as u64 + wrapped, config.statements());
            for step in &input.steps {
                prop_assert!((1..=tables).contains(&step.table));
                prop_assert!(kind.writes() || !step.command.writes());
                let id = match step.values {
                    Values::Id(id) | Values::Text { id, .. } => id,
                    Values::Range { first, last } => {
                        prop_assert_eq!(last, first + 99);
                        first
                    }
                    Values::Row { id, k, .. } => {
                        prop_assert!((1..=size).contains(&k));
                        id.unwrap_or(1)
                    }
                    Values::Numbers => 1,
                };
                prop_assert!((1..=size).contains(&id));
            }
        }

        #[test]
        fn a_seed_and_an_index_decide_what_is_drawn(seed: u64, index in 0..9_u32) {
            let config = Config::new(Kind::ReadWrite);
            let drawn = |index| format!("{:?}", dealt(&config, seed, index).steps);
            prop_assert_eq!(drawn(index), drawn(index));
            prop_assert!(drawn(index) != drawn(index + 1));
        }
    }
}
