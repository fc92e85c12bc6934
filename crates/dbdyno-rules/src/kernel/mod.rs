//! Rules on the Linux kernel's settings.

mod clocksource;
mod dirty_limits;
mod dirty_order;
mod huge_pages_fallback;
mod huge_pages_size;
mod huge_pages_waste;
mod oom_protection;
mod open_files;
mod overcommit;
mod read_ahead;
mod scheduler;
mod swap_absent;
mod swappiness;
mod swapping_now;
mod transparent_huge_pages;
mod zone_reclaim;

use crate::Rule;

pub const RULES: &[Rule] = &[
    clocksource::RULE,
    dirty_limits::RULE,
    dirty_order::RULE,
    huge_pages_fallback::RULE,
    huge_pages_size::RULE,
    huge_pages_waste::RULE,
    oom_protection::RULE,
    open_files::RULE,
    overcommit::RULE,
    read_ahead::RULE,
    scheduler::RULE,
    swap_absent::RULE,
    swappiness::RULE,
    swapping_now::RULE,
    transparent_huge_pages::RULE,
    zone_reclaim::RULE,
];
