//! What a change risks and what it takes to make it effective.

use serde::{Deserialize, Serialize};

/// Safety class of a change or of an arm of a trial; ordered from harmless to dangerous.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Acknowledged commits survive a power cut, and nothing is corrupted.
    Safe,
    /// A crash may lose the last acknowledged commits, but corrupts nothing.
    MayLoseLastCommits,
    /// A crash may corrupt the database. Never recommended.
    MayCorrupt,
}

impl Class {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::MayLoseLastCommits => "may-lose-last-commits",
            Self::MayCorrupt => "may-corrupt",
        }
    }
}

/// What has to happen before a change takes effect; ordered by how much it disturbs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Needs {
    Online,
    Reload,
    Restart,
    Remount,
    Reboot,
    Migration,
}

impl Needs {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Online => "online",
            Self::Reload => "reload",
            Self::Restart => "restart",
            Self::Remount => "remount",
            Self::Reboot => "reboot",
            Self::Migration => "migration",
        }
    }
}
