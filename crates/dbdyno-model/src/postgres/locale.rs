//! Encodings, and the versions of the libraries that decide how text sorts.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct DatabaseLocale {
    pub name: String,
    /// `UTF8`, `SQL_ASCII`, …
    pub encoding: String,
    pub collate: String,
    /// Version of the library when its objects were made (15 and later); none for C and POSIX.
    pub version: Option<String>,
    /// Version of the library now.
    pub actual: Option<String>,
}

/// A collation with a version that indexes of the connected database sort by.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct CollationUse {
    pub schema: String,
    pub name: String,
    /// Version of the library when the collation was made.
    pub version: String,
    /// Version of the library now.
    pub actual: Option<String>,
    pub indexes: u64,
}
