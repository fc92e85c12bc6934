//! An ordered list of changes with what each needs and gives up.

use serde::{Deserialize, Serialize};

use crate::finding::NotAssessed;
use crate::{Class, Needs};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Plan {
    /// `dbdyno.plan/1`.
    pub schema: String,
    /// In the order of their names: the same facts give the same plan, byte for byte.
    pub changes: Vec<Change>,
    /// Recommendations that lost: to the memory model, to another rule, to a limit of the server.
    pub rejected: Vec<Rejected>,
    /// Advice on the host that a plan of settings cannot carry out.
    pub host_actions: Vec<HostAction>,
    pub not_assessed: Vec<NotAssessed>,
    pub memory: MemoryModel,
}

impl Plan {
    pub const SCHEMA: &str = "dbdyno.plan/1";

    /// The worst class of the changes.
    pub fn class(&self) -> Class {
        self.changes
            .iter()
            .map(|change| change.class)
            .max()
            .unwrap_or(Class::Safe)
    }

    /// The most disturbing need of the changes.
    pub fn needs(&self) -> Needs {
        self.changes
            .iter()
            .map(|change| change.needs)
            .max()
            .unwrap_or(Needs::Online)
    }
}

/// One reversible step: a server setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Change {
    pub setting: String,
    /// Humane, as in postgresql.conf: `128MB`.
    pub from: String,
    pub to: String,
    pub why: String,
    pub class: Class,
    pub needs: Needs,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gives_up: Option<String>,
    pub rule: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rejected {
    pub setting: String,
    pub wanted: String,
    pub rule: String,
    pub why: String,
}

/// Something below the server that its owner can change, with the exact line or command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostAction {
    pub rule: String,
    /// The same in words.
    pub action: String,
    pub needs: Needs,
    /// Lines for files, which stand there before anything is run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileLines>,
    /// Commands for root's shell, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// What it costs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gives_up: Option<String>,
}

impl HostAction {
    /// What words alone can say.
    pub fn in_words(rule: impl Into<String>, action: impl Into<String>, needs: Needs) -> Self {
        Self {
            rule: rule.into(),
            action: action.into(),
            needs,
            files: Vec::new(),
            commands: Vec::new(),
            gives_up: None,
        }
    }
}

/// Lines that are to be added to a file, which may not be there yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileLines {
    pub file: String,
    pub lines: Vec<String>,
}

/// Terms of the memory model, in bytes; their sum stays within 0.85 of the memory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemoryModel {
    /// None where the memory is unknown: nothing was sized then.
    pub memory_bytes: Option<u64>,
    pub shared_buffers_bytes: u64,
    pub wal_buffers_bytes: u64,
    pub autovacuum_bytes: u64,
    pub active_bytes: u64,
    pub parallel_bytes: u64,
}

impl MemoryModel {
    pub fn sum_bytes(&self) -> u64 {
        // A document may come from anywhere.
        [
            self.shared_buffers_bytes,
            self.wal_buffers_bytes,
            self.autovacuum_bytes,
            self.active_bytes,
            self.parallel_bytes,
        ]
        .into_iter()
        .fold(0, u64::saturating_add)
    }
}
