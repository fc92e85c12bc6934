//! A CPU frequency governor that waits for load before it raises the clock.
//!
//! ## What it finds
//! CPUs under the governors `ondemand`, `conservative`, `schedutil` or `userspace`, under `powersave`
//! of a driver that takes it literally, or with an energy preference below `balance_performance`
//! where the processor scales itself (intel_pstate and amd-pstate in their active modes).
//!
//! ## Why it matters
//! A database at low concurrency works in bursts of microseconds between waits for disk and
//! network. A governor that looks at the load of the last milliseconds sees an idle CPU and keeps
//! the clock low just when a query comes. Under `userspace` the clock stays where some program has
//! set it.
//!
//! ## What to do
//! Choose the governor `performance`, by tuned or cpupower; where the processor scales itself, the
//! energy preference `performance`.
//!
//! ## Risk
//! None to data. Power and heat.
//!
//! ## When it does not apply
//! Virtual machines without cpufreq: the hypervisor owns the clock. Under intel_pstate and
//! amd-pstate `powersave` is not the old slowest clock: with hardware-managed states the energy
//! preference decides, and without them the rule is not assessed.
//!
//! ## Sources
//! - <https://docs.kernel.org/admin-guide/pm/cpufreq.html>
//! - <https://docs.kernel.org/admin-guide/pm/intel_pstate.html>
//! - <https://docs.kernel.org/admin-guide/pm/amd-pstate.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::host::Host;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use crate::rule::{FindingExt, Rule, host, need_ref, settle};

pub(super) const RULE: Rule = Rule {
    id: "hardware.cpu_governor",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &[
        "https://docs.kernel.org/admin-guide/pm/cpufreq.html",
        "https://docs.kernel.org/admin-guide/pm/intel_pstate.html",
        "https://docs.kernel.org/admin-guide/pm/amd-pstate.html",
    ],
    check,
    source_text: include_str!("cpu_governor.rs"),
};

const LOAD_DRIVEN: [&str; 3] = ["ondemand", "conservative", "schedutil"];
/// Leaves the clock to some program.
const SET_BY_PROGRAM: &str = "userspace";
/// Drivers under which the processor chooses its clock.
const SELF_SCALING: [&str; 2] = ["intel_pstate", "amd-pstate-epp"];
const FAST: [&str; 2] = ["performance", "balance_performance"];

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
        .find(|name| LOAD_DRIVEN.contains(&name.as_str()) || name.as_str() == SET_BY_PROGRAM)
    {
        let clock = if slow == SET_BY_PROGRAM {
            "the clock stays where a program has set it"
        } else {
            "the clock rises only after load was seen"
        };
        return Ok(RULE
            .finding(format!("the CPU frequency governor is {slow}: {clock}"))
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
        Some(other) => under_powersave(host, other),
    }
}

/// What `powersave` means depends on who carries it out.
fn under_powersave(host: &Host, governor: &str) -> Result<Outcome, Outcome> {
    let drivers = need_ref(&host.frequency_drivers, "scaling_driver")?;
    let finding = if drivers
        .iter()
        .all(|driver| SELF_SCALING.contains(&driver.as_str()))
    {
        let preferences = need_ref(&host.energy_preferences, "energy_performance_preference")?;
        let slow = preferences
            .iter()
            .find(|preference| !FAST.contains(&preference.as_str()));
        let Some(slow) = slow else {
            return Ok(Outcome::Ok);
        };
        RULE.finding(format!(
            "the processor's energy preference is {slow}: it holds the clock back under short bursts"
        ))
        .evidence(
            "energy_performance_preference",
            preferences.join(", "),
            &host.energy_preferences.origin,
        )
        .host_action(
            "echo performance | tee \
             /sys/devices/system/cpu/cpufreq/policy*/energy_performance_preference, and to keep \
             it: tuned-adm profile throughput-performance",
            Needs::Online,
        )
    } else {
        RULE.finding(format!(
            "the CPU frequency governor is {governor} under {}: the clock stays at its lowest",
            drivers.join(", ")
        ))
        .evidence(
            "scaling_driver",
            drivers.join(", "),
            &host.frequency_drivers.origin,
        )
        .host_action(
            "tuned-adm profile throughput-performance, or cpupower frequency-set -g performance",
            Needs::Online,
        )
    };
    Ok(finding.into_outcome())
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
    fn a_clock_that_a_program_sets_does_not_follow_the_load() {
        let finding = finding(&RULE, &with_governors(&["userspace"]));
        insta::assert_snapshot!(finding.message, @"the CPU frequency governor is userspace: the clock stays where a program has set it");
    }

    #[test]
    fn performance_is_fine() {
        ok(&RULE, &with_governors(&["performance"]));
    }

    #[test]
    fn powersave_depends_on_the_driver() {
        assert!(unknown(&RULE, &with_governors(&["powersave"])).starts_with("scaling_driver"));
    }

    fn powersave(driver: &str, preferences: &[&str]) -> Facts {
        let mut facts = with_governors(&["powersave"]);
        let host = facts.host.as_mut().unwrap();
        host.frequency_drivers = Fact::known(vec![driver.to_owned()], "scaling_driver");
        if !preferences.is_empty() {
            let all = preferences.iter().map(|name| (*name).to_owned()).collect();
            host.energy_preferences = Fact::known(all, "energy_performance_preference");
        }
        facts
    }

    #[test]
    fn where_the_processor_scales_itself_its_preference_decides() {
        let slow = powersave("intel_pstate", &["balance_performance", "power"]);
        let finding = finding(&RULE, &slow);
        insta::assert_snapshot!(finding.message, @"the processor's energy preference is power: it holds the clock back under short bursts");
        ok(&RULE, &powersave("intel_pstate", &["balance_performance"]));
        ok(&RULE, &powersave("amd-pstate-epp", &["performance"]));
        assert_eq!(
            unknown(&RULE, &powersave("intel_pstate", &[])),
            "energy_performance_preference: not collected"
        );
    }

    #[test]
    fn elsewhere_powersave_is_the_lowest_clock() {
        let finding = finding(&RULE, &powersave("acpi-cpufreq", &[]));
        insta::assert_snapshot!(finding.message, @"the CPU frequency governor is powersave under acpi-cpufreq: the clock stays at its lowest");
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
