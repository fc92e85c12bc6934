//! Who may connect and how: pg_hba.conf, encryption, stored passwords.

use serde::{Deserialize, Serialize};

use crate::Fact;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Access {
    /// Lines of pg_hba.conf as the file is now, which may be newer than what the server loaded.
    pub rules: Fact<Vec<AccessRule>>,
    /// Sessions from other machines that are not encrypted.
    pub plain_sessions: Fact<u64>,
    /// Roles that may log in and whose password is stored as an MD5 hash.
    pub md5_passwords: Fact<u64>,
}

/// One line of pg_hba.conf; databases, roles, addresses and options are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct AccessRule {
    /// `/etc/postgresql/15/main/pg_hba.conf:97`.
    pub place: String,
    /// `local`, `host`, `hostssl`, …; empty where the line cannot be read.
    pub kind: String,
    pub reach: Reach,
    /// `scram-sha-256`, `trust`, …
    pub method: String,
    /// What is wrong with the line, without what stands in quotes.
    pub error: Option<String>,
}

/// From where a line of pg_hba.conf lets clients in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// Sockets of the machine.
    Socket,
    /// TCP from the machine itself.
    Loopback,
    #[default]
    Network,
}
