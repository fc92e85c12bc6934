//! The kernel reads the time from a slow clock.
//!
//! ## What it finds
//! A clocksource of `hpet`, `acpi_pm`, `pit` or `jiffies`; on Amazon EC2 also `xen`.
//!
//! ## Why it matters
//! `track_io_timing` and `EXPLAIN ANALYZE` read the clock around every block and every row. From
//! the TSC that costs some tens of nanoseconds; from a timer behind the chipset about a
//! microsecond. In the manual's example `EXPLAIN ANALYZE` of a count then takes 116 ms, with the TSC
//! 17, and the count alone 10. On the older instances of EC2, which run on Xen, each look at its clock is
//! a system call, which has been seen among the first in profiles of PostgreSQL.
//!
//! ## What to do
//! Choose `tsc` where the kernel lists it among the available ones, on virtual machines the
//! hypervisor's own (`kvm-clock`, Hyper-V's). Measure with pg_test_timing before and after.
//!
//! ## Risk
//! The kernel leaves the TSC when it drifts between CPUs; it is then not listed, and must not be
//! forced.
//!
//! ## When it does not apply
//! All other clocksources pass, and `xen` on other hypervisors than Amazon's.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/pgtesttiming.html>
//! - <https://heapanalytics.com/blog/engineering/clocksource-aws-ec2-vdso>

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use crate::paste::PasteExt;
use crate::rule::{FindingExt, Rule, host, need_ref, settle};

pub(super) const RULE: Rule = Rule {
    id: "kernel.clocksource",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &[
        "https://www.postgresql.org/docs/current/pgtesttiming.html",
        "https://heapanalytics.com/blog/engineering/clocksource-aws-ec2-vdso",
    ],
    check,
    source_text: include_str!("clocksource.rs"),
};

const SLOW: [&str; 4] = ["hpet", "acpi_pm", "pit", "jiffies"];

const CLOCKS: &str = "/sys/devices/system/clocksource/clocksource0";

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let host = host(facts)?;
    let fact = &host.clocksource;
    let clocksource = need_ref(fact, "clocksource")?;
    let is_system_call =
        clocksource == "xen" && need_ref(&host.virtualisation, "virtualisation")?.kind == "amazon";
    if !is_system_call && !SLOW.contains(&clocksource.as_str()) {
        return Ok(Outcome::Ok);
    }
    let timing = facts
        .postgres
        .as_ref()
        .and_then(|server| server.is_on("track_io_timing"));
    let cost = match timing {
        _ if is_system_call => "on Amazon EC2 each look at it is a system call",
        Some(true) => "track_io_timing reads it around every block",
        _ => "timing of blocks and rows would cost about a microsecond each",
    };
    Ok(RULE
        .finding(format!("the clocksource is {clocksource}: {cost}"))
        .evidence("clocksource", clocksource, &fact.origin)
        .host_action(
            "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource where \
             available_clocksource lists it, and clocksource=tsc on the kernel's command line",
            Needs::Online,
        )
        .run([format!(
            "grep -qw tsc {CLOCKS}/available_clocksource && echo tsc > {CLOCKS}/current_clocksource"
        )])
        .host_action(
            "and to keep it, where that succeeded: clocksource=tsc on the kernel's command line",
            Needs::Reboot,
        )
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, ok, set, unknown};
    use dbdyno_model::host::Virtualisation;
    use dbdyno_model::{Fact, Facts};

    fn with_clock(name: &str) -> Facts {
        let mut facts = healthy();
        facts.host.as_mut().unwrap().clocksource = Fact::known(name.to_owned(), "clocksource0");
        facts
    }

    #[test]
    fn hpet_is_found() {
        let mut facts = with_clock("hpet");
        insta::assert_snapshot!(finding(&RULE, &facts).message, @"the clocksource is hpet: timing of blocks and rows would cost about a microsecond each");
        set(&mut facts, "track_io_timing", "on");
        assert!(
            finding(&RULE, &facts)
                .message
                .ends_with("reads it around every block")
        );
    }

    #[test]
    fn the_clock_of_xen_is_slow_on_amazons() {
        let on = |kind: &str| {
            let mut facts = with_clock("xen");
            let kind = kind.to_owned();
            let found = Fact::known(Virtualisation { kind }, "/sys/class/dmi/id");
            facts.host.as_mut().unwrap().virtualisation = found;
            facts
        };
        assert_eq!(
            finding(&RULE, &on("amazon")).message,
            "the clocksource is xen: on Amazon EC2 each look at it is a system call"
        );
        ok(&RULE, &on("xen"));
        let mut facts = on("amazon");
        facts.host.as_mut().unwrap().virtualisation = Fact::default();
        assert_eq!(unknown(&RULE, &facts), "virtualisation: not collected");
    }

    #[test]
    fn tsc_and_the_hypervisors_clock_are_fine() {
        ok(&RULE, &with_clock("tsc"));
        ok(&RULE, &healthy());
    }

    #[test]
    fn a_clock_that_was_not_read_is_unknown() {
        let mut facts = healthy();
        facts.host.as_mut().unwrap().clocksource = Fact::default();
        assert_eq!(unknown(&RULE, &facts), "clocksource: not collected");
    }
}
