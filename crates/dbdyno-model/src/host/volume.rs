//! Logical volumes and mount points.

use serde::{Deserialize, Serialize};

use crate::Fact;

/// What LVM's own records say of the volume group that a device-mapper device belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VolumeGroup {
    pub name: String,
    pub physical_volumes: Fact<Vec<PhysicalVolume>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhysicalVolume {
    /// As LVM last saw it: `/dev/md0`.
    pub device: String,
    /// Where the first extent begins, from the start of the device.
    pub pe_start_bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MountPoint {
    pub path: String,
    pub filesystem: String,
}
