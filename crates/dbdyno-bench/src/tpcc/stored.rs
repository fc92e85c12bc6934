//! What a database says was loaded into it, so that runs and checks need not be told.

use dbdyno_model::connection::Engine;

use super::load::{Loaded, identity};
use super::load_error::{ClientError, LoadError};
use super::{Config, Constants, constants};

/// What the database says was loaded into it, with the constants that go with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredConfig {
    pub config: Config,
    pub constants: Constants,
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
    table: &'static str,
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
        Err(error @ (ReadBackError::Version { .. } | ReadBackError::Damaged)) => {
            Err(LoadError::Unresumable(error.to_string()))
        }
    }
}

/// The row of table `dbdyno_tpcc`, as it was read.
#[derive(Debug)]
pub(crate) struct StoredRow {
    pub(crate) version: i64,
    pub(crate) warehouses: i64,
    pub(crate) seed: String,
    pub(crate) c_load: Vec<i64>,
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
        };
        let constants = constants(config.seed);
        if constants.c_load.map(i64::from).as_slice() != self.c_load {
            return Err(ReadBackError::Damaged);
        }
        Ok(StoredConfig { config, constants })
    }
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
            ready: true,
        };
        let stored = sound().accept(1).unwrap();
        let config = Config {
            warehouses: 3,
            seed: 7,
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
        ] {
            let error = damaged.accept(1).unwrap_err();
            assert!(matches!(error, ReadBackError::Damaged));
        }
    }

    #[test]
    fn a_load_that_has_ended_leaves_nothing_to_resume_and_another_is_named() {
        let config = Config {
            warehouses: 3,
            seed: 7,
        };
        let left = |read, wanted: &Config| {
            left_to_resume(read, Engine::Postgres, wanted, "dbdyno_tpcc").map_err(|e| e.to_string())
        };
        let stored = || StoredConfig {
            config,
            constants: constants(7),
        };
        assert_eq!(left(Ok(stored()), &config), Ok(Loaded::NOTHING));
        let other = Config { seed: 8, ..config };
        let differs = left(Ok(stored()), &other).unwrap_err();
        assert!(differs.contains("seed=7") && differs.contains("seed=8"));
        let unrecorded = left(Err(ReadBackError::Unfinished), &config).unwrap_err();
        assert!(unrecorded.contains("no record"), "{unrecorded}");
        let taken = left(Err(ReadBackError::NotLoaded), &config).unwrap_err();
        assert!(taken.contains("there already"), "{taken}");
    }
}
