//! Mapped devices, logical volumes and mount points.

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

/// A device of device mapper's: its number may be another after a boot, and its name is not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Mapped {
    /// `vg0-pg`, `mpatha`, as it stands in /dev/mapper.
    pub name: Fact<String>,
    pub mapper: Fact<Mapper>,
}

/// Who made a mapped device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Mapper {
    Lvm,
    Multipath,
    Crypt,
    /// A partition of a mapped device.
    Partition,
    Other,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MountPoint {
    pub path: String,
    pub filesystem: String,
}

/// Whether a file system is a container's own layer over its image, and gone with the container.
pub fn is_container_layer(filesystem: &str) -> bool {
    let layers = ["overlay", "overlayfs", "aufs", "fuse.fuse-overlayfs"];
    layers.contains(&filesystem)
}
