//! Rules on the machine below the kernel: CPUs, memory nodes, arrays, disks and partitions.

pub(crate) mod cpu_governor;
mod cpu_steal;
mod lvm_alignment;
mod numa_balance;
mod parity_raid;
mod partition_alignment;
mod raid_degraded;
mod raid_stripe_cache;
mod raid_write_hole;

use crate::Rule;

pub const RULES: &[Rule] = &[
    cpu_governor::RULE,
    cpu_steal::RULE,
    lvm_alignment::RULE,
    numa_balance::RULE,
    parity_raid::RULE,
    partition_alignment::RULE,
    raid_degraded::RULE,
    raid_stripe_cache::RULE,
    raid_write_hole::RULE,
];
