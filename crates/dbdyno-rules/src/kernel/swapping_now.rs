//! The host reads memory back from swap, or waits for memory.
//!
//! ## What it finds
//! At least 100 pages a second read from swap in the window, tasks that waited for memory in more than
//! 10 % of the last minute or of the window (pressure stall information), or a postmaster with more than
//! 1 % of its resident size in swap. What lasted less than a minute, and what was swapped out long ago,
//! are warned of; the rest is critical.
//!
//! ## Why it matters
//! A cache in swap is slower than no cache: a hit costs a disk read, and the kernel writes
//! something else out to make room for it. Latencies grow a thousandfold while CPU and query counts
//! look idle. Single pages that come back are those of a program that slept: the kernel reads up to eight
//! for one fault (vm.page-cluster). A hundred pages a second are a dozen to a hundred reads, as many as a
//! rotating disk makes; where fewer already hurt, the pressure shows it.
//!
//! ## What to do
//! Make the server smaller before anything else (shared_buffers, work_mem, sessions), or move the
//! backup or copy that fills the page cache.
//!
//! ## Risk
//! None to data.
//!
//! ## When it does not apply
//! It always applies; without swap, and where all of it is compressed memory (zram), which is no disk,
//! only the pressure is looked at.
//!
//! ## Sources
//! - <https://docs.kernel.org/accounting/psi.html>
//! - <https://docs.kernel.org/admin-guide/sysctl/vm.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::host::Host;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use super::swappiness::is_all_zram;
use crate::rule::{FindingExt, Rule, host, humane_bytes, humane_number, need, need_ref, settle};

pub(super) const RULE: Rule = Rule {
    id: "kernel.swapping_now",
    severity: Severity::Critical,
    confidence: Confidence::High,
    sources: &[
        "https://docs.kernel.org/accounting/psi.html",
        "https://docs.kernel.org/admin-guide/sysctl/vm.html",
    ],
    check,
    source_text: include_str!("swapping_now.rs"),
};

/// What began a moment ago may be over in another; a minute of it is thrashing.
const SUSTAINED_S: f64 = 60.0;
/// As many random reads as a rotating disk makes.
const PAGES_PER_S: f64 = 100.0;
const PRESSURE_PERCENT: f64 = 10.0;
const SWAPPED_SHARE: f64 = 0.01;

struct Sign {
    severity: Severity,
    words: String,
    fact: &'static str,
    value: String,
    origin: String,
}

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let host = host(facts)?;
    let mut looks = vec![pressure(host)];
    let has_swap = need(&host.memory.swap_total_bytes, "swap size")? > 0;
    // What comes back from zram was never on a disk; the wait for it counts as pressure.
    if has_swap && !is_all_zram(&host.memory) {
        looks.push(swapped_in(host));
        looks.push(swapped_out(host));
    }
    // One sign is enough, whatever else could not be read; none is only believed from all.
    let signs: Vec<&Sign> = looks
        .iter()
        .filter_map(|look| look.as_ref().ok()?.as_ref())
        .collect();
    let Some(severity) = signs.iter().map(|sign| sign.severity).max() else {
        return looks
            .into_iter()
            .find_map(Result::err)
            .map_or(Ok(Outcome::Ok), Err);
    };
    let words: Vec<&str> = signs.iter().map(|sign| sign.words.as_str()).collect();
    let mut finding = RULE.finding(words.join("; ")).severity(severity);
    for sign in &signs {
        finding = finding.evidence(sign.fact, &sign.value, &sign.origin);
    }
    Ok(finding
        .host_action(
            "see what takes the memory: ps -eo pid,rss,comm --sort=-rss | head; if it is the \
             server, lower shared_buffers or work_mem",
            Needs::Online,
        )
        .into_outcome())
}

fn pressure(host: &Host) -> Result<Option<Sign>, Outcome> {
    let fact = &host.pressure.memory;
    let stall = need(fact, "memory pressure")?;
    if stall.some_avg60 <= PRESSURE_PERCENT {
        return Ok(pressure_in_window(host));
    }
    let percent = humane_number(stall.some_avg60);
    Ok(Some(Sign {
        severity: Severity::Critical,
        words: format!("tasks waited for memory in {percent} % of the last minute"),
        fact: "memory some avg60",
        value: percent,
        origin: fact.origin.clone(),
    }))
}

/// What began less than a minute ago.
fn pressure_in_window(host: &Host) -> Option<Sign> {
    let window = &host.traffic;
    let stalled_us_per_s = window.rate(|traffic| {
        let stall = traffic.pressure.memory.get()?;
        Some(stall.some_total_us as f64)
    })?;
    let percent = stalled_us_per_s / 10_000.0;
    (percent > PRESSURE_PERCENT).then(|| {
        let (percent, seconds) = (humane_number(percent), humane_number(window.seconds));
        Sign {
            severity: Severity::Warn,
            words: format!("tasks waited for memory in {percent} % of the last {seconds} s"),
            fact: "memory some",
            value: percent,
            origin: host.pressure.memory.origin.clone(),
        }
    })
}

fn swapped_in(host: &Host) -> Result<Option<Sign>, Outcome> {
    let window = &host.vmstat;
    let rate = window
        .rate(|sample| sample.pswpin.map(|pages| pages as f64))
        .ok_or_else(|| Outcome::Unknown("pswpin: no two samples of it".to_owned()))?;
    Ok((rate >= PAGES_PER_S).then(|| {
        let sustained = window.seconds >= SUSTAINED_S;
        let (rate, seconds) = (humane_number(rate), humane_number(window.seconds));
        Sign {
            severity: if sustained {
                Severity::Critical
            } else {
                Severity::Warn
            },
            words: format!("{rate} pages a second came back from swap over {seconds} s"),
            fact: "pswpin per second",
            value: rate,
            origin: window.after.origin.clone(),
        }
    }))
}

fn swapped_out(host: &Host) -> Result<Option<Sign>, Outcome> {
    let process = need_ref(&host.server_process, "the server's process")?;
    let swapped = need(&process.swap_bytes, "VmSwap of the server")?;
    let resident = need(&process.resident_bytes, "VmRSS of the server")?;
    Ok(
        (swapped as f64 > resident as f64 * SWAPPED_SHARE).then(|| Sign {
            severity: Severity::Warn,
            words: format!(
                "the postmaster has {} in swap and {} in memory",
                humane_bytes(swapped),
                humane_bytes(resident)
            ),
            fact: "VmSwap",
            value: swapped.to_string(),
            origin: process.swap_bytes.origin.clone(),
        }),
    )
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, ok, unknown};
    use dbdyno_model::host::{Pressure, Sampled, Stall, Traffic, VmStat};
    use dbdyno_model::{Fact, Facts, Severity};

    fn with_swap(pages_in: u64, seconds: f64) -> Facts {
        let mut facts = healthy();
        let host = facts.host.as_mut().unwrap();
        host.memory.swap_total_bytes = Fact::known(4 << 30, "/proc/meminfo SwapTotal");
        let after = VmStat {
            pswpin: Some(pages_in),
            ..VmStat::default()
        };
        host.vmstat.after = Fact::known(after, "/proc/vmstat");
        host.vmstat.seconds = seconds;
        facts
    }

    fn pressed(mut facts: Facts) -> Facts {
        let stall = Stall {
            some_avg10: 20.0,
            some_avg60: 14.25,
            some_total_us: 9_000_000,
        };
        facts.host.as_mut().unwrap().pressure.memory = Fact::known(stall, "/proc/pressure/memory");
        facts
    }

    #[test]
    fn a_minute_of_swapping_is_critical() {
        let finding = finding(&RULE, &pressed(with_swap(15_000, 60.0)));
        insta::assert_snapshot!(finding.message, @"tasks waited for memory in 14.2 % of the last minute; 250 pages a second came back from swap over 60 s");
        assert_eq!(finding.severity, Severity::Critical);
    }

    #[test]
    fn a_second_of_it_is_warned_of() {
        let found = finding(&RULE, &with_swap(300, 1.0));
        assert_eq!(found.severity, Severity::Warn);
    }

    #[test]
    fn single_pages_that_come_back_are_no_swapping() {
        ok(&RULE, &with_swap(3, 1.0));
        ok(&RULE, &with_swap(180, 60.0));
        // Unless somebody waits for them.
        let pressed = finding(&RULE, &pressed(with_swap(3, 1.0)));
        assert_eq!(
            pressed.message,
            "tasks waited for memory in 14.2 % of the last minute"
        );
    }

    #[test]
    fn a_postmaster_in_swap_is_warned_of() {
        let mut facts = with_swap(0, 1.0);
        let host = facts.host.as_mut().unwrap();
        let mut process = host.server_process.value().unwrap().clone();
        process.swap_bytes = Fact::known(1 << 20, "/proc/4242/status VmSwap");
        host.server_process = Fact::known(process, "postmaster.pid");
        let finding = finding(&RULE, &facts);
        assert_eq!(
            finding.message,
            "the postmaster has 1 MiB in swap and 30 MiB in memory"
        );
        assert_eq!(finding.severity, Severity::Warn);
    }

    #[test]
    fn pressure_that_has_just_begun_is_warned_of() {
        let mut facts = healthy();
        let sample = |some_total_us| {
            let stall = Stall {
                some_avg10: 0.0,
                some_avg60: 0.0,
                some_total_us,
            };
            let pressure = Pressure {
                memory: Fact::known(stall, "/proc/pressure/memory"),
                ..Pressure::default()
            };
            let traffic = Traffic {
                pressure,
                ..Traffic::default()
            };
            Fact::known(traffic, "/proc/pressure")
        };
        facts.host.as_mut().unwrap().traffic = Sampled {
            before: sample(1_000),
            after: sample(501_000),
            seconds: 2.0,
        };
        let finding = finding(&RULE, &facts);
        assert_eq!(
            finding.message,
            "tasks waited for memory in 25 % of the last 2 s"
        );
        assert_eq!(finding.severity, Severity::Warn);
    }

    #[test]
    fn pressure_counts_without_swap_too() {
        finding(&RULE, &pressed(healthy()));
    }

    #[test]
    fn compressed_memory_is_no_disk() {
        let on = |device: &str| {
            let mut facts = with_swap(15_000, 60.0);
            let host = facts.host.as_mut().unwrap();
            host.memory.swap_devices = Fact::known(vec![device.to_owned()], "/proc/swaps");
            facts
        };
        ok(&RULE, &on("/dev/zram0"));
        let pressed = finding(&RULE, &pressed(on("/dev/zram0")));
        assert_eq!(
            pressed.message,
            "tasks waited for memory in 14.2 % of the last minute"
        );
        finding(&RULE, &on("/dev/sda2"));
    }

    #[test]
    fn quiet_hosts_are_fine() {
        ok(&RULE, &healthy());
        ok(&RULE, &with_swap(0, 1.0));
    }

    #[test]
    fn a_sign_that_was_not_read_is_unknown() {
        let mut facts = with_swap(0, 1.0);
        facts.host.as_mut().unwrap().vmstat.before = Fact::default();
        assert_eq!(unknown(&RULE, &facts), "pswpin: no two samples of it");
    }
}
