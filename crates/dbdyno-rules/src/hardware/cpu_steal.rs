//! The hypervisor gives this virtual machine's CPUs to others while it wants to run.
//!
//! ## What it finds
//! Steal time above 5 % of all CPU time in the window between the two samples.
//!
//! ## Why it matters
//! A stolen CPU is a stop in the middle of anything: a backend that holds a lock, the write of a
//! log record. Latencies grow from the outside, and no setting in the machine mends it;
//! measurements made meanwhile measure the neighbours.
//!
//! ## What to do
//! Move the machine to a host with free CPUs, to a type with CPUs of its own, or to a larger one
//! where its CPU credits are spent. Do not trust trials made meanwhile.
//!
//! ## Risk
//! None to data.
//!
//! ## When it does not apply
//! Machines without a hypervisor. Below five minutes the window is a sample and the confidence
//! medium.
//!
//! ## Sources
//! - <https://man7.org/linux/man-pages/man5/proc_stat.5.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use crate::rule::{FindingExt, Rule, host, humane_number, need, settle};

pub(super) const RULE: Rule = Rule {
    id: "hardware.cpu_steal",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &["https://man7.org/linux/man-pages/man5/proc_stat.5.html"],
    check,
    source_text: include_str!("cpu_steal.rs"),
};

const SHARE: f64 = 0.05;
const LONG_WINDOW_S: f64 = 300.0;

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let host = host(facts)?;
    if host
        .virtualisation
        .value()
        .is_some_and(|v| v.kind == "none")
    {
        return Err(Outcome::NotApplicable("no hypervisor".to_owned()));
    }
    let time = &host.cpu_time;
    let before = need(&time.before, "CPU time at the start of the window")?;
    let after = need(&time.after, "CPU time at the end of the window")?;
    let elapsed = after.total().checked_sub(before.total());
    let stolen = after.steal.checked_sub(before.steal);
    let (Some(elapsed @ 1..), Some(stolen)) = (elapsed, stolen) else {
        return Err(Outcome::Unknown(
            "CPU time in the window: the counters did not grow".to_owned(),
        ));
    };
    let share = stolen as f64 / elapsed as f64;
    if share <= SHARE {
        return Ok(Outcome::Ok);
    }
    let mut finding = RULE
        .finding(format!(
            "the hypervisor took {} % of the CPU time away over {} s",
            humane_number(share * 100.0),
            humane_number(time.seconds),
        ))
        .evidence("steal ticks", stolen, &time.after.origin)
        .evidence("all ticks", elapsed, &time.after.origin)
        .host_action(
            "move the machine to a host with free CPUs or to a type with dedicated ones",
            Needs::Migration,
        );
    if time.seconds < LONG_WINDOW_S {
        finding.confidence = Confidence::Medium;
    }
    Ok(finding.into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, not_applicable, ok, unknown};
    use dbdyno_model::finding::Confidence;
    use dbdyno_model::host::{CpuTime, Virtualisation};
    use dbdyno_model::{Fact, Facts};

    fn with_steal(steal: u64, seconds: f64) -> Facts {
        let mut facts = healthy();
        let time = &mut facts.host.as_mut().unwrap().cpu_time;
        time.before = Fact::known(CpuTime::default(), "/proc/stat");
        let after = CpuTime {
            user: 200,
            idle: 800 - steal,
            steal,
            ..CpuTime::default()
        };
        time.after = Fact::known(after, "/proc/stat");
        time.seconds = seconds;
        facts
    }

    #[test]
    fn a_tenth_is_found() {
        let found = finding(&RULE, &with_steal(104, 5.0));
        insta::assert_snapshot!(found.message, @"the hypervisor took 10.4 % of the CPU time away over 5 s");
        assert_eq!(found.confidence, Confidence::Medium);
        assert_eq!(
            finding(&RULE, &with_steal(104, 300.0)).confidence,
            Confidence::High
        );
    }

    #[test]
    fn five_percent_are_fine() {
        ok(&RULE, &with_steal(50, 5.0));
        ok(&RULE, &healthy());
    }

    #[test]
    fn one_sample_is_no_window() {
        let mut facts = healthy();
        facts.host.as_mut().unwrap().cpu_time.after = Fact::default();
        assert_eq!(
            unknown(&RULE, &facts),
            "CPU time at the end of the window: not collected"
        );
    }

    #[test]
    fn bare_metal_is_not_applicable() {
        let mut facts = with_steal(104, 5.0);
        let kind = "none".to_owned();
        let bare_metal = Fact::known(Virtualisation { kind }, "/proc/cpuinfo");
        facts.host.as_mut().unwrap().virtualisation = bare_metal;
        not_applicable(&RULE, &facts);
    }
}
