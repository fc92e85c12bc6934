//! Rules on PostgreSQL's settings, its version and what it counts.

mod background_writer;
mod checkpoint_completion_target;
mod checkpoint_timeout;
mod checkpoints;
mod checksum_failures;
mod client_authentication;
mod collation_version;
mod config_drift;
mod connection_churn;
mod data_checksums;
mod developer_options;
mod effective_cache_size;
mod encoding;
mod encryption;
mod end_of_life;
mod fsync;
mod full_page_writes;
mod hidden_damage;
mod io_concurrency;
mod io_method;
mod io_timing;
mod just_in_time;
pub(crate) mod load;
mod lock_manager;
mod logging;
pub(crate) mod machine;
mod maintenance_work_mem;
mod max_connections;
mod max_wal_size;
mod min_wal_size;
mod minor_release;
mod observability;
mod parallel;
mod password_encryption;
mod random_page_cost;
mod recovery;
pub mod releases;
mod reserved_connections;
mod session_timeouts;
pub(crate) mod settings;
pub(crate) mod shared_buffers;
mod statistics_target;
mod synchronous_commit;
pub(crate) mod waits;
mod wal_buffers;
mod wal_compression;
mod work_mem;

use crate::Rule;

pub const RULES: &[Rule] = &[
    background_writer::RULE,
    checkpoint_completion_target::RULE,
    checkpoint_timeout::RULE,
    checksum_failures::RULE,
    client_authentication::RULE,
    collation_version::RULE,
    config_drift::RULE,
    connection_churn::RULE,
    data_checksums::RULE,
    developer_options::RULE,
    effective_cache_size::RULE,
    encoding::RULE,
    encryption::RULE,
    end_of_life::RULE,
    fsync::RULE,
    full_page_writes::RULE,
    hidden_damage::RULE,
    io_concurrency::RULE,
    io_method::RULE,
    io_timing::RULE,
    just_in_time::RULE,
    lock_manager::RULE,
    logging::RULE,
    maintenance_work_mem::RULE,
    max_connections::RULE,
    max_wal_size::RULE,
    min_wal_size::RULE,
    minor_release::RULE,
    observability::RULE,
    parallel::RULE,
    password_encryption::RULE,
    random_page_cost::RULE,
    reserved_connections::RULE,
    session_timeouts::RULE,
    shared_buffers::RULE,
    statistics_target::RULE,
    synchronous_commit::RULE,
    wal_buffers::RULE,
    wal_compression::RULE,
    work_mem::RULE,
];
