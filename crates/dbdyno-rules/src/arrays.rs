//! The md arrays under a file system, for the rules that look at their geometry and state.

use dbdyno_model::host::{BlockDevice, Mapper, Raid, Storage};
use dbdyno_model::{Facts, Outcome};

use crate::formulas::storage::data_disks;
use crate::rule::{host, need, need_ref};
use crate::seen::{Seen, block_devices};

/// An md device with what it says of itself.
#[derive(Clone, Copy)]
pub(crate) struct Array<'a> {
    pub(crate) device: &'a BlockDevice,
    pub(crate) raid: &'a Raid,
}

impl<'a> Array<'a> {
    pub(crate) fn level(&self) -> Result<&'a str, Outcome> {
        let name = format!("RAID level of {}", self.device.name);
        need_ref(&self.raid.level, &name).map(String::as_str)
    }

    /// `RAID 10` for the kernel's `raid10`.
    pub(crate) fn level_name(&self) -> Result<String, Outcome> {
        let level = self.level()?;
        Ok(match level.strip_prefix("raid") {
            Some(number) => format!("RAID {number}"),
            None => level.to_owned(),
        })
    }

    pub(crate) fn has_parity(&self) -> Result<bool, Outcome> {
        Ok(matches!(self.level()?, "raid4" | "raid5" | "raid6"))
    }

    pub(crate) fn disks(&self) -> Result<u64, Outcome> {
        need(
            &self.raid.disks,
            &format!("number of disks of {}", self.device.name),
        )
    }
}

/// The arrays under data and write-ahead log.
pub(crate) fn arrays(facts: &Facts) -> Result<Seen<Array<'_>>, Outcome> {
    let devices = block_devices(host(facts)?)?;
    let of_lvm = raid_of_lvm(&devices.all);
    let found = devices.filter_map(array).lacking(of_lvm);
    if found.all.is_empty() {
        let none = "no md array lies under the database".to_owned();
        return Err(found.or_unread(Outcome::NotApplicable(none))?);
    }
    Ok(found)
}

/// Those of them that keep parity.
pub(crate) fn parity_arrays(facts: &Facts) -> Result<Seen<Array<'_>>, Outcome> {
    let arrays = arrays(facts)?;
    for array in &arrays.all {
        array.level()?;
    }
    let found = arrays.filter_map(|array| array.has_parity().ok()?.then_some(array));
    if found.all.is_empty() {
        let none = "no array under the database keeps parity".to_owned();
        return Err(found.or_unread(Outcome::NotApplicable(none))?);
    }
    Ok(found)
}

/// LVM makes arrays of its own, of which the kernel's files show neither level nor state. What betrays
/// them are the volumes they are made of: no other volume may have such a name (lvm(8)).
fn raid_of_lvm(devices: &[&BlockDevice]) -> Option<Outcome> {
    let volume = devices.iter().find_map(|device| {
        let mapped = device.mapped.as_ref()?;
        let (volume, _) = mapped.name.value()?.split_once("_rimage_")?;
        (mapped.mapper.get() == Some(Mapper::Lvm)).then_some(volume)
    })?;
    Some(Outcome::Unknown(format!(
        "RAID of LVM at {volume}: only LVM's tools show its level and state \
         (lvs -a -o name,segtype,sync_percent,lv_health_status)"
    )))
}

fn array(device: &BlockDevice) -> Option<Array<'_>> {
    let raid = device.raid.as_ref()?;
    Some(Array { device, raid })
}

/// How an array lays data out over its disks.
#[derive(Clone, Copy)]
pub(crate) struct Stripe<'a> {
    pub(crate) array: Array<'a>,
    pub(crate) chunk_bytes: u64,
    pub(crate) data_disks: u64,
}

/// The stripes of the topmost array under one file system; none where no array stripes.
pub(crate) fn stripe(storage: &Storage) -> Result<Option<Stripe<'_>>, Outcome> {
    let name = format!("block devices under {}", storage.mount_point);
    for array in need_ref(&storage.devices, &name)?.iter().filter_map(array) {
        let disks = array.disks()?;
        let Some(data_disks) = data_disks(array.level()?, disks) else {
            continue;
        };
        let chunk = need(
            &array.raid.chunk_bytes,
            &format!("chunk of {}", array.device.name),
        )?;
        if chunk > 0 {
            return Ok(Some(Stripe {
                array,
                chunk_bytes: chunk,
                data_disks: told(array, chunk, disks)?.unwrap_or(data_disks),
            }));
        }
    }
    Ok(None)
}

/// Disks in a stripe of RAID 10 as the kernel sees it, which is what file systems are made with: with
/// far copies, an odd number of disks or three copies it is not half of them.
fn told(array: Array<'_>, chunk: u64, disks: u64) -> Result<Option<u64>, Outcome> {
    if array.level()? != "raid10" {
        return Ok(None);
    }
    let stripe = array.device.optimal_io_bytes.get();
    let in_stripe = stripe
        .filter(|bytes| bytes.is_multiple_of(chunk))
        .map(|bytes| bytes / chunk);
    // What the disks themselves prefer may have made it any multiple.
    Ok(in_stripe.filter(|count| (1..=disks).contains(count)))
}
