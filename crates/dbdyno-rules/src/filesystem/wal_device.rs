//! Data and write-ahead log share a rotating disk.
//!
//! ## What it finds
//! The write-ahead log on the same rotating disk as the data, on bare metal.
//!
//! ## Why it matters
//! The log is written in order and waited for at each commit. On a disk with heads every random
//! read or write of data files moves them away, and the next commit waits until they are back.
//!
//! ## What to do
//! Put pg_wal on a disk of its own. On one fast SSD the gain is small: prove it with a trial first.
//!
//! ## Risk
//! None to data if the server is stopped while pg_wal is moved. One more disk that must not fail.
//!
//! ## When it does not apply
//! Log and data on different disks; solid-state disks on bare metal. On virtual disks it is not
//! assessed: what limits them is the volume's IOPS and throughput, which are not collected, and
//! `rotational` is only what the hypervisor says. It pays where the log is a large part (30 % or
//! more) of what is written.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/wal-internals.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::host::{BlockDevice, BlockDeviceKind, Storage};
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use crate::rule::{FindingExt, Rule, host, need, need_ref, settle};

pub(super) const RULE: Rule = Rule {
    id: "filesystem.wal_device",
    severity: Severity::Info,
    confidence: Confidence::Medium,
    sources: &["https://www.postgresql.org/docs/current/wal-internals.html"],
    check,
    source_text: include_str!("wal_device.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let host = host(facts)?;
    let data = need_ref(&host.data, "storage of the data directory")?;
    let wal = need_ref(&host.wal, "storage of the write-ahead log")?;
    let data_disks = disks(data, "data directory")?;
    let wal_disks = disks(wal, "write-ahead log")?;
    if data_disks.is_empty() || wal_disks.is_empty() {
        return Err(Outcome::NotApplicable(
            "the storage shows no disk of its own".to_owned(),
        ));
    }
    let shared: Vec<&BlockDevice> = data_disks
        .into_iter()
        .filter(|disk| wal_disks.iter().any(|other| other.name == disk.name))
        .collect();
    if shared.is_empty() {
        return Ok(Outcome::Ok);
    }
    let virtualisation = need_ref(&host.virtualisation, "virtualisation")?;
    if virtualisation.kind != "none" {
        return Err(Outcome::Unknown(format!(
            "IOPS and throughput limits of {}: not collected, and on a virtual disk they decide",
            shared[0].name
        )));
    }
    for disk in shared {
        if need(&disk.rotational, &format!("whether {} rotates", disk.name))? {
            return Ok(RULE
                .finding(format!(
                    "data and write-ahead log share the rotating disk {}: commits wait for its \
                     heads",
                    disk.name
                ))
                .evidence("rotational", 1, &disk.rotational.origin)
                .host_action(
                    format!(
                        "stop the server, move {} to another disk and leave a symbolic link there",
                        pg_wal(&wal.path)
                    ),
                    Needs::Restart,
                )
                .into_outcome());
        }
    }
    Ok(Outcome::Ok)
}

fn disks<'a>(storage: &'a Storage, of: &str) -> Result<Vec<&'a BlockDevice>, Outcome> {
    use BlockDeviceKind::{Disk, Nvme, Virtio};
    let devices = need_ref(&storage.devices, &format!("block devices under the {of}"))?;
    let disks = devices
        .iter()
        .filter(|device| matches!(device.kind, Disk | Nvme | Virtio));
    Ok(disks.collect())
}

/// The log's directory, whether the collector was asked for it or for the data directory.
fn pg_wal(path: &str) -> String {
    if path.ends_with("/pg_wal") {
        path.to_owned()
    } else {
        format!("{path}/pg_wal")
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{devices, finding, healthy, not_applicable, ok, unknown};
    use dbdyno_model::host::{BlockDeviceKind, Storage, Virtualisation};
    use dbdyno_model::{Fact, Facts};

    fn storage(facts: &Facts, disk: &str, rotational: bool) -> Fact<Storage> {
        let mut storage = facts.host.as_ref().unwrap().data.value().unwrap().clone();
        let mut device = storage.devices.value().unwrap()[0].clone();
        device.name = disk.to_owned();
        device.kind = BlockDeviceKind::Disk;
        device.rotational = Fact::known(rotational, "rotational");
        storage.devices = Fact::known(vec![device], "/sys/dev/block");
        Fact::known(storage, "/proc/self/mountinfo")
    }

    fn bare_metal(data: &str, wal: &str, rotational: bool) -> Facts {
        let mut facts = healthy();
        let data = storage(&facts, data, rotational);
        let wal = storage(&facts, wal, rotational);
        let host = facts.host.as_mut().unwrap();
        host.data = data;
        host.wal = wal;
        let kind = "none".to_owned();
        host.virtualisation = Fact::known(Virtualisation { kind }, "/proc/cpuinfo");
        facts
    }

    #[test]
    fn one_rotating_disk_is_found() {
        let finding = finding(&RULE, &bare_metal("sda", "sda", true));
        insta::assert_snapshot!(finding.message, @"data and write-ahead log share the rotating disk sda: commits wait for its heads");
        assert!(
            finding.host_actions[0]
                .action
                .contains("/var/lib/dbdyno/lab/data/pg_wal")
        );
    }

    #[test]
    fn two_disks_and_a_shared_ssd_are_fine() {
        ok(&RULE, &bare_metal("sda", "sdb", true));
        ok(&RULE, &bare_metal("sda", "sda", false));
    }

    #[test]
    fn a_virtual_disk_is_unknown() {
        assert!(unknown(&RULE, &healthy()).starts_with("IOPS and throughput limits of vda"));
    }

    #[test]
    fn storage_without_a_disk_of_its_own_is_not_applicable() {
        let mut facts = bare_metal("sda", "sda", true);
        devices(&mut facts, Vec::clear);
        assert_eq!(
            not_applicable(&RULE, &facts),
            "the storage shows no disk of its own"
        );
    }
}
