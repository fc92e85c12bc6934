//! Counters that are read at both ends of a window: disks, listening sockets, waiting tasks.

use serde::{Deserialize, Serialize};

use super::Pressure;
use crate::Fact;

/// What moved on the host, read once.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Traffic {
    pub disks: Fact<Vec<DiskCounters>>,
    pub listening: Fact<ListenCounters>,
    pub pressure: Pressure,
}

impl Traffic {
    /// The counters of one device.
    pub fn disk(&self, name: &str) -> Option<&DiskCounters> {
        self.disks.value()?.iter().find(|disk| disk.name == name)
    }
}

/// One line of /proc/diskstats, since boot.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct DiskCounters {
    pub name: String,
    pub reads: u64,
    pub writes: u64,
    pub sectors_read: u64,
    pub sectors_written: u64,
    /// Time in which at least one request was under way.
    pub busy_ms: u64,
}

/// Connections that the kernel turned away because a queue of a listening socket was full, since boot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ListenCounters {
    pub overflows: u64,
    pub drops: u64,
}
