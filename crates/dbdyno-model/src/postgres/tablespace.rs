//! A place for tables outside of the data directory.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Tablespace {
    pub name: String,
    /// As the server names it; within the data directory where it is not absolute.
    pub location: String,
    /// spcoptions as `name=value`.
    pub options: Vec<String>,
}

impl Tablespace {
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options
            .iter()
            .find_map(|option| option.strip_prefix(name)?.strip_prefix('='))
    }
}
