//! A rented disk that is slow for half a minute becomes an I/O error.
//!
//! ## What it finds
//! On a machine of Amazon or Alibaba with NVMe disks under the database: an I/O time limit of the
//! kernel's driver of less than 255 seconds.
//!
//! ## Why it matters
//! The disks are volumes across the network. When one stalls, for minutes in bad moments, the driver
//! gives a request up after its time limit (30 seconds by default) and reports an error. The file
//! system may go read-only, and PostgreSQL stops at a failed fsync. Without the limit it would have
//! waited and gone on.
//!
//! ## What to do
//! Set `nvme_core.io_timeout` to the largest value on the kernel's command line: 4294967295, and 255
//! on old kernels.
//!
//! ## Risk
//! A disk that is really dead hangs the server instead of failing it; watch for stalls (PSI io).
//!
//! ## When it does not apply
//! Other clouds and disks. Some images set the largest value already.
//!
//! ## Sources
//! - <https://docs.aws.amazon.com/ebs/latest/userguide/timeout-nvme-ebs-volumes.html>
//! - Using AWS EC2 instance store vs EBS for MySQL (August 2018)

use dbdyno_model::finding::Confidence;
use dbdyno_model::host::BlockDeviceKind;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use crate::paste::PasteExt;
use crate::rule::{FindingExt, Rule, host, need, need_ref, settle};
use crate::seen::block_devices;

pub(super) const RULE: Rule = Rule {
    id: "cloud.nvme_timeout",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &[
        "https://docs.aws.amazon.com/ebs/latest/userguide/timeout-nvme-ebs-volumes.html",
        "Using AWS EC2 instance store vs EBS for MySQL (August 2018)",
    ],
    check,
    source_text: include_str!("nvme_timeout.rs"),
};

/// Whose documentation asks for it.
const VENDORS: [&str; 2] = ["alibaba", "amazon"];
/// What old kernels can have at most.
const OLD_LIMIT_S: u64 = 255;

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let host = host(facts)?;
    let virtualisation = need_ref(&host.virtualisation, "virtualisation")?;
    if !VENDORS.contains(&virtualisation.kind.as_str()) {
        return Err(Outcome::NotApplicable(
            "not a machine of Amazon or Alibaba".to_owned(),
        ));
    }
    let devices = block_devices(host)?;
    let Some(disk) = devices
        .all
        .iter()
        .find(|device| device.kind == BlockDeviceKind::Nvme)
    else {
        return devices.or_unread(Outcome::NotApplicable(
            "no NVMe disk under the database".to_owned(),
        ));
    };
    let fact = &host.nvme_timeout_s;
    let seconds = need(fact, "I/O time limit of NVMe disks")?;
    if seconds >= OLD_LIMIT_S {
        return Ok(Outcome::Ok);
    }
    Ok(RULE
        .finding(format!(
            "requests to {} fail after {seconds} s: a stall of the volume becomes an I/O error, and \
             a failed fsync stops PostgreSQL",
            disk.name
        ))
        .keeps_running()
        .evidence("nvme_core.io_timeout", seconds, &fact.origin)
        .host_action(
            "nvme_core.io_timeout=4294967295 on the kernel's command line, then reboot: grubby \
             --update-kernel=ALL --args=nvme_core.io_timeout=4294967295 (Red Hat, Amazon Linux), or in \
             GRUB_CMDLINE_LINUX of /etc/default/grub and update-grub (Debian, Ubuntu), grub2-mkconfig \
             -o /boot/grub2/grub.cfg (SUSE)",
            Needs::Reboot,
        )
        .costing("a disk that is really dead hangs the server instead of failing it")
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{devices, finding, healthy, host, not_applicable, ok, unknown};
    use dbdyno_model::host::{BlockDeviceKind, Virtualisation};
    use dbdyno_model::{Effect, Fact, Facts};

    fn on_amazon(timeout: Fact<u64>) -> Facts {
        let mut facts = healthy();
        devices(&mut facts, |devices| {
            devices[0].name = "nvme1n1".to_owned();
            devices[0].kind = BlockDeviceKind::Nvme;
        });
        let host = host(&mut facts);
        let kind = "amazon".to_owned();
        host.virtualisation = Fact::known(Virtualisation { kind }, "/sys/class/dmi/id");
        host.nvme_timeout_s = timeout;
        facts
    }

    fn known(seconds: u64) -> Fact<u64> {
        Fact::known(seconds, "/sys/module/nvme_core/parameters/io_timeout")
    }

    #[test]
    fn the_default_is_found() {
        let finding = finding(&RULE, &on_amazon(known(30)));
        assert_eq!(finding.effect, Effect::Availability);
        insta::assert_snapshot!(finding.message, @"requests to nvme1n1 fail after 30 s: a stall of the volume becomes an I/O error, and a failed fsync stops PostgreSQL");
    }

    #[test]
    fn the_largest_values_are_fine() {
        ok(&RULE, &on_amazon(known(4_294_967_295)));
        ok(&RULE, &on_amazon(known(255)));
    }

    #[test]
    fn other_machines_and_disks_are_not_applicable() {
        assert!(not_applicable(&RULE, &healthy()).contains("Amazon"));
        let mut facts = on_amazon(known(30));
        devices(&mut facts, |devices| {
            devices[0].kind = BlockDeviceKind::Disk;
        });
        assert!(not_applicable(&RULE, &facts).contains("NVMe"));
    }

    #[test]
    fn an_unread_limit_is_unknown() {
        assert_eq!(
            unknown(&RULE, &on_amazon(Fact::default())),
            "I/O time limit of NVMe disks: not collected"
        );
    }
}
