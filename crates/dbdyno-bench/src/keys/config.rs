//! What is loaded, and what a transaction does with it.

use std::fmt;

use crate::tables::{Contents as _, field};

/// Of one transaction, whose keys a terminal keeps for a retry.
pub const MAX_ROWS_PER_TRANSACTION: u64 = 100_000;

/// Two parameters a row have to stay below the 65,535 of both protocols.
const MAX_BATCH: u32 = 10_000;
const MAX_STATEMENTS: u32 = 10_000;
const MAX_FILLER: u32 = 1_000;
const MAX_ROWS: u64 = 1_000_000_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Inserts,
    Selects,
}

/// Of the primary key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// A bigint that the server counts; for inserts in random order, one that it is given.
    AutoIncrement,
    /// A bigint, any of 2^64.
    Random64,
    /// Versions 4 and 7 of RFC 9562: uuid on PostgreSQL, binary(16) on MySQL.
    UuidV4,
    UuidV7,
}

/// Of inserts: whether the keys of a connection ascend. Of selects: whether it takes the rows in the
/// order in which they arrived, from a place of its own on, or any of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Sequential,
    Random,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    pub kind: Kind,
    pub key: Key,
    pub order: Order,
    /// That the load writes. Selects go to these alone.
    pub rows: u64,
    /// Rows of one statement.
    pub batch: u32,
    /// Statements of one transaction; where there is none each commits by itself.
    pub transaction: Option<u32>,
    /// Letters of each row beside its key.
    pub filler: u32,
    pub seed: u64,
}

impl Kind {
    pub const ALL: [Self; 2] = [Self::Inserts, Self::Selects];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Inserts => "inserts",
            Self::Selects => "selects",
        }
    }
}

impl Key {
    pub const ALL: [Self; 4] = [
        Self::AutoIncrement,
        Self::Random64,
        Self::UuidV4,
        Self::UuidV7,
    ];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::AutoIncrement => "auto_increment",
            Self::Random64 => "random64",
            Self::UuidV4 => "uuid_v4",
            Self::UuidV7 => "uuid_v7",
        }
    }

    /// How keys of this kind arrive where nobody does anything about it.
    #[must_use]
    pub fn natural_order(self) -> Order {
        match self {
            Self::AutoIncrement | Self::UuidV7 => Order::Sequential,
            Self::Random64 | Self::UuidV4 => Order::Random,
        }
    }
}

impl Order {
    pub const ALL: [Self; 2] = [Self::Sequential, Self::Random];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::Random => "random",
        }
    }
}

impl Config {
    /// A million rows of 100 letters, numbered by the server, one a statement, each committed.
    #[must_use]
    pub fn new(kind: Kind) -> Self {
        Self {
            kind,
            key: Key::AutoIncrement,
            order: Order::Sequential,
            rows: 1_000_000,
            batch: 1,
            transaction: None,
            filler: 100,
            seed: 1,
        }
    }

    #[must_use]
    pub fn name(&self) -> &'static str {
        self.kind.name()
    }

    #[must_use]
    pub fn description(&self) -> String {
        format!(
            "{}: {} keys in {} order, {}, {}, {} rows loaded",
            self.kind.name(),
            self.key.name(),
            self.order.name(),
            Count(self.batch, "row a statement", "rows a statement"),
            match self.transaction {
                None => "autocommit".to_owned(),
                Some(statements) => Count(
                    statements,
                    "statement a transaction",
                    "statements a transaction"
                )
                .to_string(),
            },
            self.rows
        )
    }

    #[must_use]
    pub fn writes(&self) -> bool {
        self.kind == Kind::Inserts
    }

    /// Names of what is measured by transaction, in the order of their indexes.
    #[must_use]
    pub fn transactions(&self) -> Vec<String> {
        let name = match self.kind {
            Kind::Inserts => "insert",
            Kind::Selects => "select",
        };
        vec![name.to_owned()]
    }

    /// Of one transaction, BEGIN and COMMIT left out.
    #[must_use]
    pub fn statements(&self) -> u32 {
        self.transaction.unwrap_or(1)
    }

    #[must_use]
    pub fn rows_per_transaction(&self) -> u64 {
        u64::from(self.batch) * u64::from(self.statements())
    }

    /// Roughly what the load takes on the disk.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        // Key, its index and the headers of both; pages are not full.
        self.rows * (u64::from(self.filler) + 100)
    }

    /// What a load of this identity is to this kind; none where it is none of ours.
    pub(super) fn of_identity(kind: Kind, identity: &str) -> Option<Self> {
        let of = |name: &str| field(identity, name);
        let (key, arrival) = (of("key")?, of("arrival")?);
        let config = Self {
            key: Key::ALL.into_iter().find(|each| each.name() == key)?,
            order: Order::ALL.into_iter().find(|each| each.name() == arrival)?,
            rows: of("rows")?.parse().ok()?,
            filler: of("filler")?.parse().ok()?,
            seed: of("seed")?.parse().ok()?,
            ..Self::new(kind)
        };
        (config.identity() == identity).then_some(config)
    }

    /// The order in which the loaded rows arrived: selects find them as keys of their kind come,
    /// inserts as they will add to them.
    pub(crate) fn arrival(&self) -> Order {
        match self.kind {
            Kind::Inserts => self.order,
            Kind::Selects => self.key.natural_order(),
        }
    }

    /// Why it cannot be loaded or run.
    #[must_use]
    pub fn refusal(&self) -> Option<String> {
        let within = |name: &str, value: u64, least: u64, most: u64| {
            let outside = !(least..=most).contains(&value);
            outside.then(|| format!("{name} are {value}: between {least} and {most} are possible"))
        };
        let rows = self.rows_per_transaction();
        // Each row of a batch is taken from a slice of its own.
        let least = match self.kind {
            Kind::Inserts => 0,
            Kind::Selects => u64::from(self.batch).max(1),
        };
        let statements = u64::from(self.statements());
        within(
            "rows of a statement",
            self.batch.into(),
            1,
            MAX_BATCH.into(),
        )
        .or_else(|| {
            within(
                "statements of a transaction",
                statements,
                1,
                MAX_STATEMENTS.into(),
            )
        })
        .or_else(|| within("rows of a transaction", rows, 1, MAX_ROWS_PER_TRANSACTION))
        .or_else(|| within("rows", self.rows, least, MAX_ROWS))
        .or_else(|| within("letters of a row", self.filler.into(), 1, MAX_FILLER.into()))
    }
}

/// A number with its noun.
struct Count(u32, &'static str, &'static str);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(count, one, many) = self;
        write!(f, "{count} {}", if *count == 1 { one } else { many })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_says_what_is_done() {
        let config = Config {
            key: Key::UuidV7,
            batch: 10,
            transaction: Some(1),
            ..Config::new(Kind::Inserts)
        };
        assert_eq!(
            config.description(),
            "inserts: uuid_v7 keys in sequential order, 10 rows a statement, 1 statement a \
             transaction, 1000000 rows loaded"
        );
        assert_eq!(config.rows_per_transaction(), 10);
    }

    #[test]
    fn an_identity_says_what_was_loaded() {
        for (kind, key) in Kind::ALL
            .into_iter()
            .flat_map(|kind| Key::ALL.map(|key| (kind, key)))
        {
            let config = Config {
                key,
                order: key.natural_order(),
                rows: 77,
                filler: 9,
                seed: 3,
                ..Config::new(kind)
            };
            let read = Config::of_identity(kind, &config.identity());
            assert_eq!(read, Some(config));
        }
        // Selects do not find rows that arrived in another order than their keys do.
        let inserts = Config {
            order: Order::Random,
            ..Config::new(Kind::Inserts)
        };
        let identity = inserts.identity();
        assert_eq!(Config::of_identity(Kind::Selects, &identity), None);
        let more = format!("{identity} more=1");
        for other in ["", "key=none", "kind=surrogate rows=5", more.as_str()] {
            assert_eq!(Config::of_identity(Kind::Inserts, other), None, "{other}");
        }
    }

    #[test]
    fn what_cannot_be_done_is_refused() {
        for kind in Kind::ALL {
            assert_eq!(Config::new(kind).refusal(), None);
        }
        let refused = |change: fn(&mut Config)| {
            let mut config = Config::new(Kind::Selects);
            change(&mut config);
            config.refusal().is_some()
        };
        assert!(refused(|config| config.batch = 0));
        assert!(refused(|config| config.batch = 10_001));
        assert!(refused(|config| config.transaction = Some(0)));
        assert!(refused(|config| {
            config.batch = 1_000;
            config.transaction = Some(1_000);
        }));
        assert!(refused(|config| config.rows = 0));
        assert!(refused(|config| {
            config.rows = 5;
            config.batch = 6;
        }));
        assert!(refused(|config| config.filler = 0));
        let empty = Config {
            rows: 0,
            ..Config::new(Kind::Inserts)
        };
        assert_eq!(empty.refusal(), None);
    }
}
