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
//! Choose the governor `performance`; where the processor scales itself, the energy preference
//! `performance`. Where tuned is active, by a profile of one's own that includes the present one, else
//! by a unit at boot. Stock profiles for throughput do more than that: see
//! kernel.tuned_conflict.
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
use dbdyno_model::{Facts, Finding, Needs, Outcome, Severity};

use crate::paste::PasteExt;
use crate::rule::{FindingExt, Rule, host, need_ref, settle};
use crate::tuned::{ProfileLine, own_profile};

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
/// `balance_performance` as a number, of 0 (performance) to 255 (power): what else was written there is
/// shown so.
const BALANCE_PERFORMANCE: u8 = 128;
const GOVERNOR_FILE: &str = "scaling_governor";
const PREFERENCE_FILE: &str = "energy_performance_preference";
const UNIT_FILE: &str = "/etc/systemd/system/dbdyno-cpu.service";

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let host = host(facts)?;
    Ok(match slow(host)? {
        Some((finding, file)) => kept_at_performance(finding, facts, host, file).into_outcome(),
        None => Outcome::Ok,
    })
}

/// What a profile of tuned's has to say for the clock to stay up.
pub(crate) fn profile_lines(facts: &Facts) -> Vec<ProfileLine> {
    let of = |host: &Host| slow(host).ok().flatten();
    let found = facts.host.as_ref().and_then(of);
    let name = |file: &'static str| match file {
        GOVERNOR_FILE => "governor",
        other => other,
    };
    found
        .into_iter()
        .map(|(_, file)| ProfileLine {
            section: "[cpu]",
            line: format!("{}=performance", name(file)),
        })
        .collect()
}

/// What holds the clock back, and the file of each CPU that would keep it up.
fn slow(host: &Host) -> Result<Option<(Finding, &'static str)>, Outcome> {
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
        let finding = RULE
            .finding(format!("the CPU frequency governor is {slow}: {clock}"))
            .evidence(
                "scaling_governor",
                governors.join(", "),
                &host.governors.origin,
            );
        return Ok(Some((finding, GOVERNOR_FILE)));
    }
    match governors.iter().find(|name| *name != "performance") {
        None if !governors.is_empty() => Ok(None),
        None => Err(Outcome::Unknown(
            "CPU frequency governors: none is listed".to_owned(),
        )),
        Some(other) => under_powersave(host, other),
    }
}

/// What `powersave` means depends on who carries it out.
fn under_powersave(
    host: &Host,
    governor: &str,
) -> Result<Option<(Finding, &'static str)>, Outcome> {
    let drivers = need_ref(&host.frequency_drivers, "scaling_driver")?;
    let scales_itself = drivers
        .iter()
        .all(|driver| SELF_SCALING.contains(&driver.as_str()));
    let finding = if scales_itself {
        let preferences = need_ref(&host.energy_preferences, "energy_performance_preference")?;
        let slow = preferences.iter().find(|preference| !is_fast(preference));
        let Some(slow) = slow else {
            return Ok(None);
        };
        RULE.finding(format!(
            "the processor's energy preference is {slow}: it holds the clock back under short bursts"
        ))
        .evidence(
            "energy_performance_preference",
            preferences.join(", "),
            &host.energy_preferences.origin,
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
    };
    let file = if scales_itself {
        PREFERENCE_FILE
    } else {
        GOVERNOR_FILE
    };
    Ok(Some((finding, file)))
}

fn is_fast(preference: &str) -> bool {
    let number = preference.parse::<u8>();
    FAST.contains(&preference) || number.is_ok_and(|number| number <= BALANCE_PERFORMANCE)
}

/// Sets it and nothing else: a stock profile of tuned's for throughput brings read-ahead, limits on
/// dirty pages and more with it.
fn kept_at_performance(finding: Finding, facts: &Facts, host: &Host, file: &str) -> Finding {
    let active = host
        .tuned
        .value()
        .and_then(|tuned| Some((tuned, tuned.profile.as_ref()?)));
    let finding = match active {
        Some((tuned, profile)) => own_profile(finding, facts, tuned, profile),
        None => {
            let set =
                format!("echo performance | tee /sys/devices/system/cpu/cpufreq/policy*/{file}");
            finding
                .host_action(
                    format!("{set}, at each boot by the unit {UNIT_FILE}"),
                    Needs::Online,
                )
                .file(
                    UNIT_FILE,
                    [
                        "[Service]".to_owned(),
                        "Type=oneshot".to_owned(),
                        format!("ExecStart=/bin/sh -c '{set}'"),
                        "[Install]".to_owned(),
                        "WantedBy=multi-user.target".to_owned(),
                    ],
                )
                .run([
                    "systemctl daemon-reload",
                    "systemctl enable --now dbdyno-cpu.service",
                ])
        }
    };
    finding.costing("power and heat")
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, not_applicable, ok, unknown};
    use dbdyno_model::host::{Tuned, Virtualisation};
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

    /// Nothing that other rules on this kernel would warn of afterwards.
    #[test]
    fn the_clock_alone_is_changed_over_the_profile_that_is_there() {
        let mut facts = with_governors(&["schedutil"]);
        let alone = finding(&RULE, &facts).host_actions.remove(0);
        assert_eq!(
            alone.files[0].file,
            "/etc/systemd/system/dbdyno-cpu.service"
        );
        let tuned = Tuned {
            profile: Some("postgresql mine".to_owned()),
            ..Tuned::default()
        };
        facts.host.as_mut().unwrap().tuned = Fact::known(tuned, "/etc/tuned/active_profile");
        let beside = finding(&RULE, &facts).host_actions.remove(0);
        assert_eq!(beside.commands, ["tuned-adm profile dbdyno"]);
        assert_eq!(
            beside.files[0].lines,
            [
                "[main]",
                "include=postgresql,mine",
                "[cpu]",
                "governor=performance"
            ]
        );
        let slow = powersave("intel_pstate", &["power"]);
        let own = finding(&RULE, &slow).host_actions.remove(0);
        assert!(own.files[0].lines[2].contains("policy*/energy_performance_preference"));
        for action in [alone, beside, own] {
            assert!(!action.action.contains("throughput"), "{}", action.action);
        }
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
        // A number that was written there is read back as it is.
        ok(&RULE, &powersave("intel_pstate", &["64"]));
        assert!(
            super::slow(powersave("intel_pstate", &["192"]).host.as_ref().unwrap())
                .is_ok_and(|slow| slow.is_some())
        );
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
