//! What a control group above the server counts and allows.

use serde::{Deserialize, Serialize};

use super::{Stall, Throttling};

/// The server's own group, or one above it. What a group does not tell is none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Cgroup {
    /// Its directory.
    pub cgroup: String,
    pub memory_bytes: Option<u64>,
    /// How often the group's own limit was reached and nothing could be reclaimed (`oom`).
    pub out_of_memory: Option<u64>,
    /// Processes of the group and those below that were killed for it (`oom_kill`).
    pub oom_kills: Option<u64>,
    pub throttling: Option<Throttling>,
    pub memory_stall: Option<Stall>,
    pub tasks: Option<u64>,
    /// None is no limit.
    pub tasks_max: Option<u64>,
    /// Files that are there and could not be read: what they hold is not known, and not none.
    pub unread: Vec<String>,
}

impl Cgroup {
    pub fn is_unread(&self, file: &str) -> bool {
        self.unread.iter().any(|name| name == file)
    }
}
