//! Swappiness above 10, or zero, on a host with disk swap.
//!
//! ## What it finds
//! `vm.swappiness` above 10, or 0, where swap space exists.
//!
//! ## Why it matters
//! The kernel weighs dropping page cache against swapping out process memory. A database's
//! shared buffers look idle to it between scans; once they are on disk, a lookup that should take
//! microseconds waits for two reads. At 0 the kernel swaps only when it is nearly out of memory,
//! which brings the out-of-memory killer closer.
//!
//! ## What to do
//! Set `vm.swappiness = 1` in a file under `/etc/sysctl.d/`.
//!
//! ## Risk
//! None to data. It takes effect at once and can be set back.
//!
//! ## When it does not apply
//! Hosts without swap, and those that swap to compressed memory (zram, or zswap in front of the
//! disk): there a high value may be right.
//!
//! ## Sources
//! - <https://docs.kernel.org/admin-guide/sysctl/vm.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::host::Memory;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use crate::paste::PasteExt;
use crate::rule::{FindingExt, Rule, host, need, settle};

pub(super) const RULE: Rule = Rule {
    id: "kernel.swappiness",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &["https://docs.kernel.org/admin-guide/sysctl/vm.html"],
    check,
    source_text: include_str!("swappiness.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let host = host(facts)?;
    if need(&host.memory.swap_total_bytes, "swap size")? == 0 {
        return Err(Outcome::NotApplicable("the host has no swap".to_owned()));
    }
    if let Some(why) = compressed(&host.memory) {
        return Err(Outcome::NotApplicable(why.to_owned()));
    }
    let fact = host
        .sysctl
        .get("vm.swappiness")
        .cloned()
        .unwrap_or_default();
    let swappiness = need(&fact, "vm.swappiness")?;
    if (1..=10).contains(&swappiness) {
        return Ok(Outcome::Ok);
    }
    let why = if swappiness == 0 {
        "0 keeps the kernel from swapping until the out-of-memory killer is near"
    } else {
        "the kernel may swap the server's memory out to keep page cache"
    };
    Ok(RULE
        .finding(format!("vm.swappiness is {swappiness}: {why}"))
        .evidence("vm.swappiness", swappiness, fact.origin)
        .sysctl(&[("vm.swappiness", 1)], Needs::Online)
        .into_outcome())
}

/// Whether all swap is compressed memory; not knowing counts as no.
pub(super) fn is_all_zram(memory: &Memory) -> bool {
    let devices = memory.swap_devices.value().map_or(&[][..], Vec::as_slice);
    !devices.is_empty() && devices.iter().all(|one| one.starts_with("/dev/zram"))
}

/// Whether pages go to compressed memory and not to a disk.
fn compressed(memory: &Memory) -> Option<&'static str> {
    if is_all_zram(memory) {
        return Some("the host swaps to compressed memory (zram)");
    }
    (memory.zswap.get() == Some(true))
        .then_some("what is swapped is compressed in memory first (zswap)")
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, not_applicable, ok, unknown};
    use dbdyno_model::Fact;

    fn with_swappiness(value: i64) -> dbdyno_model::Facts {
        let mut facts = healthy();
        let host = facts.host.as_mut().unwrap();
        host.memory.swap_total_bytes = Fact::known(4 << 30, "/proc/meminfo SwapTotal");
        host.sysctl.insert(
            "vm.swappiness".into(),
            Fact::known(value, "/proc/sys/vm/swappiness"),
        );
        facts
    }

    #[test]
    fn sixty_is_found_with_the_line_that_mends_it() {
        let finding = finding(&RULE, &with_swappiness(60));
        insta::assert_snapshot!(finding.message, @"vm.swappiness is 60: the kernel may swap the server's memory out to keep page cache");
        assert_eq!(
            finding.host_actions[0].action,
            "vm.swappiness = 1 in /etc/sysctl.d/90-dbdyno.conf"
        );
    }

    #[test]
    fn zero_is_found() {
        assert!(
            finding(&RULE, &with_swappiness(0))
                .message
                .contains("out-of-memory")
        );
    }

    #[test]
    fn one_is_fine() {
        ok(&RULE, &with_swappiness(1));
    }

    #[test]
    fn compressed_memory_is_not_applicable() {
        let mut facts = with_swappiness(100);
        let memory = &mut facts.host.as_mut().unwrap().memory;
        memory.swap_devices = Fact::known(vec!["/dev/zram0".to_owned()], "/proc/swaps");
        assert!(not_applicable(&RULE, &facts).contains("zram"));
        let memory = &mut facts.host.as_mut().unwrap().memory;
        memory.swap_devices = Fact::known(vec!["/dev/sda2".to_owned()], "/proc/swaps");
        finding(&RULE, &facts);
        facts.host.as_mut().unwrap().memory.zswap = Fact::known(true, "zswap");
        assert!(not_applicable(&RULE, &facts).contains("zswap"));
    }

    #[test]
    fn what_was_not_read_is_unknown() {
        let mut facts = with_swappiness(60);
        facts.host.as_mut().unwrap().sysctl.remove("vm.swappiness");
        assert_eq!(unknown(&RULE, &facts), "vm.swappiness: not collected");
    }

    #[test]
    fn no_swap_is_not_applicable() {
        not_applicable(&RULE, &healthy());
    }
}
