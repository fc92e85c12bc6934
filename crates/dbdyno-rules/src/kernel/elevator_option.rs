//! The kernel's command line names an I/O scheduler that nobody reads.
//!
//! ## What it finds
//! `elevator=` on the command line of Linux 5.0 or later.
//!
//! ## Why it matters
//! The option chose the scheduler of the old single-queue layer. That layer went with Linux 5.0, and
//! the option has had no effect since; newer kernels say so in their log. Whoever set it believes in
//! a scheduler that the disks do not have.
//!
//! ## What to do
//! Remove it from the boot loader's configuration and set the scheduler by a udev rule
//! (kernel.scheduler says which).
//!
//! ## Risk
//! None.
//!
//! ## When it does not apply
//! Older kernels, and command lines without it.
//!
//! ## Sources
//! - <https://github.com/torvalds/linux/commit/85c0a037dc7a1a34d6add49d6eaa2deddbf43d7b>
//! - <https://github.com/torvalds/linux/commit/f8db383507d658c5a729b062c97710efda876cd4>
//! - <https://docs.kernel.org/block/switching-sched.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use crate::rule::{FindingExt, Rule, host, kernel_version, need_ref, settle};

pub(super) const RULE: Rule = Rule {
    id: "kernel.elevator_option",
    severity: Severity::Info,
    confidence: Confidence::High,
    sources: &[
        "https://github.com/torvalds/linux/commit/85c0a037dc7a1a34d6add49d6eaa2deddbf43d7b",
        "https://github.com/torvalds/linux/commit/f8db383507d658c5a729b062c97710efda876cd4",
        "https://docs.kernel.org/block/switching-sched.html",
    ],
    check,
    source_text: include_str!("elevator_option.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let host = host(facts)?;
    let options = need_ref(&host.kernel_options, "the kernel's command line")?;
    let Some(option) = options.iter().find(|one| one.starts_with("elevator=")) else {
        return Ok(Outcome::Ok);
    };
    let release = need_ref(&host.kernel_release, "kernel release")?;
    if kernel_version(release).is_some_and(|version| version < (5, 0)) {
        return Err(Outcome::NotApplicable(format!(
            "Linux {release} still reads it for disks with one queue"
        )));
    }
    Ok(RULE
        .finding(format!(
            "{option} on the kernel's command line has no effect under Linux {release}"
        ))
        .evidence("kernel option", option, &host.kernel_options.origin)
        .host_action(
            format!(
                "remove {option} from the kernel's command line: grubby --update-kernel=ALL \
                 --remove-args={option} (Red Hat), or from GRUB_CMDLINE_LINUX in /etc/default/grub and \
                 update-grub (Debian, Ubuntu), grub2-mkconfig -o /boot/grub2/grub.cfg (SUSE)"
            ),
            Needs::Reboot,
        )
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, host, not_applicable, ok, unknown};
    use dbdyno_model::{Fact, Facts};

    fn booted_with(options: &[&str], release: &str) -> Facts {
        let mut facts = healthy();
        let host = host(&mut facts);
        let options = options.iter().map(|one| (*one).to_owned()).collect();
        host.kernel_options = Fact::known(options, "/proc/cmdline");
        host.kernel_release = Fact::known(release.to_owned(), "osrelease");
        facts
    }

    #[test]
    fn a_dead_option_is_found() {
        let finding = finding(&RULE, &booted_with(&["elevator=noop"], "6.1.0"));
        insta::assert_snapshot!(finding.message, @"elevator=noop on the kernel's command line has no effect under Linux 6.1.0");
    }

    #[test]
    fn other_options_are_fine() {
        ok(
            &RULE,
            &booted_with(&["transparent_hugepage=never"], "6.1.0"),
        );
    }

    #[test]
    fn an_old_kernel_is_not_applicable_and_an_unread_line_unknown() {
        not_applicable(
            &RULE,
            &booted_with(&["elevator=deadline"], "4.18.0-553.el8"),
        );
        assert_eq!(
            unknown(&RULE, &healthy()),
            "the kernel's command line: not collected"
        );
    }
}
