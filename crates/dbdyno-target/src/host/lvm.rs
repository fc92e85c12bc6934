//! LVM: the volume group of a device-mapper device, and where its physical volumes begin.

use dbdyno_model::host::{PhysicalVolume, VolumeGroup};

use super::root::Root;
use super::text;

/// LVM keeps its records here as text; on the devices they can be read with its own tools only.
const RECORDS: &str = "/etc/lvm/backup";
const SECTOR_BYTES: u64 = 512;

/// The group in a mapped name (`group-volume`): hyphens of its own are doubled.
pub fn group_name(mapped: &str) -> Option<String> {
    let mut group = String::new();
    let mut characters = mapped.chars().peekable();
    while let Some(character) = characters.next() {
        if character == '-' && characters.next_if_eq(&'-').is_none() {
            let is_whole = !group.is_empty() && characters.peek().is_some();
            return is_whole.then_some(group);
        }
        group.push(character);
    }
    None
}

/// The physical volumes in a group's record, with the starts of their first extents.
pub fn physical_volumes(text: &str) -> Result<Vec<PhysicalVolume>, String> {
    let mut volumes = Vec::new();
    let mut sections: Vec<&str> = Vec::new();
    let (mut device, mut start) = (None, None);
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        // `group { physical_volumes { pv0 {`.
        let is_volume = sections.len() == 3 && sections[1] == "physical_volumes";
        if let Some(name) = line.strip_suffix('{') {
            sections.push(name.trim());
            (device, start) = (None, None);
        } else if line == "}" {
            if let (true, Some(device), Some(pe_start_bytes)) =
                (is_volume, device.take(), start.take())
            {
                volumes.push(PhysicalVolume {
                    device,
                    pe_start_bytes,
                });
            }
            sections.pop();
        } else if let Some((name, value)) = line.split_once('=') {
            let value = value.trim();
            match name.trim() {
                "device" => device = Some(value.trim_matches('"').to_owned()),
                "pe_start" => start = text::number::<u64>(value)?.checked_mul(SECTOR_BYTES),
                _ => {}
            }
        }
    }
    if volumes.is_empty() {
        return Err("it names no physical volume".to_owned());
    }
    Ok(volumes)
}

/// The group that a device belongs to, where LVM made it; `directory` is the device's in /sys/block.
pub(super) fn volume_group(root: &Root, directory: &str) -> Option<VolumeGroup> {
    let uuid = root.text(&format!("{directory}/dm/uuid")).ok()?;
    if !uuid.starts_with("LVM-") {
        return None;
    }
    let mapped = root.text(&format!("{directory}/dm/name")).ok()?;
    let name = group_name(mapped.trim()).filter(|name| !name.contains('/'))?;
    Some(VolumeGroup {
        physical_volumes: root.fact(&format!("{RECORDS}/{name}"), physical_volumes),
        name,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_told_from_volumes() {
        assert_eq!(group_name("vg0-pg").as_deref(), Some("vg0"));
        assert_eq!(group_name("my--vg-my--lv").as_deref(), Some("my-vg"));
        assert_eq!(group_name("a---b").as_deref(), Some("a-"));
        assert_eq!(group_name("plain"), None);
        assert_eq!(group_name("a-"), None);
        assert_eq!(group_name("-a"), None);
    }

    #[test]
    fn starts_are_read_from_a_record() {
        let text = "contents = \"Text Format Volume Group\"\n\
                    vg0 {\n\tid = \"x\"\n\tphysical_volumes {\n\t\tpv0 {\n\t\t\tdevice = \"/dev/md0\"\t# Hint only\n\
                    \t\t\tpe_start = 384\n\t\t\tpe_count = 1\t# 4 Megabytes\n\t\t}\n\t\tpv1 {\n\t\t\tdevice = \"/dev/sdz\"\n\t\t}\n\
                    \t}\n\tlogical_volumes {\n\t\tpg {\n\t\t\tpe_start = 7\n\t\t}\n\t}\n}\n";
        let read = physical_volumes(text).unwrap();
        let expected = PhysicalVolume {
            device: "/dev/md0".to_owned(),
            pe_start_bytes: 192 << 10,
        };
        assert_eq!(read, [expected]);
        assert!(physical_volumes("vg0 {\n}\n").is_err());
        assert!(physical_volumes("}\n}\n").is_err());
    }
}
