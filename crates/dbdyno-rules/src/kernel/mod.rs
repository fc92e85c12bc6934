//! Rules on the Linux kernel's settings.

mod clocksource;
mod dead_sysctls;
mod dirty_both_forms;
mod dirty_limits;
mod dirty_order;
mod elevator_option;
mod glibc_replaced;
mod huge_pages_fallback;
mod huge_pages_legacy;
mod huge_pages_size;
mod huge_pages_waste;
mod keepalive;
mod listen_backlog;
pub(crate) mod next_boot;
mod oom_protection;
mod open_files;
mod overcommit;
mod overcommit_conflict;
mod owners;
mod process_limit;
mod read_ahead;
mod remove_ipc;
mod scheduler;
mod shared_memory_limits;
mod swap_absent;
mod swappiness;
mod swapping_now;
mod sysctl_drift;
mod time_sync;
mod transparent_huge_pages;
mod transparent_huge_pages_conflict;
pub(crate) mod tuned_conflict;
mod unit;
mod zone_reclaim;

use crate::Rule;

pub const RULES: &[Rule] = &[
    clocksource::RULE,
    dead_sysctls::RULE,
    dirty_both_forms::RULE,
    dirty_limits::RULE,
    dirty_order::RULE,
    elevator_option::RULE,
    glibc_replaced::RULE,
    huge_pages_fallback::RULE,
    huge_pages_legacy::RULE,
    huge_pages_size::RULE,
    huge_pages_waste::RULE,
    keepalive::RULE,
    listen_backlog::RULE,
    oom_protection::RULE,
    open_files::RULE,
    overcommit::RULE,
    overcommit_conflict::RULE,
    process_limit::RULE,
    read_ahead::RULE,
    remove_ipc::RULE,
    scheduler::RULE,
    shared_memory_limits::RULE,
    swap_absent::RULE,
    swappiness::RULE,
    swapping_now::RULE,
    sysctl_drift::RULE,
    time_sync::RULE,
    transparent_huge_pages::RULE,
    transparent_huge_pages_conflict::RULE,
    tuned_conflict::RULE,
    zone_reclaim::RULE,
];
