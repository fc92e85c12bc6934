//! Rules on the file systems under the data directory and the write-ahead log.

mod access_time;
mod copy_on_write_wal;
mod ext4_stripe;
mod journal_mode;
mod space;
mod r#type;
mod wal_device;
mod write_barriers;
mod xfs_inode32;
mod xfs_stripe;
mod zfs_cache;
mod zfs_record_size;

use crate::Rule;

pub const RULES: &[Rule] = &[
    access_time::RULE,
    copy_on_write_wal::RULE,
    ext4_stripe::RULE,
    journal_mode::RULE,
    space::RULE,
    r#type::RULE,
    wal_device::RULE,
    write_barriers::RULE,
    xfs_inode32::RULE,
    xfs_stripe::RULE,
    zfs_cache::RULE,
    zfs_record_size::RULE,
];
