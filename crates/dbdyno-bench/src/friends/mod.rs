//! The friends of a user: a many-to-many table by a key of its own, or clustered by who asks for it.
//!
//! After the table of "Tuning InnoDB Primary Keys" (Percona, 2018-08), whose rows of one user lie apart by
//! thousands of ids as they were inserted: nearly a page is read for each friend. With the primary key
//! (user, friend) they lie together. PostgreSQL keeps no table in an index; there the rows are laid
//! down in the order of that key, as CLUSTER does.
//!
//! Users are drawn alike, so that a table larger than the cache is read from the disk; pages read for
//! a query are the server's counters over the driver's queries.

mod config;
mod layout;
mod rows;
mod terminal;

use std::sync::atomic::AtomicBool;

use dbdyno_model::Footprint;
use dbdyno_model::connection::Connection;
use dbdyno_model::run::Check;

pub use crate::tables::ReadBackError;
pub use config::{Config, Kind};
pub use terminal::Terminal;

use crate::ledger::Start;
use crate::tables::{self, Demand};
use crate::tpcc::{ClientError, LoadError, Loaded, Progress, When};
use layout::TABLE;

/// First steps of the paths of random streams: one for each use, never reused.
mod stream {
    pub(super) const ARRIVAL: u64 = 201;
    pub(super) const FRIENDS: u64 = 202;
    pub(super) const TERMINAL: u64 = 203;
}

/// Creates and fills the tables on `threads` connections. Blocks; not for use within an async runtime.
///
/// Raising `stop` ends it within about a second, with what was loaded left behind for [`resume`] or
/// [`clean`].
pub fn load(
    connection: &Connection,
    config: &Config,
    threads: usize,
    progress: &(dyn Fn(Progress) + Sync),
    stop: &AtomicBool,
) -> Result<Loaded, LoadError> {
    tables::load(connection, config, threads, Start::Fresh, progress, stop)
}

/// Goes on with a load that did not end, or begins it where there is nothing; the rows told are
/// those that were missing. Blocks; not for use within an async runtime.
pub fn resume(
    connection: &Connection,
    config: &Config,
    threads: usize,
    progress: &(dyn Fn(Progress) + Sync),
    stop: &AtomicBool,
) -> Result<Loaded, LoadError> {
    tables::load(connection, config, threads, Start::Resume, progress, stop)
}

/// Looks at every row, the same after a load and after a run, which changes nothing. Blocks; not for
/// use within an async runtime.
pub fn check(
    connection: &Connection,
    config: &Config,
    _when: When,
) -> Result<Vec<Check>, ClientError> {
    tables::check(connection, config, demands(config))
}

/// What was loaded to its end.
pub fn read_back(connection: &Connection) -> Result<Config, ReadBackError> {
    let any = Config::new(Kind::Surrogate);
    let found = tables::read_back(connection, &any, any.name())?;
    Config::of_identity(&found).ok_or(ReadBackError::Other {
        table: layout::STORED,
        found,
        wants: "no load of friends writes",
    })
}

/// Whether a load of ours has left tables, or the record of one. Blocks.
pub fn is_left(connection: &Connection, config: &Config) -> Result<bool, ClientError> {
    tables::is_left(connection, config)
}

/// Drops the tables, if they are ours; whether they were. Blocks.
pub fn clean(connection: &Connection, config: &Config) -> Result<bool, ClientError> {
    tables::clean(connection, config)
}

/// What table and indexes take now. Reads all of the table; blocks.
pub fn footprint(connection: &Connection, config: &Config) -> Result<Footprint, ClientError> {
    tables::footprint::footprint(connection, config)
}

fn demands(config: &Config) -> Vec<Demand> {
    let (rows, users, friends) = (config.stored_rows(), config.users(), config.friends);
    vec![
        Demand {
            name: "rows",
            description: format!("there are {rows} rows with ids from 1 on, none twice"),
            sql: format!(
                "SELECT abs(count(*) - {rows}) + abs(count(DISTINCT id) - {rows})
                    + CASE WHEN min(id) = 1 AND max(id) = {rows} THEN 0 ELSE 1 END FROM {TABLE}"
            ),
        },
        Demand {
            name: "users",
            description: format!("there are {users} users, each with {friends} friends"),
            sql: format!(
                "SELECT abs(count(*) - {users})
                    + count(CASE WHEN friends <> {friends} THEN 1 END)
                 FROM (SELECT count(*) AS friends FROM {TABLE} GROUP BY user_id) AS users"
            ),
        },
        Demand {
            name: "friends",
            description: "a friend is another user".to_owned(),
            sql: format!(
                "SELECT count(*) FROM {TABLE} WHERE friend_user_id = user_id
                 OR user_id NOT BETWEEN 1 AND {users} OR friend_user_id NOT BETWEEN 1 AND {users}"
            ),
        },
        Demand {
            name: "duplicates",
            description: "nobody has a friend twice".to_owned(),
            sql: format!(
                "SELECT count(*) FROM (SELECT user_id FROM {TABLE}
                    GROUP BY user_id, friend_user_id HAVING count(*) > 1) AS twice"
            ),
        },
    ]
}
