//! Who sets the kernel's parameters: files of sysctl.d, and tuned.

use serde::{Deserialize, Serialize};

/// One assignment in a file of sysctl.d.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SysctlLine {
    /// With dots: `vm.swappiness`.
    pub name: String,
    pub value: String,
    pub file: String,
    pub line: u32,
}

impl SysctlLine {
    /// `/etc/sysctl.d/90-database.conf:3`.
    pub fn place(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }
}

/// tuned's choice and what it sets.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Tuned {
    /// Active profile, or several with blanks between; none where none is active.
    pub profile: Option<String>,
    /// Whether /etc/sysctl.d is applied again after the profile, so that it wins.
    pub reapplies_sysctl: bool,
    /// What the profile and those that it includes set, each name of a section once.
    pub settings: Vec<TunedSetting>,
    /// Lines of /etc/sysctl.conf, which come last of all where files are applied again.
    pub sysctl_conf: Vec<SysctlLine>,
    /// Where profiles of one's own stand: releases differ.
    pub directory: String,
    /// Included profiles that were not found: what they set is not known.
    pub missing: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TunedSetting {
    /// `sysctl`, `vm`, `disk`, …
    pub section: String,
    pub name: String,
    pub value: String,
    pub file: String,
}
