//! Dirty pages are written in the background too late, or never by their age.
//!
//! ## What it finds
//! `vm.dirty_background_*` at or above `vm.dirty_*`, or `vm.dirty_writeback_centisecs` of 0.
//!
//! ## Why it matters
//! Background writing must begin well before writers are stopped. Where the limits are the wrong
//! way round the kernel silently takes half of the foreground limit, which is not what the file
//! says. Without the periodic wake-up old pages stay unwritten until a limit or an fsync finds all
//! of them at once.
//!
//! ## What to do
//! Keep the background limit well below the other and the wake-up at 500 (5 s).
//!
//! ## Risk
//! None to data. A bulk load that fitted into memory waits for the disk earlier.
//!
//! ## When it does not apply
//! It always applies.
//!
//! ## Sources
//! - <https://docs.kernel.org/admin-guide/sysctl/vm.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use super::dirty_limits::{COSTS, Limit, WANTED};
use crate::paste::PasteExt;
use crate::rule::{FindingExt, Rule, host, settle, sysctl};

pub(super) const RULE: Rule = Rule {
    id: "kernel.dirty_order",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &["https://docs.kernel.org/admin-guide/sysctl/vm.html"],
    check,
    source_text: include_str!("dirty_order.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let host = host(facts)?;
    let (wake_up, origin) = sysctl(host, "vm.dirty_writeback_centisecs")?;
    if wake_up == 0 {
        return Ok(RULE
            .finding("vm.dirty_writeback_centisecs is 0: old pages are never written by age")
            .evidence("vm.dirty_writeback_centisecs", wake_up, origin)
            .sysctl(&[("vm.dirty_writeback_centisecs", 500)], Needs::Online)
            .into_outcome());
    }
    let foreground = Limit::read(host, "vm.dirty")?;
    let background = Limit::read(host, "vm.dirty_background")?;
    let in_order = match (background, foreground) {
        // Percentages of the same memory, whatever it is.
        (Limit::Percent(background), Limit::Percent(foreground)) => background < foreground,
        _ => background.bytes(host)? < foreground.bytes(host)?,
    };
    if in_order {
        return Ok(Outcome::Ok);
    }
    Ok(RULE
        .finding(format!(
            "background writing starts at {} of dirty pages but writers wait from {} on: the \
             kernel starts it at half of that",
            background.words(),
            foreground.words(),
        ))
        .evidence("vm.dirty_background", background.words(), "/proc/sys/vm")
        .evidence("vm.dirty", foreground.words(), "/proc/sys/vm")
        .sysctl(&WANTED, Needs::Online)
        .costing(COSTS)
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, ok, unknown};
    use dbdyno_model::{Fact, Facts};

    fn with(sysctls: &[(&str, i64)]) -> Facts {
        let mut facts = healthy();
        for (name, value) in sysctls {
            let fact = Fact::known(*value, "/proc/sys/vm");
            facts
                .host
                .as_mut()
                .unwrap()
                .sysctl
                .insert((*name).to_owned(), fact);
        }
        facts
    }

    #[test]
    fn a_background_limit_above_the_other_is_found() {
        // 10 % of 22 GiB against 512 MiB.
        let finding = finding(&RULE, &with(&[("vm.dirty_bytes", 512 << 20)]));
        insta::assert_snapshot!(finding.message, @"background writing starts at 10 % of dirty pages but writers wait from 512 MiB on: the kernel starts it at half of that");
    }

    #[test]
    fn equal_percentages_are_found_without_the_memory() {
        let mut facts = with(&[("vm.dirty_background_ratio", 20)]);
        facts.host.as_mut().unwrap().memory.available_bytes = Fact::default();
        finding(&RULE, &facts);
    }

    #[test]
    fn no_wake_up_is_found() {
        let finding = finding(&RULE, &with(&[("vm.dirty_writeback_centisecs", 0)]));
        assert!(
            finding.host_actions[0]
                .action
                .starts_with("vm.dirty_writeback_centisecs = 500")
        );
    }

    #[test]
    fn the_kernels_defaults_are_fine() {
        ok(&RULE, &healthy());
    }

    #[test]
    fn a_limit_that_was_not_read_is_unknown() {
        let mut facts = healthy();
        facts
            .host
            .as_mut()
            .unwrap()
            .sysctl
            .remove("vm.dirty_background_ratio");
        assert_eq!(
            unknown(&RULE, &facts),
            "vm.dirty_background_ratio: not collected"
        );
    }
}
