//! Who keeps the host's clock.

use serde::{Deserialize, Serialize};

use crate::Fact;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TimeSync {
    /// Programs that set the clock and run now: `chronyd`, `ntpd`, `systemd-timesyncd`.
    pub daemons: Vec<String>,
    /// Unknown where the program does not tell without being asked.
    pub synchronised: Fact<bool>,
}
