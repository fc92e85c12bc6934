//! Facts of a PostgreSQL server, 13 to 18.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Fact;
use crate::host::Sampled;

mod access;
mod counters;
mod foreign_key;
mod index;
mod locale;
mod lock;
mod replication;
mod sequence;
mod setting;
pub mod standby_names;
mod statement;
mod table;
mod tablespace;
mod transaction;

pub use access::{Access, AccessRule, Reach};
pub use counters::{DatabaseCounters, Waits};
pub use foreign_key::{ForeignKeys, UnindexedForeignKey};
pub use index::{Cover, Index, IndexParts, Indexes, PartitionedIndex};
pub use locale::{CollationUse, DatabaseLocale};
pub use lock::{LockWait, LockWaits};
pub use replication::{Archiver, Promotion, Receiver, Replay, Replication, Sender};
pub use sequence::{Sequence, SequenceColumn, Sequences};
pub use setting::{Instead, Setting};
pub use statement::{Statements, TrackedStatement};
pub use table::{PartitionedTable, TableTotals, TableUsage};
pub use tablespace::Tablespace;
pub use transaction::{HolderKind, OpenTransaction, TransactionIds, XminHolder};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Postgres {
    /// `server_version_num`: 150020 is 15.20.
    pub version_num: u32,
    /// `server_version`, as the server words it.
    pub version: String,
    /// pg_settings by name; what the server does not list does not exist there.
    pub settings: BTreeMap<String, Setting>,
    pub role: Fact<ReplicationRole>,
    pub started_at: Fact<String>,
    pub database: Sampled<Database>,
    pub wal: Sampled<Wal>,
    pub checkpoints: Sampled<Checkpoints>,
    pub io: Sampled<Io>,
    /// Of every database, not only the connected one.
    pub database_counters: Sampled<Vec<DatabaseCounters>>,
    pub tables: Fact<Vec<Table>>,
    pub table_totals: Fact<TableTotals>,
    /// Those outside of the data directory.
    pub tablespaces: Fact<Vec<Tablespace>>,
    pub indexes: Fact<Indexes>,
    pub foreign_keys: Fact<ForeignKeys>,
    pub sequences: Fact<Sequences>,
    pub statements: Fact<Statements>,
    pub transaction_ids: Sampled<TransactionIds>,
    /// The oldest ones, of all databases.
    pub open_transactions: Fact<Vec<OpenTransaction>>,
    /// The oldest first, of all databases.
    pub xmin_holders: Fact<Vec<XminHolder>>,
    pub lock_waits: Fact<LockWaits>,
    pub extensions: Fact<Vec<Extension>>,
    /// Of those that rules ask for, the ones that the server finds among its files, created or not.
    pub available_extensions: Fact<Vec<String>>,
    pub databases: Fact<Vec<DatabaseAge>>,
    pub locales: Fact<Vec<DatabaseLocale>>,
    /// Collations in use, in the connected database.
    pub collations: Fact<Vec<CollationUse>>,
    pub activity: Fact<Activity>,
    pub waits: Fact<Waits>,
    pub slots: Fact<Vec<ReplicationSlot>>,
    pub replication: Replication,
    /// Errors and shadowed lines of the configuration files (pg_file_settings).
    pub file_errors: Fact<Vec<String>>,
    pub access: Access,
    /// What reading the clock once costs the server, in nanoseconds.
    pub timer_cost_ns: Fact<f64>,
    /// Views that the role may not read, with the grant that opens each.
    pub missing_privileges: Vec<MissingPrivilege>,
    /// Recognised managed service or operator: nothing below the server is the user's to change.
    pub managed_by: Option<String>,
}

impl Postgres {
    /// Major version: 15 for 15.20.
    pub fn major(&self) -> u32 {
        self.version_num / 10_000
    }

    /// A setting as the server has it for everyone; none where the server does not list it, or lists
    /// only what sessions like ours have (see `why_hidden`).
    pub fn setting(&self, name: &str) -> Option<&Setting> {
        let setting = self.settings.get(name)?;
        (!setting.is_of_session()).then_some(setting)
    }

    /// Why a setting that the server lists does not tell what everyone has.
    pub fn why_hidden(&self, name: &str) -> Option<String> {
        let setting = self.settings.get(name)?;
        let by = match setting.source.as_str() {
            "database" => "ALTER DATABASE … SET sets it for this database",
            "user" => "ALTER ROLE … SET sets it for the role that is connected",
            "database user" => {
                "ALTER ROLE … IN DATABASE … SET sets it for the role that is connected"
            }
            "client" => "the options of this connection set it",
            _ => "it was set in this session",
        };
        setting
            .is_of_session()
            .then(|| format!("{by}, and what everyone else has is not known"))
    }

    /// A setting's value in bytes, seconds or bare numbers, unit applied.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.setting(name)?.number()
    }

    pub fn bytes(&self, name: &str) -> Option<u64> {
        self.setting(name)?.bytes()
    }

    pub fn is_on(&self, name: &str) -> Option<bool> {
        match self.setting(name)?.value.as_str() {
            "on" => Some(true),
            "off" => Some(false),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ReplicationRole {
    Primary,
    Standby,
}

/// pg_stat_database of the connected database.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Database {
    pub name: String,
    pub size_bytes: Option<u64>,
    pub commits: u64,
    pub rollbacks: u64,
    pub blocks_read: u64,
    pub blocks_hit: u64,
    pub temp_bytes: u64,
    pub temp_files: u64,
    pub deadlocks: u64,
    pub checksum_failures: Option<u64>,
    pub stats_reset: Option<String>,
    /// Age of the statistics in seconds, since their reset or, from 15 on, since the database was made;
    /// none where neither is known. Rules on counters need a long enough window.
    pub stats_age_s: Option<f64>,
    /// Sums over pg_stat_user_tables.
    pub dead_tuples: Option<u64>,
    pub hot_updates: Option<u64>,
    pub updates: Option<u64>,
}

/// pg_stat_wal (14 and later) and the WAL position.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Wal {
    /// Bytes of WAL since the beginning of time (the insert position); none on a standby.
    pub position_bytes: Option<u64>,
    pub records: Option<u64>,
    pub full_page_images: Option<u64>,
    pub bytes: Option<u64>,
    pub buffers_full: Option<u64>,
    /// Size of pg_wal, where the role may list it.
    pub directory_bytes: Option<u64>,
    /// Since this view was reset; every view has a reset of its own.
    pub stats_age_s: Option<f64>,
}

/// pg_stat_checkpointer (17 and later) or pg_stat_bgwriter.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Checkpoints {
    /// With those that had nothing to do, since the server had been idle.
    pub timed: u64,
    pub requested: u64,
    /// Timed and requested ones that did something (18 and later).
    pub done: Option<u64>,
    pub write_time_ms: f64,
    pub sync_time_ms: f64,
    pub buffers_written: u64,
    pub buffers_clean: u64,
    pub maxwritten_clean: u64,
    /// Buffers that backends had to write themselves; from pg_stat_io since 17.
    pub buffers_backend: Option<u64>,
    pub buffers_alloc: u64,
    /// Since the checkpointer's counters were reset; until 16 they share the background writer's reset.
    pub stats_age_s: Option<f64>,
    /// The same of what the background writer and of what backends wrote.
    pub cleaning_age_s: Option<f64>,
    pub backend_age_s: Option<f64>,
}

/// pg_stat_io (16 and later), summed over backends, in blocks.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Io {
    pub reads: Option<u64>,
    pub writes: Option<u64>,
    pub client_writes: Option<u64>,
    pub evictions: Option<u64>,
    pub hits: Option<u64>,
}

/// A table of the connected database with what vacuum needs; the largest, the most changed, the
/// most read and the oldest ones are kept, and `TableTotals` counts the rest.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Table {
    pub schema: String,
    pub name: String,
    /// With its indexes and TOAST.
    pub size_bytes: u64,
    /// Planner's row estimate; none where the table was never analysed.
    pub rows_estimate: Option<f64>,
    pub live_tuples: u64,
    pub dead_tuples: u64,
    pub modified_since_analyze: u64,
    pub inserted_since_vacuum: Option<u64>,
    pub never_vacuumed: bool,
    pub never_analyzed: bool,
    pub xid_age: u64,
    /// reloptions as `name=value`.
    pub options: Vec<String>,
    /// Of the table alone, as vacuum or analyze last counted them together with `rows_estimate`.
    pub pages: Option<u64>,
    /// Pages in which all rows are frozen; kept from 18 on.
    pub frozen_pages: Option<u64>,
    pub multixact_age: Option<u64>,
    /// None where it was never vacuumed.
    pub since_vacuum_s: Option<f64>,
    pub since_analyze_s: Option<f64>,
    /// None for partitions, whose parent decides, and materialized views.
    pub has_primary_key: Option<bool>,
    /// Data of an average row with its padding, without the header; none where pg_stats shows this
    /// role no statistics of some column.
    pub row_bytes: Option<f64>,
    pub usage: Option<TableUsage>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Extension {
    pub name: String,
    pub version: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct DatabaseAge {
    pub name: String,
    /// Sessions may be opened in it, and it is no template.
    pub is_connectable: bool,
    pub xid_age: u64,
    pub multixact_age: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Activity {
    pub connections: u64,
    pub active: u64,
    pub idle_in_transaction: u64,
    pub oldest_transaction_s: Option<f64>,
    pub oldest_idle_in_transaction_s: Option<f64>,
    /// Age in transactions of the oldest xmin that holds vacuum back.
    pub oldest_xmin_age: Option<u64>,
    pub prepared_transactions: u64,
    pub oldest_prepared_s: Option<f64>,
    pub standbys: u64,
    pub autovacuum_workers: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ReplicationSlot {
    pub name: String,
    pub active: bool,
    pub retained_bytes: Option<u64>,
    pub wal_status: Option<String>,
    pub logical: bool,
    /// Gone when its session ends.
    pub temporary: bool,
    /// A standby's copy of a slot of its primary (17 and later), which nobody is meant to use.
    pub synced: bool,
    /// What may be written before the slot is lost; none where nothing bounds it.
    pub safe_wal_bytes: Option<u64>,
    /// Age in transactions of the oldest row, of tables or catalogs, that it keeps.
    pub xmin_age: Option<u64>,
    /// Seconds without a user (17 and later).
    pub inactive_s: Option<u64>,
    /// Why it is of no more use: `wal_removed`, `rows_removed`, `idle_timeout`, … (16 and later).
    pub invalidation_reason: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MissingPrivilege {
    pub object: String,
    /// SQL that grants it.
    pub grant: String,
}
