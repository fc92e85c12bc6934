//! A disk whose write cache may lose what was not flushed.
//!
//! ## What it finds
//! Nothing yet: whether a cache that the kernel calls `write back` survives a power cut shows in
//! how long a flush takes, and the latency of fsync is not collected. The rule passes disks that
//! have no such cache and names the others as not assessed.
//!
//! ## Why it matters
//! Consumer drives acknowledge writes from volatile memory. The server's flushes keep commits safe
//! on them, at a millisecond or more each, which bounds the commits per second. Drives with
//! power-loss protection acknowledge a flush at once.
//!
//! ## What to do
//! Measure the flush (pg_test_fsync). Above 1 ms, put the write-ahead log on a drive with power-loss
//! protection or let commits share a flush. Never switch flushes off: writing `write_cache` changes
//! what the kernel believes, not what the drive does.
//!
//! ## Risk
//! None.
//!
//! ## When it does not apply
//! Storage without disks of its own. On a virtual disk neither word is proof: the guest sees what
//! the hypervisor chose to show, and some acknowledge flushes without carrying them out
//! (Firecracker's cache type `Unsafe`).
//!
//! ## Sources
//! - <https://www.kernel.org/doc/Documentation/ABI/stable/sysfs-block>
//! - <https://github.com/firecracker-microvm/firecracker/blob/main/docs/api_requests/block-caching.md>

use dbdyno_model::finding::Confidence;
use dbdyno_model::host::{BlockDevice, BlockDeviceKind, Host};
use dbdyno_model::{Facts, Outcome, Severity};

use crate::rule::{Rule, host, need_ref, settle};
use crate::seen::block_devices;

pub(super) const RULE: Rule = Rule {
    id: "hardware.volatile_cache",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &[
        "https://www.kernel.org/doc/Documentation/ABI/stable/sysfs-block",
        "https://github.com/firecracker-microvm/firecracker/blob/main/docs/api_requests/block-caching.md",
    ],
    check,
    source_text: include_str!("volatile_cache.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let host = host(facts)?;
    let devices = block_devices(host)?;
    let disks: Vec<&BlockDevice> = devices.all.iter().copied().filter(|d| is_disk(d)).collect();
    if disks.is_empty() {
        let names: Vec<&str> = devices.all.iter().map(|device| device.name.as_str()).collect();
        return Err(Outcome::Unknown(format!(
            "write cache: the disks under {} are not visible",
            names.join(", ")
        )));
    }
    for disk in disks {
        let cache = need_ref(&disk.write_cache, &format!("write cache of {}", disk.name))?;
        if let Some(hypervisor) = hypervisor_of(host, disk) {
            return Err(Outcome::Unknown(format!(
                "flushes of {}: a virtual disk ({hypervisor}) says \"{cache}\" but only a power \
                 cut of its host shows what is kept",
                disk.name
            )));
        }
        if cache != "write through" {
            return Err(Outcome::Unknown(format!(
                "fsync latency of {}: not collected; its cache is \"{cache}\" and the latency \
                 would tell whether it is protected (pg_test_fsync measures it)",
                disk.name
            )));
        }
    }
    devices.or_unread(Outcome::Ok)
}

fn is_disk(device: &BlockDevice) -> bool {
    use BlockDeviceKind::{Disk, Nvme, Virtio};
    matches!(device.kind, Disk | Nvme | Virtio)
}

fn hypervisor_of<'a>(host: &'a Host, disk: &BlockDevice) -> Option<&'a str> {
    let kind = host
        .virtualisation
        .value()
        .map(|v| v.kind.as_str())
        .filter(|kind| *kind != "none");
    kind.or_else(|| (disk.kind == BlockDeviceKind::Virtio).then_some("virtio"))
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{healthy, not_applicable, ok, unknown};
    use dbdyno_model::host::{BlockDevice, BlockDeviceKind, Virtualisation};
    use dbdyno_model::{Fact, Facts};

    fn with_devices(devices: impl FnOnce(BlockDevice) -> Vec<BlockDevice>) -> Facts {
        let mut facts = healthy();
        let host = facts.host.as_mut().unwrap();
        let kind = "none".to_owned();
        host.virtualisation = Fact::known(Virtualisation { kind }, "/proc/cpuinfo");
        let mut data = host.data.value().unwrap().clone();
        let mut disk = data.devices.value().unwrap()[0].clone();
        disk.name = "nvme0n1".to_owned();
        disk.kind = BlockDeviceKind::Nvme;
        data.devices = Fact::known(devices(disk), "/sys/dev/block");
        host.data = Fact::known(data, "/proc/self/mountinfo");
        facts
    }

    fn with_cache(cache: &str) -> Facts {
        with_devices(|mut disk| {
            disk.write_cache = Fact::known(cache.to_owned(), "write_cache");
            vec![disk]
        })
    }

    #[test]
    fn a_write_back_cache_waits_for_its_flush_latency() {
        let why = unknown(&RULE, &with_cache("write back"));
        insta::assert_snapshot!(why, @r#"fsync latency of nvme0n1: not collected; its cache is "write back" and the latency would tell whether it is protected (pg_test_fsync measures it)"#);
    }

    #[test]
    fn write_through_on_bare_metal_is_fine() {
        ok(&RULE, &with_cache("write through"));
    }

    #[test]
    fn a_virtual_disk_proves_nothing() {
        let why = unknown(&RULE, &healthy());
        insta::assert_snapshot!(why, @r#"flushes of vda: a virtual disk (kvm) says "write back" but only a power cut of its host shows what is kept"#);
    }

    #[test]
    fn storage_without_a_device_is_not_applicable() {
        not_applicable(&RULE, &with_devices(|_| Vec::new()));
    }
}
