//! Rules on PostgreSQL's settings.

mod background_writer;
mod checkpoint_completion_target;
mod checkpoint_timeout;
mod checkpoints;
mod config_drift;
mod data_checksums;
mod effective_cache_size;
mod fsync;
mod full_page_writes;
mod io_concurrency;
mod just_in_time;
pub(crate) mod load;
pub(crate) mod machine;
mod maintenance_work_mem;
mod max_connections;
mod max_wal_size;
mod min_wal_size;
mod observability;
mod parallel;
mod random_page_cost;
mod session_timeouts;
pub(crate) mod settings;
mod shared_buffers;
mod synchronous_commit;
mod wal_buffers;
mod wal_compression;
mod work_mem;

use crate::Rule;

pub const RULES: &[Rule] = &[
    background_writer::RULE,
    checkpoint_completion_target::RULE,
    checkpoint_timeout::RULE,
    config_drift::RULE,
    data_checksums::RULE,
    effective_cache_size::RULE,
    fsync::RULE,
    full_page_writes::RULE,
    io_concurrency::RULE,
    just_in_time::RULE,
    maintenance_work_mem::RULE,
    max_connections::RULE,
    max_wal_size::RULE,
    min_wal_size::RULE,
    observability::RULE,
    parallel::RULE,
    random_page_cost::RULE,
    session_timeouts::RULE,
    shared_buffers::RULE,
    synchronous_commit::RULE,
    wal_buffers::RULE,
    wal_compression::RULE,
    work_mem::RULE,
];

#[cfg(test)]
mod tests {
    use dbdyno_model::postgres::Postgres;
    use dbdyno_model::{Facts, Outcome};

    #[test]
    fn no_rule_passes_or_finds_what_was_not_read() {
        let facts = Facts {
            postgres: Some(Postgres::default()),
            ..Facts::default()
        };
        for rule in super::RULES {
            let outcome = (rule.check)(&facts);
            assert!(
                matches!(outcome, Outcome::Unknown(_)),
                "{}: {outcome:?}",
                rule.id
            );
        }
    }
}
