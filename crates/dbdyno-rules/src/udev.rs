//! What a rule of udev knows a disk by: the kernel hands out its names anew at each boot.

use dbdyno_model::host::{BlockDevice, BlockDeviceKind};

/// Keys of a udev rule that match a disk, and what else they match.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Matches {
    pub(crate) keys: String,
    /// What an owner has to know before pasting the line.
    pub(crate) remark: Option<String>,
}

/// A mapped device and an array by names of their own; plain disks by their kind, as the kernel's
/// names of one kind begin with the same letters in every boot.
pub(crate) fn matches(device: &BlockDevice) -> Matches {
    if let Some(keys) = own_name(device) {
        return Matches { keys, remark: None };
    }
    if let Some((pattern, words)) = kind(device) {
        let rotates = match device.rotational.get() {
            // None of the others turns, whatever it says.
            Some(rotates) if device.kind != BlockDeviceKind::Nvme => {
                format!(", ATTR{{queue/rotational}}==\"{}\"", u8::from(rotates))
            }
            _ => String::new(),
        };
        return Matches {
            keys: format!("ENV{{DEVTYPE}}==\"disk\", KERNEL==\"{pattern}\"{rotates}"),
            remark: Some(format!("which holds for all {words} that are alike")),
        };
    }
    let name = shown(&device.name);
    Matches {
        remark: Some(format!(
            "where {name} has to be written anew if that becomes another device's name at a boot"
        )),
        keys: format!("KERNEL==\"{name}\""),
    }
}

/// Facts may come from anywhere, and a quote in a name would end the line's.
pub(crate) fn shown(name: &str) -> String {
    let plain = |c: char| if is_plain(c) { c } else { '?' };
    name.chars().map(plain).collect()
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-.".contains(c)
}

/// None for a name that was not read or is hidden, which would match nothing.
fn own_name(device: &BlockDevice) -> Option<String> {
    let is_usable = |name: &&String| name.chars().all(|c| is_plain(c) || "+:=@".contains(c));
    if let Some(mapped) = &device.mapped {
        let name = mapped.name.value().filter(is_usable)?;
        return Some(format!("ENV{{DM_NAME}}==\"{name}\""));
    }
    let uuid = device.raid.as_ref()?.uuid.value().filter(is_usable)?;
    // Arrays whose metadata a controller's firmware keeps have none.
    let has_one = uuid.chars().any(|c| !"0-".contains(c));
    has_one.then(|| format!("ATTR{{md/uuid}}==\"{uuid}\""))
}

/// How names of the kind begin.
fn kind(device: &BlockDevice) -> Option<(&'static str, &'static str)> {
    const DISKS: [(&str, &str); 7] = [
        ("sd*", "SCSI and SATA disks (sd*)"),
        ("hd*", "IDE disks (hd*)"),
        ("xvd*", "Xen disks (xvd*)"),
        ("dasd*", "DASD disks (dasd*)"),
        ("mmcblk*", "memory cards (mmcblk*)"),
        ("pmem*", "persistent memory (pmem*)"),
        // The slash in their names, which is an exclamation mark in those of /sys.
        ("cciss?*", "disks of the controller (cciss)"),
    ];
    match device.kind {
        BlockDeviceKind::Nvme => Some(("nvme*", "NVMe disks")),
        BlockDeviceKind::Virtio => Some(("vd*", "virtio disks")),
        BlockDeviceKind::Disk => DISKS.into_iter().find(|(pattern, _)| {
            let begins = pattern.trim_end_matches(['?', '*']);
            device.name.starts_with(begins)
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_model::Fact;
    use dbdyno_model::host::{Mapped, Raid};

    fn named(name: &str, kind: BlockDeviceKind) -> BlockDevice {
        BlockDevice {
            name: name.to_owned(),
            kind,
            rotational: Fact::known(true, "queue/rotational"),
            ..BlockDevice::default()
        }
    }

    fn keys(device: &BlockDevice) -> String {
        matches(device).keys
    }

    #[test]
    fn a_mapped_device_is_known_by_its_name_and_not_by_its_number() {
        let mut device = named("dm-7", BlockDeviceKind::DeviceMapper);
        let mapped = |name: &str| {
            Some(Mapped {
                name: Fact::known(name.to_owned(), "dm/name"),
                ..Mapped::default()
            })
        };
        device.mapped = mapped("vg0-pg");
        let found = matches(&device);
        assert_eq!(found.keys, "ENV{DM_NAME}==\"vg0-pg\"");
        assert_eq!(found.remark, None);
        // A name that was hidden is no name.
        device.mapped = mapped("(host)--vg-pg");
        let found = matches(&device);
        assert_eq!(found.keys, "KERNEL==\"dm-7\"");
        assert!(found.remark.unwrap().contains("at a boot"));
    }

    #[test]
    fn an_array_is_known_by_its_superblock() {
        let mut device = named("md127", BlockDeviceKind::MdRaid);
        let raid = |uuid: &str| {
            Some(Raid {
                uuid: Fact::known(uuid.to_owned(), "md/uuid"),
                ..Raid::default()
            })
        };
        device.raid = raid("0a1b2c3d-0000-4000-8000-00805f9b34fb");
        assert_eq!(
            keys(&device),
            "ATTR{md/uuid}==\"0a1b2c3d-0000-4000-8000-00805f9b34fb\""
        );
        device.raid = raid("00000000-0000-0000-0000-000000000000");
        assert_eq!(keys(&device), "KERNEL==\"md127\"");
        device.raid = Some(Raid::default());
        assert_eq!(keys(&device), "KERNEL==\"md127\"");
    }

    #[test]
    fn a_disk_is_known_by_its_kind_and_by_whether_it_turns() {
        let mut device = named("sdb", BlockDeviceKind::Disk);
        let found = matches(&device);
        assert_eq!(
            found.keys,
            "ENV{DEVTYPE}==\"disk\", KERNEL==\"sd*\", ATTR{queue/rotational}==\"1\""
        );
        assert_eq!(
            found.remark.unwrap(),
            "which holds for all SCSI and SATA disks (sd*) that are alike"
        );
        device.rotational = Fact::default();
        assert_eq!(keys(&device), "ENV{DEVTYPE}==\"disk\", KERNEL==\"sd*\"");
        let nvme = named("nvme1n1", BlockDeviceKind::Nvme);
        assert_eq!(keys(&nvme), "ENV{DEVTYPE}==\"disk\", KERNEL==\"nvme*\"");
    }

    #[test]
    fn a_quote_ends_no_line() {
        let odd = named("a\", RUN+=\"b", BlockDeviceKind::Other);
        assert_eq!(keys(&odd), "KERNEL==\"a???RUN???b\"");
    }
}
