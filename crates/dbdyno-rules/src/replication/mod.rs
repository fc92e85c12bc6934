//! Rules on replication and the archive of the log.

mod archiver;
mod inactive_slot;
mod lag;
mod lost_slot;
mod receiver;
mod recovery_conflicts;
mod recovery_prefetch;
mod replay_paused;
mod senders;
mod slot_limit;
mod state;
mod synchronous_standbys;
mod timeouts;
mod unprotected_standby;
mod wal_level;

use crate::Rule;

pub const RULES: &[Rule] = &[
    archiver::RULE,
    inactive_slot::RULE,
    lag::RULE,
    lost_slot::RULE,
    receiver::RULE,
    recovery_conflicts::RULE,
    recovery_prefetch::RULE,
    replay_paused::RULE,
    senders::RULE,
    slot_limit::RULE,
    synchronous_standbys::RULE,
    timeouts::RULE,
    unprotected_standby::RULE,
    wal_level::RULE,
];
