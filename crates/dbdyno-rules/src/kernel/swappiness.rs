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
//! Hosts without swap.
//!
//! ## Sources
//! - <https://docs.kernel.org/admin-guide/sysctl/vm.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

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
        .host_action(
            "vm.swappiness = 1 in /etc/sysctl.d/90-dbdyno.conf",
            Needs::Online,
        )
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, not_applicable, ok};
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
    fn no_swap_is_not_applicable() {
        not_applicable(&RULE, &healthy());
    }
}
