//! The server's main process: its limits, its memory, the C library and the systemd unit it runs with.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Fact;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServerProcess {
    pub pid: u32,
    pub oom_score_adj: Fact<i64>,
    /// Soft limits by name of /proc/PID/limits; `None` is unlimited.
    pub limits: BTreeMap<String, Option<u64>>,
    /// How far the process may raise each of them itself.
    #[serde(default)]
    pub hard_limits: BTreeMap<String, Option<u64>>,
    pub swap_bytes: Fact<u64>,
    pub resident_bytes: Fact<u64>,
    /// Who the server runs as.
    #[serde(default)]
    pub uid: Fact<u32>,
    /// Largest shared mapping without a file: the server's shared memory.
    #[serde(default)]
    pub shared_memory_bytes: Fact<u64>,
    #[serde(default)]
    pub libc: Fact<Libc>,
    /// The systemd service that started it.
    #[serde(default)]
    pub unit: Fact<Unit>,
    /// SELinux context or AppArmor profile.
    #[serde(default)]
    pub confinement: Fact<String>,
    /// Whether it has the network, and with it the `net.*` sysctls, that dbdyno sees.
    #[serde(default)]
    pub same_network: Fact<bool>,
}

/// The C library that the process has mapped; it decides how text sorts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Libc {
    pub path: String,
    /// `2.36`, where file name or content tells it.
    pub version: Option<String>,
    /// Whether the file is gone or another one by now: an upgrade that waits for a restart.
    pub replaced: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unit {
    /// `postgresql@15-main.service`.
    pub name: String,
    /// Limits and the like, in the order in which systemd reads them: the last of a name wins.
    pub directives: Vec<UnitDirective>,
}

impl Unit {
    /// The assignment that wins.
    pub fn directive(&self, name: &str) -> Option<&UnitDirective> {
        self.directives
            .iter()
            .rfind(|directive| directive.name == name)
    }

    /// A file for settings of one's own that the unit's package does not overwrite. Of one directive the
    /// last file's value counts, and `systemctl edit` writes `override.conf`.
    pub fn drop_in(&self) -> String {
        format!("/etc/systemd/system/{}.d/zz-dbdyno.conf", self.name)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnitDirective {
    pub name: String,
    pub value: String,
    pub file: String,
    pub line: u32,
}
