//! Rules on the file systems under the data directory and the write-ahead log.

mod access_time;
mod journal_mode;
mod space;
mod r#type;
mod wal_device;
mod write_barriers;

use crate::Rule;

pub const RULES: &[Rule] = &[
    access_time::RULE,
    journal_mode::RULE,
    space::RULE,
    r#type::RULE,
    wal_device::RULE,
    write_barriers::RULE,
];
