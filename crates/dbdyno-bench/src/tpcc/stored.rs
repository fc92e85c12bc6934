//! What a database says was loaded into it, so that runs and checks need not be told.

use std::fmt::Display;

use dbdyno_model::connection::Engine;

use super::load::{Loaded, identity};
use super::load_error::{ClientError, LoadError};
use super::{Config, Constants, Layout, MAX_SETS, constants};

/// What the database says was loaded into it, with the constants that go with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredConfig {
    pub config: Config,
    pub constants: Constants,
}

/// What a user says of the data. Where they are ours it has to agree with what the load wrote down;
/// where sysbench-tpcc has made them it has to agree with the catalogue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Expected {
    pub layout: Option<Layout>,
    pub sets: Option<u32>,
    pub warehouses: Option<u32>,
    /// What runs on data that nobody has written a seed down for draw from.
    pub seed: u64,
}

impl Expected {
    /// # Errors
    /// The first thing said that is not so.
    pub(crate) fn agrees(&self, config: &Config) -> Result<(), ReadBackError> {
        agree(
            "--layout",
            self.layout.map(Layout::name),
            config.layout.name(),
        )?;
        agree("--sets", self.sets, config.sets)?;
        agree("--warehouses", self.warehouses, config.warehouses)
    }
}

fn agree<T: Display + PartialEq>(
    option: &'static str,
    expected: Option<T>,
    found: T,
) -> Result<(), ReadBackError> {
    match expected {
        Some(expected) if expected != found => Err(ReadBackError::Contradiction {
            option,
            expected: expected.to_string(),
            found: found.to_string(),
        }),
        Some(_) | None => Ok(()),
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ReadBackError {
    #[error("cannot read table dbdyno_tpcc: the database holds no TPC-C load of dbdyno")]
    NotLoaded,
    #[error("cannot use table dbdyno_tpcc: the load did not finish")]
    Unfinished,
    #[error("cannot use table dbdyno_tpcc: its layout is version {found}, this is {known}")]
    Version { found: i64, known: i64 },
    #[error("cannot use table dbdyno_tpcc: it does not say what a load writes")]
    Damaged,
    #[error("{option} {expected} contradicts the database: what is there has {option} {found}")]
    Contradiction {
        option: &'static str,
        expected: String,
        found: String,
    },
    /// Of sysbench-tpcc.
    #[error("cannot use table {table}: {what}")]
    Foreign { table: String, what: String },
    #[error("cannot read table dbdyno_tpcc")]
    Sql(#[from] ClientError),
}

impl ReadBackError {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NotLoaded => Some("load it with bench load"),
            Self::Unfinished => Some("go on with it by bench load --resume"),
            Self::Version { .. } | Self::Damaged => {
                Some("remove it with bench clean and load again")
            }
            Self::Contradiction { .. } => Some("leave the option out: the database knows"),
            Self::Foreign { .. } => {
                Some("run sysbench's tpcc.lua prepare to its end, or bench load --layout sysbench")
            }
            Self::Sql(_) => None,
        }
    }
}

/// What is left to do for a load of which there is no record, but the first of these tables: nothing,
/// where it has ended.
pub(super) fn left_to_resume(
    read: Result<StoredConfig, ReadBackError>,
    engine: Engine,
    wanted: &Config,
    table: String,
) -> Result<Loaded, LoadError> {
    match read {
        Ok(stored) if stored.config == *wanted => Ok(Loaded::NOTHING),
        Ok(stored) => Err(LoadError::Differs {
            found: identity(engine, &stored.config),
            wanted: identity(engine, wanted),
        }),
        Err(ReadBackError::NotLoaded) => Err(LoadError::Exists {
            table,
            source: None,
        }),
        Err(ReadBackError::Sql(source)) => Err(LoadError::Sql {
            operation: "read",
            object: "table dbdyno_tpcc".to_owned(),
            source,
        }),
        Err(ReadBackError::Unfinished) => Err(LoadError::Unresumable(
            "there is no record of what it has done".to_owned(),
        )),
        Err(
            error @ (ReadBackError::Version { .. }
            | ReadBackError::Damaged
            | ReadBackError::Contradiction { .. }
            | ReadBackError::Foreign { .. }),
        ) => Err(LoadError::Unresumable(error.to_string())),
    }
}

/// The row of table `dbdyno_tpcc`, as it was read.
#[derive(Debug)]
pub(crate) struct StoredRow {
    pub(crate) version: i64,
    pub(crate) warehouses: i64,
    pub(crate) seed: String,
    pub(crate) c_load: Vec<i64>,
    pub(crate) sets: i64,
    pub(crate) layout: String,
    pub(crate) foreign_keys: bool,
    pub(crate) ready: bool,
}

impl StoredRow {
    /// What it stands for, where the layout is the known one and the load has finished.
    pub(crate) fn accept(&self, known: i64) -> Result<StoredConfig, ReadBackError> {
        if self.version != known {
            let found = self.version;
            return Err(ReadBackError::Version { found, known });
        }
        if !self.ready {
            return Err(ReadBackError::Unfinished);
        }
        let config = Config {
            warehouses: u32::try_from(self.warehouses).map_err(|_| ReadBackError::Damaged)?,
            seed: self.seed.parse().map_err(|_| ReadBackError::Damaged)?,
            sets: sets(self.sets).ok_or(ReadBackError::Damaged)?,
            layout: Layout::named(&self.layout).ok_or(ReadBackError::Damaged)?,
            foreign_keys: self.foreign_keys,
        };
        let constants = constants(config.seed);
        if constants.c_load.map(i64::from).as_slice() != self.c_load {
            return Err(ReadBackError::Damaged);
        }
        Ok(StoredConfig { config, constants })
    }
}

/// As many as a load makes; none where there can be no such load.
fn sets(stored: i64) -> Option<u32> {
    let sets = u32::try_from(stored).ok()?;
    (1..=MAX_SETS).contains(&sets).then_some(sets)
}

/// Layout and sets of what a load has made, finished or not.
pub(crate) type Shape = (Layout, u32);

/// Of one that was interrupted before it wrote anything down, which it does before it makes a table.
pub(crate) const NOTHING: Shape = (Layout::Own, 0);

/// Of one that wrote neither down.
pub(crate) const FIRST_VERSION: Shape = (Layout::Own, 1);

/// As it was written down. What no load writes vouches for nothing.
pub(crate) fn shape(layout: &str, stored_sets: i64) -> Shape {
    let layout = Layout::named(layout);
    layout.zip(sets(stored_sets)).unwrap_or(NOTHING)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_load_wrote_to_its_end_is_accepted() {
        let sound = || StoredRow {
            version: 1,
            warehouses: 3,
            seed: "7".to_owned(),
            c_load: constants(7).c_load.map(i64::from).to_vec(),
            sets: 2,
            layout: "sysbench".to_owned(),
            foreign_keys: false,
            ready: true,
        };
        let stored = sound().accept(1).unwrap();
        let config = Config {
            warehouses: 3,
            seed: 7,
            sets: 2,
            layout: Layout::Sysbench,
            foreign_keys: false,
        };
        assert_eq!((stored.config, stored.constants), (config, constants(7)));
        let newer = sound().accept(0).unwrap_err();
        assert!(matches!(
            newer,
            ReadBackError::Version { found: 1, known: 0 }
        ));
        let unfinished = StoredRow {
            ready: false,
            ..sound()
        };
        let error = unfinished.accept(1).unwrap_err();
        assert!(matches!(error, ReadBackError::Unfinished));
        for damaged in [
            StoredRow {
                warehouses: -1,
                ..sound()
            },
            StoredRow {
                seed: "x".to_owned(),
                ..sound()
            },
            StoredRow {
                c_load: vec![1, 2],
                ..sound()
            },
            StoredRow { sets: 0, ..sound() },
            StoredRow {
                layout: "tpcc".to_owned(),
                ..sound()
            },
        ] {
            let error = damaged.accept(1).unwrap_err();
            assert!(matches!(error, ReadBackError::Damaged));
        }
    }

    #[test]
    fn what_is_said_has_to_be_so() {
        let config = Config {
            warehouses: 3,
            sets: 2,
            ..Config::default()
        };
        let silent = Expected::default();
        assert!(silent.agrees(&config).is_ok());
        let right = Expected {
            layout: Some(Layout::Own),
            sets: Some(2),
            warehouses: Some(3),
            seed: 9,
        };
        assert!(right.agrees(&config).is_ok());
        let told = |expected: Expected| expected.agrees(&config).unwrap_err().to_string();
        let sets = Expected {
            sets: Some(4),
            ..silent
        };
        let expected = "--sets 4 contradicts the database: what is there has --sets 2";
        assert_eq!(told(sets), expected);
        let layout = Expected {
            layout: Some(Layout::Sysbench),
            ..silent
        };
        assert!(told(layout).contains("--layout own"));
        let warehouses = Expected {
            warehouses: Some(1),
            ..silent
        };
        assert!(told(warehouses).contains("--warehouses 3"));
    }

    #[test]
    fn what_no_load_writes_vouches_for_no_table() {
        assert_eq!(shape("sysbench", 3), (Layout::Sysbench, 3));
        for (layout, sets) in [("tpcc", 1), ("own", -1), ("own", 101)] {
            assert_eq!(shape(layout, sets), NOTHING);
        }
    }

    #[test]
    fn a_load_that_has_ended_leaves_nothing_to_resume_and_another_is_named() {
        let config = Config {
            warehouses: 3,
            seed: 7,
            ..Config::default()
        };
        let left = |read, wanted: &Config| {
            let table = "dbdyno_tpcc".to_owned();
            left_to_resume(read, Engine::Postgres, wanted, table).map_err(|e| e.to_string())
        };
        let stored = || StoredConfig {
            config,
            constants: constants(7),
        };
        assert_eq!(left(Ok(stored()), &config), Ok(Loaded::NOTHING));
        for (other, found, wanted) in [
            (Config { seed: 8, ..config }, "seed=7", "seed=8"),
            (Config { sets: 2, ..config }, "sets=1", "sets=2"),
            (
                Config {
                    layout: Layout::Sysbench,
                    ..config
                },
                "layout=own",
                "layout=sysbench",
            ),
            (
                Config {
                    foreign_keys: false,
                    ..config
                },
                "foreign_keys=true",
                "foreign_keys=false",
            ),
        ] {
            let differs = left(Ok(stored()), &other).unwrap_err();
            assert!(
                differs.contains(found) && differs.contains(wanted),
                "{differs}"
            );
        }
        let unrecorded = left(Err(ReadBackError::Unfinished), &config).unwrap_err();
        assert!(unrecorded.contains("no record"), "{unrecorded}");
        let older = ReadBackError::Version { found: 1, known: 2 };
        let older = left(Err(older), &config).unwrap_err();
        assert!(older.contains("version 1"), "{older}");
        let taken = left(Err(ReadBackError::NotLoaded), &config).unwrap_err();
        assert!(taken.contains("there already"), "{taken}");
    }
}
