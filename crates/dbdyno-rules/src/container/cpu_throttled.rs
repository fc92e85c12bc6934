//! The CPU quota of the server's cgroup stops it again and again.
//!
//! ## What it finds
//! More than 5 % of a quota's periods, since its cgroup was made, in which the group had used its
//! share up and was stopped; at least 600 periods (a minute at the usual 100 ms). Every group above
//! the server counts: a pod's or a slice's quota stops it like its own.
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
use dbdyno_model::host::{CpuQuota, Host, Throttling};
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
    let host = host(facts)?;
    let cpu = &host.cpu;
    let quotas = need_ref(&cpu.quotas, "CPU quotas of the cgroups")?;
    let Some(quota) = quotas.iter().min_by(|a, b| a.cpus.total_cmp(&b.cpus)) else {
        return Err(Outcome::NotApplicable(
            "no cgroup has a CPU quota".to_owned(),
        ));
    };
    let (quota, throttling, origin) = match worst(host, quotas) {
        Some(found) => found,
        // The group with the quota shows too little; the server's own counters are better than none.
        None => (
            quota,
            need(&cpu.throttling, "CPU throttling")?,
            cpu.throttling.origin.clone(),
        ),
    };
    if throttling.periods < ENOUGH_PERIODS {
        return Err(Outcome::Unknown(format!(
            "CPU throttling: {} periods were counted, fewer than {ENOUGH_PERIODS}; the quota is on {}",
            throttling.periods, quota.cgroup
        )));
    }
    let share = share(&throttling);
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
        .evidence("nr_periods", throttling.periods, &origin)
        .evidence("nr_throttled", throttling.throttled, &origin)
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

/// The quota that stops the server most, of those whose group shows its counters.
fn worst<'a>(host: &'a Host, quotas: &'a [CpuQuota]) -> Option<(&'a CpuQuota, Throttling, String)> {
    let groups = host.cgroups.value()?;
    quotas
        .iter()
        .filter_map(|quota| {
            let group = groups.iter().find(|group| group.cgroup == quota.cgroup)?;
            let origin = format!("{}/cpu.stat", group.cgroup);
            Some((quota, group.throttling?, origin))
        })
        .filter(|(_, throttling, _)| throttling.periods >= ENOUGH_PERIODS)
        .max_by(|(_, a, _), (_, b, _)| share(a).total_cmp(&share(b)))
}

fn share(throttling: &Throttling) -> f64 {
    throttling.throttled as f64 / throttling.periods.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, not_applicable, ok, unknown};
    use dbdyno_model::host::{Cgroup, CpuQuota, Throttling};
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
    fn a_group_above_the_server_counts_with_its_own_counters() {
        let mut facts = throttled(6_000, 0);
        let host = facts.host.as_mut().unwrap();
        let quota = |cgroup: &str, cpus| CpuQuota {
            cgroup: cgroup.to_owned(),
            cpus,
        };
        host.cpu.quotas = Fact::known(vec![quota("/pod/db", 2.0), quota("/pod", 4.0)], "cgroup");
        let group = |cgroup: &str, throttled| Cgroup {
            cgroup: cgroup.to_owned(),
            throttling: Some(Throttling {
                periods: 6_000,
                throttled,
            }),
            ..Cgroup::default()
        };
        let groups = vec![group("/pod/db", 10), group("/pod", 1_500)];
        host.cgroups = Fact::known(groups, "control groups");
        let finding = finding(&RULE, &facts);
        insta::assert_snapshot!(finding.message, @"the quota of 4 CPUs on cgroup /pod stopped the server in 25 % of 6000 periods");
        assert_eq!(finding.evidence[0].origin, "/pod/cpu.stat");
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
