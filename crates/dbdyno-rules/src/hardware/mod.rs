//! Rules on the machine below the kernel: CPUs, disks and partitions.

mod cpu_governor;
mod cpu_steal;
mod partition_alignment;
mod volatile_cache;

use crate::Rule;

pub const RULES: &[Rule] = &[
    cpu_governor::RULE,
    cpu_steal::RULE,
    partition_alignment::RULE,
    volatile_cache::RULE,
];
