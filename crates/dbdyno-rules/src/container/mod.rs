//! Rules on the limits and the surroundings that a container or cgroup puts around the server.

mod config_persistence;
mod cpu_throttled;
mod host_settings;
mod memory_limit;
mod memory_pressure;
mod shared_memory_size;

use crate::Rule;

pub const RULES: &[Rule] = &[
    config_persistence::RULE,
    cpu_throttled::RULE,
    host_settings::RULE,
    memory_limit::RULE,
    memory_pressure::RULE,
    shared_memory_size::RULE,
];
