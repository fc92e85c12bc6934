//! The document that one `check` writes: what was found, what to do about it, and what was not assessed.

use serde::{Deserialize, Serialize};

use crate::facts::CollectorFailure;
use crate::finding::{Confidence, NotAssessed};
use crate::plan::Rejected;
use crate::postgres::MissingPrivilege;
use crate::{Class, Effect, Evidence, Facts, FileLines, Needs, Severity};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Check {
    /// `dbdyno.check/1`: fields may be added, meanings never change.
    pub schema: String,
    pub dbdyno_version: String,
    /// When the facts were collected: the same facts give the same document, byte for byte.
    pub collected_at: String,
    /// One for each server that was read; where none was, one for the host alone.
    pub assessments: Vec<Assessment>,
    /// What all of it follows from; servers that could not be read stand here as well.
    pub facts: Facts,
}

impl Check {
    pub const SCHEMA: &str = "dbdyno.check/1";

    /// Every finding of every server.
    pub fn findings(&self) -> impl Iterator<Item = &Answer> {
        self.assessments
            .iter()
            .flat_map(|assessment| &assessment.findings)
    }
}

/// What is said of one server and the host under it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Assessment {
    /// `PostgreSQL 15.18, port 5432`, or `host`.
    pub name: String,
    /// By severity, by what is at stake, by confidence, then by rule.
    pub findings: Vec<Answer>,
    pub not_assessed: Vec<NotAssessed>,
    /// Rules that found nothing to say.
    pub passed: Vec<String>,
    pub not_applicable: Vec<NotAssessed>,
    pub missing_privileges: Vec<MissingPrivilege>,
    pub failures: Vec<CollectorFailure>,
    /// The server's other databases: nothing was said of their tables, indexes and sequences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub databases_not_read: Vec<String>,
    /// What autovacuum takes up next of the connected database's tables that are listed (about 300, not
    /// all of many), the soonest first. Empty where none is due at any rate so far, on a standby and
    /// where autovacuum is off; null where tables, role or setting were not read.
    pub next_vacuums: Option<Vec<NextVacuum>>,
}

/// When autovacuum takes a table up, at the rate at which its rows have died or come so far.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct NextVacuum {
    /// As in SQL: `public."Order lines"`.
    pub table: String,
    pub due_in_s: f64,
    /// Of these there will be enough first.
    pub due_for: DueFor,
    /// So many of them make it due, by the table's own options or the server's settings.
    pub threshold_rows: f64,
    pub dead_rows: u64,
    pub dead_rows_per_s: Option<f64>,
    /// Since the last vacuum, where the server counts them.
    pub inserted_rows: Option<u64>,
}

/// Rows that make a table due for vacuum.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DueFor {
    #[default]
    DeadRows,
    InsertedRows,
}

/// A finding with what it comes to once every rule was heard.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Answer {
    pub rule: String,
    pub severity: Severity,
    pub effect: Effect,
    pub message: String,
    pub evidence: Vec<Evidence>,
    /// What to do; empty where the finding only informs.
    pub steps: Vec<Step>,
    /// Values that this rule wanted and the solver did not give it, or not whole.
    pub set_aside: Vec<Rejected>,
    pub confidence: Confidence,
    pub sources: Vec<String>,
}

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Step {
    /// The server's setting, or the kernel's; none where the step is not one value.
    pub subject: Option<String>,
    pub current: Option<String>,
    /// Of a server's setting, the value that `plan` and `tune` give it too.
    pub recommended: Option<String>,
    pub why: Option<String>,
    /// None for what only the owner of the host can do: no class was judged there.
    pub class: Option<Class>,
    pub needs: Needs,
    pub gives_up: Option<String>,
    /// Each of them does it.
    pub ways: Vec<Way>,
    /// Lines for files of the host, which stand there before anything is run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileLines>,
    /// Commands for root's shell, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// Where the present value stands.
    pub place: Option<Place>,
    /// The rule whose value was taken, where it is not the finding's own.
    pub decided_by: Option<String>,
}

impl Step {
    /// Whether the owner of the host has lines and commands for it, and not words alone.
    pub fn can_be_pasted(&self) -> bool {
        !(self.files.is_empty() && self.commands.is_empty())
    }
}

/// A statement, line or instruction that makes the change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Way {
    pub kind: WayKind,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WayKind {
    /// For a superuser's session.
    AlterSystem,
    /// A line of postgresql.conf, or of a file that it includes last.
    Conf,
    /// For whoever keeps the settings in the server's stead: a service's or operator's own command.
    Manager,
    /// SQL for the owner of the table or of the database.
    Statement,
    /// For the owner of the host.
    Action,
}

/// A line of a configuration file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Place {
    pub file: String,
    pub line: u32,
}
