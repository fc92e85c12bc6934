//! Device mapper: what a mapped device is called in every boot, and who made it.

use dbdyno_model::Fact;
use dbdyno_model::host::{BlockDevice, Mapped, Mapper};

use super::root::{ReadError, Root};
use super::text;

/// Who made a device, by the beginning of its identifier: each of them writes its own.
pub fn mapper(uuid: &str) -> Result<Mapper, String> {
    let uuid = text::phrase(uuid)?;
    let maker = uuid.split('-').next().unwrap_or_default();
    Ok(match maker {
        "LVM" => Mapper::Lvm,
        "mpath" => Mapper::Multipath,
        "CRYPT" => Mapper::Crypt,
        // kpartx numbers them: `part1-mpath-…`.
        _ if maker.starts_with("part") => Mapper::Partition,
        _ => Mapper::Other,
    })
}

/// None for a device that is not mapped; `directory` is the device's in /sys/block.
pub(super) fn collect(root: &Root, directory: &str) -> Option<Mapped> {
    if !root.exists(&format!("{directory}/dm")) {
        return None;
    }
    let path = format!("{directory}/dm/uuid");
    let mapper = match root.text(&path) {
        // Made by hand; multipath and LVM never leave it out.
        Err(ReadError::Empty) => Ok(Mapper::Other),
        Err(error) => Err(error.to_string()),
        Ok(text) => mapper(&text),
    };
    Some(Mapped {
        name: root.fact(&format!("{directory}/dm/name"), text::phrase),
        mapper: Fact::from_result(mapper, path),
    })
}

/// Whether what lies right below a device are paths to one disk.
pub(super) fn is_above_paths(device: &BlockDevice) -> Fact<bool> {
    match &device.mapped {
        Some(mapped) => {
            let mapper = mapped.mapper.clone();
            mapper.map(|mapper| mapper == Mapper::Multipath)
        }
        None => Fact::known(false, format!("/sys/block/{}", device.name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn makers_are_told_by_their_identifiers() {
        for (uuid, maker) in [
            ("LVM-AAAACCCC\n", Mapper::Lvm),
            ("mpath-3600508b400105e210000900000490000", Mapper::Multipath),
            ("CRYPT-LUKS2-0a1b-secret", Mapper::Crypt),
            ("part1-mpath-3600508b4", Mapper::Partition),
            ("mine", Mapper::Other),
        ] {
            assert_eq!(mapper(uuid), Ok(maker), "{uuid}");
        }
        assert!(mapper("\n").is_err());
    }

    #[test]
    fn a_device_without_an_identifier_is_nobodys_and_an_unread_one_unknown() {
        let tree = tempfile::tempdir().unwrap();
        let root = Root::new(tree.path());
        let directory = tree.path().join("sys/block/dm-3/dm");
        let of = || collect(&root, "/sys/block/dm-3");
        assert_eq!(of(), None);
        std::fs::create_dir_all(&directory).unwrap();
        assert_eq!(of().unwrap().mapper.get(), None);
        std::fs::write(directory.join("uuid"), "\n").unwrap();
        std::fs::write(directory.join("name"), "mine\n").unwrap();
        let found = of().unwrap();
        assert_eq!(found.mapper.get(), Some(Mapper::Other));
        assert_eq!(found.name.value().unwrap(), "mine");
    }
}
