//! Files set scheduler sysctls that the kernel no longer has.
//!
//! ## What it finds
//! `kernel.sched_latency_ns`, `sched_min_granularity_ns`, `sched_wakeup_granularity_ns`,
//! `sched_migration_cost_ns`, `sched_nr_migrate` or `sched_tunable_scaling` in a file of sysctl.d or a
//! profile of tuned's that the machine's owner wrote, under Linux 5.13 or later.
//!
//! ## Why it matters
//! They moved to debugfs in 5.13, and most of them went with the scheduler that they tuned in 6.6.
//! The lines do nothing but make `sysctl -p` fail, and whoever reads them believes that the server
//! is tuned.
//!
//! ## What to do
//! Remove the lines. Scheduler knobs of debugfs are no interface for production.
//!
//! ## Risk
//! None.
//!
//! ## When it does not apply
//! Kernels before 5.13, containers, and files of packages, whose next release drops the lines.
//!
//! ## Sources
//! - <https://github.com/torvalds/linux/commit/8a99b6833c884fa0e7919030d93fecedc69fc625>

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use super::owners::{Assignment, assignments, commented};
use crate::paste::PasteExt;
use crate::rule::{FindingExt, Rule, host, kernel_version, need_ref, settle};

pub(super) const RULE: Rule = Rule {
    id: "kernel.dead_sysctls",
    severity: Severity::Info,
    confidence: Confidence::High,
    sources: &["https://github.com/torvalds/linux/commit/8a99b6833c884fa0e7919030d93fecedc69fc625"],
    check,
    source_text: include_str!("dead_sysctls.rs"),
};

const GONE: [&str; 6] = [
    "kernel.sched_latency_ns",
    "kernel.sched_migration_cost_ns",
    "kernel.sched_min_granularity_ns",
    "kernel.sched_nr_migrate",
    "kernel.sched_tunable_scaling",
    "kernel.sched_wakeup_granularity_ns",
];
const GONE_IN: (u32, u32) = (5, 13);

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let host = host(facts)?;
    let all = assignments(host)?;
    let release = need_ref(&host.kernel_release, "kernel release")?;
    let version = kernel_version(release)
        .ok_or_else(|| Outcome::Unknown(format!("version of the kernel {release}: not clear")))?;
    if version < GONE_IN {
        return Err(Outcome::NotApplicable(format!(
            "Linux {release} still has them"
        )));
    }
    let gone: Vec<&Assignment> = all
        .iter()
        .filter(|one| GONE.contains(&one.name.as_str()) && one.is_of_owner())
        .collect();
    let mut places: Vec<String> = gone
        .iter()
        .map(|one| format!("{} ({})", one.name, one.place))
        .collect();
    places.sort();
    places.dedup();
    if places.is_empty() {
        return Ok(Outcome::Ok);
    }
    Ok(RULE
        .finding(format!(
            "Linux {release} does not have what is set here: {}",
            places.join(", ")
        ))
        .evidence("kernel release", release, &host.kernel_release.origin)
        .host_action(format!("remove {}", places.join(", ")), Needs::Online)
        .run(commented(&gone))
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::kernel::owners::tests::configured;
    use crate::testing::{finding, host, not_applicable, ok, unknown};
    use dbdyno_model::{Fact, Facts};

    fn with_kernel(release: &str) -> Facts {
        let mut facts = configured(&[("kernel.sched_migration_cost_ns", "5000000")], &[], true);
        host(&mut facts).kernel_release = Fact::known(release.to_owned(), "osrelease");
        facts
    }

    #[test]
    fn a_line_without_effect_is_found() {
        let finding = finding(&RULE, &with_kernel("6.1.0-30-amd64"));
        insta::assert_snapshot!(finding.message, @"Linux 6.1.0-30-amd64 does not have what is set here: kernel.sched_migration_cost_ns (/etc/sysctl.d/50-site.conf:1)");
    }

    #[test]
    fn a_stock_profile_of_tuned_s_is_its_packages_business() {
        let line = [("sysctl", "kernel.sched_min_granularity_ns", "10000000")];
        let mut facts = configured(&[], &line, true);
        host(&mut facts).kernel_release = Fact::known("5.15.0-130".to_owned(), "osrelease");
        ok(&RULE, &facts);
        let host = host(&mut facts);
        host.tuned = host.tuned.clone().map(|mut tuned| {
            tuned.settings[0].file = "/etc/tuned/mine/tuned.conf".to_owned();
            tuned
        });
        finding(&RULE, &facts);
    }

    #[test]
    fn older_kernels_are_not_applicable_and_odd_ones_unknown() {
        not_applicable(&RULE, &with_kernel("5.10.0-34"));
        assert!(unknown(&RULE, &with_kernel("mine")).contains("mine"));
    }

    #[test]
    fn other_lines_are_fine() {
        ok(&RULE, &configured(&[("vm.swappiness", "1")], &[], true));
    }
}
