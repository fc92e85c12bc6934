//! The catalogue of rules as a document.

use serde::{Deserialize, Serialize};

use crate::Severity;
use crate::finding::Confidence;

/// What `rule list --json` writes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Catalogue {
    /// `dbdyno.catalogue/1`: fields may be added, meanings never change.
    pub schema: String,
    pub dbdyno_version: String,
    /// In the order of their ids.
    pub rules: Vec<RuleText>,
}

impl Catalogue {
    pub const SCHEMA: &str = "dbdyno.catalogue/1";
}

/// One rule as its reader knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RuleText {
    /// `family.name`.
    pub id: String,
    pub family: String,
    /// What a finding has where the rule does not say otherwise.
    pub severity: Severity,
    pub confidence: Confidence,
    /// One sentence: what it finds.
    pub title: String,
    pub sources: Vec<String>,
    /// All of it as Markdown, as under docs/reference/rules.
    pub documentation: String,
}
