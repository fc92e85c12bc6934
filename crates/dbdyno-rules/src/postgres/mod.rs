//! Rules on PostgreSQL's settings.

mod checkpoint_timeout;
mod checkpoints;
mod effective_cache_size;
pub(crate) mod load;
pub(crate) mod machine;
mod maintenance_work_mem;
mod max_wal_size;
mod min_wal_size;
pub(crate) mod settings;
mod shared_buffers;
mod work_mem;

use crate::Rule;

pub const RULES: &[Rule] = &[
    checkpoint_timeout::RULE,
    effective_cache_size::RULE,
    maintenance_work_mem::RULE,
    max_wal_size::RULE,
    min_wal_size::RULE,
    shared_buffers::RULE,
    work_mem::RULE,
];
