//! A CPU frequency governor that waits for load before it raises the clock.
//!
//! ## What it finds
//! CPUs under the governors `ondemand`, `conservative`, `schedutil` or `userspace`.
//!
//! ## Why it matters
//! A database at low concurrency works in bursts of microseconds between waits for disk and
//! network. A governor that looks at the load of the last milliseconds sees an idle CPU and keeps
//! the clock low just when a query comes.
//!
//! ## What to do
//! Choose the governor `performance`, by tuned or cpupower.
//!
//! ## Risk
//! None to data. Power and heat.
//!
//! ## When it does not apply
//! Virtual machines without cpufreq: the hypervisor owns the clock. `powersave` is not assessed:
//! under intel_pstate and amd-pstate with hardware-managed states it is not the old slowest clock,
//! and the driver and its energy preference are not collected.
//!
//! ## Sources
//! - <https://docs.kernel.org/admin-guide/pm/cpufreq.html> (unverified)

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use crate::rule::{FindingExt, Rule, host, need_ref, settle};

pub(super) const RULE: Rule = Rule {
    id: "hardware.cpu_governor",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &["https://docs.kernel.org/admin-guide/pm/cpufreq.html (unverified)"],
    check,
    source_text: include_str!("cpu_governor.rs"),
};

const LOAD_DRIVEN: [&str; 4] = ["ondemand", "conservative", "schedutil", "userspace"];

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let host = host(facts)?;
    let virtual_kind = host.virtualisation.value().map(|v| v.kind.as_str());
    if let (None, Some(kind)) = (host.governors.value(), virtual_kind)
        && kind != "none"
    {
        return Err(Outcome::NotApplicable(format!(
            "the hypervisor ({kind}) owns the CPU frequency"
        )));
    }
    let governors = need_ref(&host.governors, "CPU frequency governors")?;
    if let Some(slow) = governors
        .iter()
        .find(|name| LOAD_DRIVEN.contains(&name.as_str()))
    {
        return Ok(RULE
            .finding(format!(
                "the CPU frequency governor is {slow}: the clock rises only after load was seen"
            ))
            .evidence(
                "scaling_governor",
                governors.join(", "),
                &host.governors.origin,
            )
            .host_action(
                "tuned-adm profile throughput-performance, or cpupower frequency-set -g \
                 performance",
                Needs::Online,
            )
            .into_outcome());
    }
    match governors.iter().find(|name| *name != "performance") {
        None if !governors.is_empty() => Ok(Outcome::Ok),
        None => Err(Outcome::Unknown(
            "CPU frequency governors: none is listed".to_owned(),
        )),
        Some(other) => Err(Outcome::Unknown(format!(
            "scaling_driver and energy_performance_preference: not collected, and what {other} \
             means depends on them"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, not_applicable, ok, unknown};
    use dbdyno_model::host::Virtualisation;
    use dbdyno_model::{Fact, Facts};

    fn with_governors(names: &[&str]) -> Facts {
        let mut facts = healthy();
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        facts.host.as_mut().unwrap().governors = Fact::known(names, "scaling_governor");
        facts
    }

    #[test]
    fn one_load_driven_governor_is_enough() {
        let finding = finding(&RULE, &with_governors(&["performance", "schedutil"]));
        insta::assert_snapshot!(finding.message, @"the CPU frequency governor is schedutil: the clock rises only after load was seen");
    }

    #[test]
    fn performance_is_fine() {
        ok(&RULE, &with_governors(&["performance"]));
    }

    #[test]
    fn powersave_depends_on_the_driver() {
        assert!(unknown(&RULE, &with_governors(&["powersave"])).starts_with("scaling_driver"));
    }

    #[test]
    fn no_cpufreq_is_the_hypervisors_business_and_unknown_on_bare_metal() {
        let mut facts = healthy();
        assert!(not_applicable(&RULE, &facts).contains("kvm"));
        let kind = "none".to_owned();
        let bare_metal = Fact::known(Virtualisation { kind }, "/proc/cpuinfo");
        facts.host.as_mut().unwrap().virtualisation = bare_metal;
        assert_eq!(
            unknown(&RULE, &facts),
            "CPU frequency governors: no such file"
        );
    }
}
