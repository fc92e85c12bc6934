//! A rule's answer, with its evidence and what it would change.

use serde::{Deserialize, Serialize};

use crate::{Class, Needs};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Info,
    Warn,
    Critical,
}

impl Severity {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Critical => "critical",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    Low,
    Medium,
    High,
}

impl Confidence {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// What is at stake with a finding; ordered by how much acting on it is expected to bring.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// How well the server runs, and can be watched.
    #[default]
    Operation,
    /// Whether it stays up.
    Availability,
    /// Whether what was committed stays, and stays whole.
    Durability,
}

impl Effect {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Operation => "operation",
            Self::Availability => "availability",
            Self::Durability => "durability",
        }
    }
}

/// What one rule says of one set of facts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "outcome", content = "detail")]
pub enum Outcome {
    Ok,
    Finding(Box<Finding>),
    /// The fact that is missing, and why.
    Unknown(String),
    NotApplicable(String),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    pub rule: String,
    pub severity: Severity,
    #[serde(default)]
    pub effect: Effect,
    /// One sentence: what is so, with its numbers.
    pub message: String,
    pub evidence: Vec<Evidence>,
    /// Settings the rule wants; the solver decides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recommendations: Vec<Recommendation>,
    /// What only the host's owner can do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub host_actions: Vec<crate::HostAction>,
    /// SQL for whoever owns the database.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub statements: Vec<Statement>,
    pub confidence: Confidence,
    /// Documentation or article that the rule rests on.
    pub sources: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Evidence {
    pub fact: String,
    pub value: String,
    pub origin: String,
}

/// One setting that a rule wants changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Recommendation {
    pub setting: String,
    pub want: Want,
    /// One sentence for the plan.
    pub why: String,
    pub class: Class,
    /// What it costs apart from safety: recovery time, memory, CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gives_up: Option<String>,
}

/// SQL that changes what is no setting: an index, a table's option, a row count that the planner
/// has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Statement {
    /// As it can be run, with quoted identifiers and without a semicolon.
    pub sql: String,
    /// What it is for.
    pub why: String,
    pub class: Class,
    pub needs: Needs,
    /// What it costs apart from safety.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gives_up: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Want {
    /// Exactly this, written as in postgresql.conf.
    Value(String),
    Bytes(u64),
    /// The first of these that the server's `enumvals` lists.
    FirstOf(Vec<String>),
}

/// What the catalogue says of a rule as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NotAssessed {
    pub rule: String,
    pub why: String,
}

/// A default for changes of settings that need nothing but what their context says.
impl Needs {
    /// What pg_settings' context asks for.
    pub fn of_context(context: &str) -> Self {
        match context {
            "postmaster" => Self::Restart,
            "internal" => Self::Migration,
            _ => Self::Reload,
        }
    }
}
