//! An I/O scheduler that costs more than it orders.
//!
//! ## What it finds
//! `bfq` under a database; anything but `none` on NVMe and virtio disks; anything but `none` or
//! `mq-deadline` on other solid-state disks and on multipath devices; anything but `mq-deadline` on
//! rotating disks. `mq-deadline` where `none` is better, the kernel's choice for disks with one queue,
//! is only told.
//!
//! ## Why it matters
//! A fast device orders its queue itself, and a scheduler above it only adds locks and latency. A
//! rotating disk needs one that keeps reads from starving behind a checkpoint's writes. `bfq`
//! shares bandwidth between programs, for desktops.
//!
//! ## What to do
//! Set it now and keep it by a udev rule. Names such as sda and dm-3 may be another disk's after a boot:
//! the rule goes by the kind of disk and by whether it rotates, or by the name of a mapped device. The
//! old schedulers noop, deadline and cfq are gone since Linux 5.0, and `elevator=` on the command line
//! does nothing.
//!
//! ## Risk
//! None to data.
//!
//! ## When it does not apply
//! Layers without a queue of their own (partitions, logical volumes, encryption, MD, loop). The paths
//! of a multipath device: it has the scheduler, and its requests pass by those of its paths; what the
//! disks behind a path are, a storage array does not say. (Multipath with `queue_mode bio`, where the
//! paths' own schedulers count, is not told from the other.) In a virtual machine a disk that
//! calls itself rotating may also have `none`: the hypervisor decides what it says.
//!
//! ## Sources
//! - <https://docs.kernel.org/block/switching-sched.html>
//! - <https://github.com/torvalds/linux/blob/v5.10/block/blk-core.c>
//! - <https://man7.org/linux/man-pages/man7/udev.7.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::host::{BlockDevice, BlockDeviceKind, Host, Mapper};
use dbdyno_model::{Facts, Outcome, Severity};

use crate::paste::PasteExt;
use crate::rule::{FindingExt, Rule, host, need, need_ref, settle};
use crate::seen::block_devices;

pub(super) const RULE: Rule = Rule {
    id: "kernel.scheduler",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &[
        "https://docs.kernel.org/block/switching-sched.html",
        "https://github.com/torvalds/linux/blob/v5.10/block/blk-core.c",
        "https://man7.org/linux/man-pages/man7/udev.7.html",
    ],
    check,
    source_text: include_str!("scheduler.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let host = host(facts)?;
    let mut wrong = Vec::new();
    let mut unknown = None;
    let mut judged = false;
    let devices = block_devices(host)?;
    for device in devices.all.iter().copied() {
        match judge(host, device, &devices.all) {
            Ok(None) => {}
            Ok(Some(Judgement::Right)) => judged = true,
            Ok(Some(Judgement::Wrong(better))) => wrong.push((device, better)),
            Err(why) => unknown = Some(why),
        }
    }
    if wrong.is_empty() {
        return match unknown {
            Some(why) => Err(why),
            None if judged => devices.or_unread(Outcome::Ok),
            None => devices.or_unread(Outcome::NotApplicable(
                "no disk with a queue of its own is seen".to_owned(),
            )),
        };
    }
    let named: Vec<String> = wrong
        .iter()
        .map(|(device, better)| {
            let now = device.scheduler.value().map_or("unknown", String::as_str);
            format!("of {} is {now} and should be {better}", device.name)
        })
        .collect();
    let severity = if wrong.iter().all(|(device, _)| is_mild(device)) {
        Severity::Info
    } else {
        RULE.severity
    };
    let mut finding = RULE
        .finding(format!("the I/O scheduler {}", named.join(", ")))
        .severity(severity);
    for (device, better) in wrong {
        let now = need_ref(&device.scheduler, "scheduler")?;
        finding = finding
            .evidence("scheduler", now, &device.scheduler.origin)
            .udev(device, "queue/scheduler", better);
    }
    Ok(finding.into_outcome())
}

/// Costs some latency and lets nothing starve; it is never wrong where a disk rotates.
fn is_mild(device: &BlockDevice) -> bool {
    let now = device.scheduler.value().map(String::as_str);
    matches!(now, Some("mq-deadline" | "deadline"))
}

enum Judgement {
    Right,
    Wrong(&'static str),
}

/// What may stand under the data: it keeps reads from starving, or leaves the order to the disk.
const EITHER: &[&str] = &["none", "mq-deadline"];

/// None for layers without a queue of their own.
fn judge(
    host: &Host,
    device: &BlockDevice,
    all: &[&BlockDevice],
) -> Result<Option<Judgement>, Outcome> {
    use BlockDeviceKind::{Disk, Nvme, Virtio};
    let is_multipath = is_multipath(device);
    if !is_multipath && !matches!(device.kind, Disk | Nvme | Virtio) {
        return Ok(None);
    }
    if is_path(device, all)? {
        return Ok(None);
    }
    let scheduler = need_ref(&device.scheduler, &format!("scheduler of {}", device.name))?;
    let allowed: &[&'static str] = if is_multipath {
        EITHER
    } else if device.kind == Disk {
        let rotates = need(
            &device.rotational,
            &format!("whether {} rotates", device.name),
        )?;
        let virtualisation = need_ref(&host.virtualisation, "virtualisation")?;
        match (rotates, virtualisation.kind.as_str()) {
            (true, "none") => &["mq-deadline"],
            _ => EITHER,
        }
    } else {
        &["none"]
    };
    // Kernels before 5.0 had the same two under other names.
    let scheduler = match scheduler.as_str() {
        "noop" => "none",
        "deadline" => "mq-deadline",
        name => name,
    };
    let right = allowed.contains(&scheduler);
    Ok(Some(if right {
        Judgement::Right
    } else {
        Judgement::Wrong(allowed[0])
    }))
}

fn is_multipath(device: &BlockDevice) -> bool {
    let mapped = device.mapped.as_ref();
    mapped.is_some_and(|mapped| mapped.mapper.get() == Some(Mapper::Multipath))
}

/// Whether a multipath device hands its requests to this one, past the scheduler. Only below a mapped
/// device that is possible.
fn is_path(device: &BlockDevice, all: &[&BlockDevice]) -> Result<bool, Outcome> {
    let mut all = all.iter();
    if !all.any(|other| other.kind == BlockDeviceKind::DeviceMapper) {
        return Ok(false);
    }
    let name = format!("whether {} is a path of a multipath device", device.name);
    need(&device.is_path, &name)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{devices, finding, healthy, not_applicable, ok, unknown};
    use dbdyno_model::host::{BlockDevice, BlockDeviceKind, Mapped, Mapper, Virtualisation};
    use dbdyno_model::{Fact, Facts, Severity};

    fn bare_metal(kind: BlockDeviceKind, rotational: bool, scheduler: Fact<String>) -> Facts {
        let mut facts = healthy();
        let host = facts.host.as_mut().unwrap();
        let none = Virtualisation {
            kind: "none".to_owned(),
        };
        host.virtualisation = Fact::known(none, "/proc/cpuinfo");
        let mut data = host.data.value().unwrap().clone();
        let disk = BlockDevice {
            name: "sda".to_owned(),
            kind,
            rotational: Fact::known(rotational, "rotational"),
            scheduler,
            ..data.devices.value().unwrap()[0].clone()
        };
        data.devices = Fact::known(vec![disk], "/sys/dev/block");
        host.data = Fact::known(data, "/proc/self/mountinfo");
        facts
    }

    fn named(name: &str) -> Fact<String> {
        Fact::known(name.to_owned(), "/sys/block/sda/queue/scheduler")
    }

    #[test]
    fn bfq_is_found() {
        let finding = finding(
            &RULE,
            &bare_metal(BlockDeviceKind::Disk, true, named("bfq")),
        );
        insta::assert_snapshot!(finding.message, @"the I/O scheduler of sda is bfq and should be mq-deadline");
        assert_eq!(
            finding.host_actions[0].action,
            "ACTION==\"add|change\", SUBSYSTEM==\"block\", ENV{DEVTYPE}==\"disk\", KERNEL==\"sd*\", \
             ATTR{queue/rotational}==\"1\", ATTR{queue/scheduler}=\"mq-deadline\" in \
             /etc/udev/rules.d/zz-dbdyno.rules, which holds for all SCSI and SATA disks (sd*) that \
             are alike, then: udevadm trigger for sda"
        );
    }

    /// A rotating disk behind a storage array, with the multipath device above it.
    fn multipath(of_device: &str, is_path: Fact<bool>) -> Facts {
        let mut facts = bare_metal(BlockDeviceKind::Disk, true, named("none"));
        let mapped = Mapped {
            name: Fact::known("mpatha".to_owned(), "dm/name"),
            mapper: Fact::known(Mapper::Multipath, "dm/uuid"),
        };
        devices(&mut facts, |devices| {
            let path = devices.last_mut().unwrap();
            path.is_path = is_path.clone();
            let above = BlockDevice {
                name: "dm-0".to_owned(),
                kind: BlockDeviceKind::DeviceMapper,
                scheduler: Fact::known(of_device.to_owned(), "/sys/block/dm-0/queue/scheduler"),
                mapped: Some(mapped.clone()),
                is_path: Fact::known(false, "dm-0"),
                ..path.clone()
            };
            devices.insert(0, above);
        });
        let host = facts.host.as_mut().unwrap();
        host.wal = host.data.clone();
        facts
    }

    #[test]
    fn of_multipath_the_device_counts_and_its_paths_do_not() {
        let path = Fact::known(true, "dm/uuid");
        ok(&RULE, &multipath("mq-deadline", path.clone()));
        ok(&RULE, &multipath("none", path.clone()));
        let finding = finding(&RULE, &multipath("bfq", path));
        assert_eq!(
            finding.message,
            "the I/O scheduler of dm-0 is bfq and should be none"
        );
        let line = &finding.host_actions[0].files[0].lines[0];
        assert!(line.contains("ENV{DM_NAME}==\"mpatha\", ATTR{queue/scheduler}=\"none\""));
        assert!(finding.host_actions[0].commands[1].ends_with("--sysname-match=dm-0"));
    }

    #[test]
    fn a_disk_below_a_mapped_device_that_was_not_looked_into_is_unknown() {
        let facts = multipath("mq-deadline", Fact::default());
        assert_eq!(
            unknown(&RULE, &facts),
            "whether sda is a path of a multipath device: not collected"
        );
    }

    #[test]
    fn a_scheduler_on_nvme_and_none_on_a_rotating_disk_are_found() {
        finding(
            &RULE,
            &bare_metal(BlockDeviceKind::Nvme, false, named("mq-deadline")),
        );
        finding(
            &RULE,
            &bare_metal(BlockDeviceKind::Disk, true, named("none")),
        );
    }

    #[test]
    fn what_the_kernel_chose_for_one_queue_is_only_told() {
        let told = bare_metal(BlockDeviceKind::Virtio, false, named("mq-deadline"));
        assert_eq!(finding(&RULE, &told).severity, Severity::Info);
        let wrong = bare_metal(BlockDeviceKind::Virtio, false, named("bfq"));
        assert_eq!(finding(&RULE, &wrong).severity, Severity::Warn);
    }

    #[test]
    fn the_usual_ones_are_fine() {
        ok(&RULE, &healthy());
        ok(
            &RULE,
            &bare_metal(BlockDeviceKind::Disk, false, named("mq-deadline")),
        );
        ok(
            &RULE,
            &bare_metal(BlockDeviceKind::Disk, true, named("deadline")),
        );
    }

    #[test]
    fn what_a_virtual_disk_says_of_rotation_is_not_believed() {
        let mut facts = bare_metal(BlockDeviceKind::Disk, true, named("none"));
        let kvm = Virtualisation {
            kind: "kvm".to_owned(),
        };
        facts.host.as_mut().unwrap().virtualisation = Fact::known(kvm, "/proc/cpuinfo");
        ok(&RULE, &facts);
    }

    #[test]
    fn unread_is_unknown_and_a_loop_device_not_applicable() {
        let facts = bare_metal(BlockDeviceKind::Disk, true, Fact::default());
        assert_eq!(unknown(&RULE, &facts), "scheduler of sda: not collected");
        not_applicable(
            &RULE,
            &bare_metal(BlockDeviceKind::Loop, false, named("bfq")),
        );
    }
}
