//! The CPU quota of the server's cgroup stops it again and again.
//!
//! ## What it finds
//! More than 5 % of the quota's periods, since the cgroup was made, in which the group had used its
//! share up and was stopped; at least 600 periods (a minute at the usual 100 ms).
//!
//! ## Why it matters
//! A stopped backend keeps its locks. With a quota of two CPUs and ten running backends the share
//! of a 100 ms period is gone after 20 ms, and every session waits for the next one: the median
//! hardly moves while the tail latency grows by tens of milliseconds.
//!
//! ## What to do
//! Raise or remove the quota, or run fewer backends and parallel workers at once. For a server
//! whose latency matters, CPU shares or a cpuset do without stops.
//!
//! ## Risk
//! None to data. Neighbours on the machine get less CPU.
//!
//! ## When it does not apply
//! Where no cgroup has a CPU quota.
//!
//! ## Sources
//! - <https://docs.kernel.org/admin-guide/cgroup-v2.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use crate::rule::{FindingExt, Rule, host, humane_number, need, need_ref, settle};

pub(super) const RULE: Rule = Rule {
    id: "container.cpu_throttled",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &["https://docs.kernel.org/admin-guide/cgroup-v2.html"],
    check,
    source_text: include_str!("cpu_throttled.rs"),
};

const SHARE: f64 = 0.05;
/// Fewer say more about the start of the group than about its load.
const ENOUGH_PERIODS: u64 = 600;

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let cpu = &host(facts)?.cpu;
    let quotas = need_ref(&cpu.quotas, "CPU quotas of the cgroups")?;
    let Some(quota) = quotas.iter().min_by(|a, b| a.cpus.total_cmp(&b.cpus)) else {
        return Err(Outcome::NotApplicable(
            "no cgroup has a CPU quota".to_owned(),
        ));
    };
    let throttling = need(&cpu.throttling, "CPU throttling")?;
    if throttling.periods < ENOUGH_PERIODS {
        return Err(Outcome::Unknown(format!(
            "CPU throttling: the server's own cgroup counted {} periods, fewer than \
             {ENOUGH_PERIODS}; the quota is on {}",
            throttling.periods, quota.cgroup
        )));
    }
    let share = throttling.throttled as f64 / throttling.periods as f64;
    if share <= SHARE {
        return Ok(Outcome::Ok);
    }
    let cpus = humane_number(quota.cpus);
    Ok(RULE
        .finding(format!(
            "the quota of {cpus} CPUs on cgroup {} stopped the server in {} % of {} periods",
            quota.cgroup,
            humane_number(share * 100.0),
            throttling.periods,
        ))
        .evidence("nr_periods", throttling.periods, &cpu.throttling.origin)
        .evidence("nr_throttled", throttling.throttled, &cpu.throttling.origin)
        .evidence("CPU quota", &cpus, &cpu.quotas.origin)
        .host_action(
            format!(
                "raise the quota of cgroup {} above {cpus} CPUs or remove it (cpu.max, \
                 CPUQuota=, docker update --cpus, resources.limits.cpu)",
                quota.cgroup
            ),
            Needs::Online,
        )
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, not_applicable, ok, unknown};
    use dbdyno_model::host::{CpuQuota, Throttling};
    use dbdyno_model::{Fact, Facts};

    fn throttled(periods: u64, throttled: u64) -> Facts {
        let mut facts = healthy();
        let cpu = &mut facts.host.as_mut().unwrap().cpu;
        let quota = CpuQuota {
            cgroup: "/docker/db".to_owned(),
            cpus: 1.5,
        };
        cpu.quotas = Fact::known(vec![quota], "cgroup");
        cpu.throttling = Fact::known(Throttling { periods, throttled }, "cpu.stat");
        facts
    }

    #[test]
    fn one_period_in_eight_is_found() {
        let finding = finding(&RULE, &throttled(6_000, 750));
        insta::assert_snapshot!(finding.message, @"the quota of 1.5 CPUs on cgroup /docker/db stopped the server in 12.5 % of 6000 periods");
    }

    #[test]
    fn five_percent_are_fine() {
        ok(&RULE, &throttled(6_000, 300));
    }

    #[test]
    fn too_few_periods_say_nothing() {
        assert!(unknown(&RULE, &throttled(599, 599)).contains("599 periods"));
    }

    #[test]
    fn no_quota_is_not_applicable() {
        not_applicable(&RULE, &healthy());
    }
}
