//! Block devices: from a mounted one down through dm, md and partitions to the disks.

use std::collections::BTreeSet;

use dbdyno_model::Fact;
use dbdyno_model::host::{BlockDevice, BlockDeviceKind, Raid, is_container_layer};

use super::mounts::Mount;
use super::root::Root;
use super::{lvm, mapped, text};

const BLOCK: &str = "/sys/block";
/// More devices under one file system are a loop or a storage array beyond a list.
const MOST_DEVICES: usize = 256;

/// The devices under a mount, top first; empty for file systems that need none.
pub(super) fn under(root: &Root, mount: &Mount) -> Fact<Vec<BlockDevice>> {
    match mount.filesystem.as_str() {
        "zfs" => {
            let why = "ZFS does not show its disks in /sys; see `zpool status`";
            return Fact::unknown(why, BLOCK);
        }
        name if is_container_layer(name) => {
            let why = "an overlay does not show the file system below it";
            return Fact::unknown(why, BLOCK);
        }
        _ => {}
    }
    let (top, origin) = if mount.major != 0 {
        let number = format!("{}:{}", mount.major, mount.minor);
        let origin = format!("/sys/dev/block/{number}");
        (by_number(root, &number), origin)
    } else if let Some(name) = mount.source.strip_prefix("/dev/") {
        // btrfs and others number their mounts themselves, but name a device.
        (by_name(root, name), format!("{BLOCK}: {}", mount.source))
    } else {
        return Fact::known(Vec::new(), "/proc/self/mountinfo");
    };
    match top {
        Ok(top) => Fact::known(chain(root, top), origin),
        Err(why) => Fact::unknown(why, origin),
    }
}

fn disks(root: &Root) -> Result<Vec<String>, String> {
    root.list(BLOCK)
        .map_err(|error| format!("{BLOCK}: {error}"))
}

fn by_number(root: &Root, number: &str) -> Result<String, String> {
    let link = root.link(&format!("/sys/dev/block/{number}"));
    if let Some(name) = link.as_deref().and_then(|link| link.rsplit('/').next()) {
        return Ok(name.to_owned());
    }
    let has_number = |directory: &str| {
        root.text(&format!("{directory}/dev"))
            .is_ok_and(|text| text.trim() == number)
    };
    for disk in disks(root)? {
        if has_number(&format!("{BLOCK}/{disk}")) {
            return Ok(disk);
        }
        for part in root.list(&format!("{BLOCK}/{disk}")).unwrap_or_default() {
            if part.starts_with(&disk) && has_number(&format!("{BLOCK}/{disk}/{part}")) {
                return Ok(part);
            }
        }
    }
    Err(format!("no block device {number} is visible here"))
}

fn by_name(root: &Root, name: &str) -> Result<String, String> {
    // Drivers that put disks in folders of /dev write the slash as an exclamation mark.
    let plain = name.replace('/', "!");
    for disk in disks(root)? {
        if disk == plain || partition_directory(&disk, &plain, root).is_some() {
            return Ok(plain);
        }
        if let Some(mapped) = name.strip_prefix("mapper/")
            && root
                .text(&format!("{BLOCK}/{disk}/dm/name"))
                .is_ok_and(|text| text.trim() == mapped)
        {
            return Ok(disk);
        }
    }
    Err(format!("no block device {name} is visible here"))
}

fn partition_directory(disk: &str, name: &str, root: &Root) -> Option<String> {
    let directory = format!("{BLOCK}/{disk}/{name}");
    (name.starts_with(disk) && root.exists(&format!("{directory}/partition"))).then_some(directory)
}

/// Depth first, so that each device stands above what it is made of; each device once.
fn chain(root: &Root, top: String) -> Vec<BlockDevice> {
    let disks = disks(root).unwrap_or_default();
    let mut seen = BTreeSet::new();
    let mut devices = Vec::new();
    let no_path = |name: &str| Fact::known(false, format!("{BLOCK}/{name}"));
    let is_path = no_path(&top);
    let mut stack = vec![(top, is_path)];
    while let Some((name, is_path)) = stack.pop() {
        if devices.len() == MOST_DEVICES || !seen.insert(name.clone()) {
            continue;
        }
        let disk = disks
            .iter()
            .find_map(|disk| Some((disk, partition_directory(disk, &name, root)?)));
        if let Some((disk, directory)) = disk {
            devices.push(BlockDevice {
                is_path,
                ..partition(root, &name, &directory)
            });
            stack.push((disk.clone(), no_path(disk)));
        } else {
            let slaves = root.list(&format!("{BLOCK}/{name}/slaves"));
            let device = BlockDevice {
                is_path,
                ..whole(root, &name)
            };
            let are_paths = mapped::is_above_paths(&device);
            devices.push(device);
            // The stack gives back the last one first.
            let below = slaves.unwrap_or_default().into_iter().rev();
            stack.extend(below.map(|slave| (slave, are_paths.clone())));
        }
    }
    devices
}

fn partition(root: &Root, name: &str, directory: &str) -> BlockDevice {
    let start = root.text(&format!("{directory}/start"));
    // A partition has no queue of its own; the facts of its disk follow in the list.
    fn of_disk<T>(origin: &str) -> Fact<T> {
        Fact::unknown("a partition has no queue of its own: see its disk", origin)
    }
    BlockDevice {
        name: name.to_owned(),
        kind: BlockDeviceKind::Partition,
        start_sector: start.ok().and_then(|text| text::number(&text).ok()),
        scheduler: of_disk(directory),
        read_ahead_kib: of_disk(directory),
        rotational: of_disk(directory),
        write_cache: of_disk(directory),
        fua: of_disk(directory),
        nr_requests: of_disk(directory),
        alignment_offset_bytes: root.fact(&format!("{directory}/alignment_offset"), alignment),
        physical_block_bytes: of_disk(directory),
        misaligned: root.fact(&format!("{directory}/alignment_offset"), misaligned),
        minimum_io_bytes: of_disk(directory),
        optimal_io_bytes: of_disk(directory),
        raid: None,
        volume_group: None,
        mapped: None,
        is_path: Fact::default(),
    }
}

fn whole(root: &Root, name: &str) -> BlockDevice {
    let directory = format!("{BLOCK}/{name}");
    let queue = |file: &str| format!("{directory}/queue/{file}");
    let md = format!("{directory}/md");
    BlockDevice {
        name: name.to_owned(),
        kind: kind(name),
        start_sector: None,
        scheduler: root.fact(&queue("scheduler"), scheduler),
        read_ahead_kib: root.fact(&queue("read_ahead_kb"), text::number),
        rotational: root.fact(&queue("rotational"), text::flag),
        write_cache: root.fact(&queue("write_cache"), text::phrase),
        fua: root.fact(&queue("fua"), text::flag),
        nr_requests: root.fact(&queue("nr_requests"), text::number),
        alignment_offset_bytes: root.fact(&format!("{directory}/alignment_offset"), alignment),
        physical_block_bytes: root.fact(&queue("physical_block_size"), text::number),
        misaligned: root.fact(&format!("{directory}/alignment_offset"), misaligned),
        minimum_io_bytes: root.fact(&queue("minimum_io_size"), text::number),
        optimal_io_bytes: root.fact(&queue("optimal_io_size"), text::number),
        raid: root.exists(&md).then(|| Raid {
            level: root.fact(&format!("{md}/level"), text::phrase),
            disks: root.fact(&format!("{md}/raid_disks"), text::first_number),
            chunk_bytes: root.fact(&format!("{md}/chunk_size"), text::first_number),
            degraded_disks: root.fact(&format!("{md}/degraded"), text::number),
            consistency_policy: root.fact(&format!("{md}/consistency_policy"), text::phrase),
            sync_action: root.fact(&format!("{md}/sync_action"), text::phrase),
            stripe_cache_size: root.fact(&format!("{md}/stripe_cache_size"), text::number),
            stripe_cache_active: root.fact(&format!("{md}/stripe_cache_active"), text::number),
            uuid: root.fact(&format!("{md}/uuid"), text::phrase),
        }),
        volume_group: lvm::volume_group(root, &directory),
        mapped: mapped::collect(root, &directory),
        is_path: Fact::default(),
    }
}

/// The chosen scheduler; devices that take none write `none` without brackets.
pub fn scheduler(text: &str) -> Result<String, String> {
    if text.trim() == "none" {
        return Ok("none".into());
    }
    text::selected(text)
}

/// The kernel writes -1 where a device's start cannot be aligned at all.
pub fn alignment(text: &str) -> Result<u64, String> {
    match text::number::<i64>(text)? {
        -1 => Err("the kernel finds no alignment that fits the devices below".into()),
        offset => u64::try_from(offset).map_err(|_| format!("not an offset: {offset}")),
    }
}

/// Whether a device starts off the boundaries of those below it; -1 says that no start would fit.
pub fn misaligned(text: &str) -> Result<bool, String> {
    text::number::<i64>(text).map(|offset| offset != 0)
}

/// What a device is, by the name that its driver gives it.
pub fn kind(name: &str) -> BlockDeviceKind {
    const PREFIXES: &[(&str, BlockDeviceKind)] = &[
        ("nvme", BlockDeviceKind::Nvme),
        ("vd", BlockDeviceKind::Virtio),
        ("dm-", BlockDeviceKind::DeviceMapper),
        ("md", BlockDeviceKind::MdRaid),
        ("loop", BlockDeviceKind::Loop),
        ("sd", BlockDeviceKind::Disk),
        ("hd", BlockDeviceKind::Disk),
        ("xvd", BlockDeviceKind::Disk),
        ("dasd", BlockDeviceKind::Disk),
        ("mmcblk", BlockDeviceKind::Disk),
        ("pmem", BlockDeviceKind::Disk),
        ("cciss!", BlockDeviceKind::Disk),
    ];
    PREFIXES
        .iter()
        .find(|(prefix, _)| name.starts_with(prefix))
        .map_or(BlockDeviceKind::Other, |(_, kind)| *kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_read() {
        assert_eq!(scheduler("none\n").as_deref(), Ok("none"));
        assert_eq!(scheduler("[none] mq-deadline\n").as_deref(), Ok("none"));
        assert!(scheduler("mq-deadline").is_err());
        assert_eq!(alignment("512\n"), Ok(512));
        assert!(alignment("-1").unwrap_err().contains("no alignment"));
        assert_eq!(misaligned("-1\n"), Ok(true));
        assert_eq!(misaligned("0"), Ok(false));
        assert_eq!(kind("nvme0n1"), BlockDeviceKind::Nvme);
        assert_eq!(kind("md127"), BlockDeviceKind::MdRaid);
        assert_eq!(kind("zram0"), BlockDeviceKind::Other);
    }
}
