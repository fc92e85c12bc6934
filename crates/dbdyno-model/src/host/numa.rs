//! Memory of one NUMA node.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct NumaNode {
    pub number: u32,
    pub total_bytes: u64,
    pub free_bytes: u64,
    /// Shared memory and tmpfs in ordinary pages: shared_buffers without huge pages.
    pub shared_bytes: u64,
    /// Huge pages of the default size that are in use.
    pub huge_pages_used: u64,
}
