//! One limit on dirty pages is configured in both its forms.
//!
//! ## What it finds
//! `vm.dirty_ratio` and `vm.dirty_bytes`, or the two background limits, both set by files of
//! sysctl.d or by tuned's profile.
//!
//! ## Why it matters
//! Only one form is in force: writing one sets the other to 0. Which of the two the kernel has after
//! a boot depends on the order of file names, not on what anybody meant, and the losing line goes on
//! looking as if it counted.
//!
//! ## What to do
//! Keep one form, and remove the line of the other.
//!
//! ## Risk
//! None to data.
//!
//! ## When it does not apply
//! Containers. A line that sets 0 leaves that form to the other one and is not counted, nor is one
//! of tuned's that only raises or lowers what is there. A line of the owner's that is applied after
//! one of a package or of tuned's profile is meant to replace it.
//!
//! ## Sources
//! - <https://docs.kernel.org/admin-guide/sysctl/vm.html>
//! - <https://man7.org/linux/man-pages/man5/sysctl.d.5.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use super::owners::{Assignment, assignments};
use crate::paste::PasteExt;
use crate::rule::{FindingExt, Rule, host, settle};

pub(super) const RULE: Rule = Rule {
    id: "kernel.dirty_both_forms",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &[
        "https://docs.kernel.org/admin-guide/sysctl/vm.html",
        "https://man7.org/linux/man-pages/man5/sysctl.d.5.html",
    ],
    check,
    source_text: include_str!("dirty_both_forms.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let all = assignments(host(facts)?)?;
    for stem in ["vm.dirty", "vm.dirty_background"] {
        let of = |form: &str| {
            let name = format!("{stem}_{form}");
            all.iter()
                .enumerate()
                .rfind(|(_, one)| one.name == name && one.value != "0" && one.sign.is_none())
        };
        if let (Some(ratio), Some(bytes)) = (of("ratio"), of("bytes")) {
            let (winner, loser) = if ratio.0 > bytes.0 {
                (ratio.1, bytes.1)
            } else {
                (bytes.1, ratio.1)
            };
            if winner.is_line_of_owner() && !loser.is_line_of_owner() {
                continue;
            }
            return Ok(both(winner, loser));
        }
    }
    Ok(Outcome::Ok)
}

fn both(winner: &Assignment, loser: &Assignment) -> Outcome {
    RULE.finding(format!(
        "{} = {} ({}) is written over by {} = {} ({}): each sets the other to 0, and the last one \
         wins",
        loser.name, loser.value, loser.place, winner.name, winner.value, winner.place
    ))
    .evidence(&loser.name, &loser.value, &loser.place)
    .evidence(&winner.name, &winner.value, &winner.place)
    .host_action(
        format!("remove {} from {}", loser.name, loser.place),
        Needs::Online,
    )
    .run(loser.commented())
    .into_outcome()
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::kernel::owners::tests::configured;
    use crate::testing::{finding, healthy, host, not_applicable, ok, unknown};
    use dbdyno_model::Fact;

    #[test]
    fn the_line_that_loses_is_named() {
        let facts = configured(
            &[("vm.dirty_bytes", "536870912"), ("vm.dirty_ratio", "15")],
            &[],
            true,
        );
        let finding = finding(&RULE, &facts);
        insta::assert_snapshot!(finding.message, @"vm.dirty_bytes = 536870912 (/etc/sysctl.d/50-site.conf:1) is written over by vm.dirty_ratio = 15 (/etc/sysctl.d/50-site.conf:2): each sets the other to 0, and the last one wins");
        assert_eq!(
            finding.host_actions[0].action,
            "remove vm.dirty_bytes from /etc/sysctl.d/50-site.conf:1"
        );
        assert_eq!(
            finding.host_actions[0].commands,
            ["sed -i --follow-symlinks '1{/vm.dirty_bytes/s/^/# /;}' /etc/sysctl.d/50-site.conf"]
        );
    }

    #[test]
    fn tuned_counts_as_a_writer() {
        let facts = configured(
            &[("vm.dirty_background_ratio", "5")],
            &[("vm", "dirty_background_bytes", "67108864")],
            false,
        );
        let message = finding(&RULE, &facts).message;
        assert!(message.contains("by vm.dirty_background_bytes = 67108864 (tuned's /usr/lib"));
    }

    #[test]
    fn what_the_owner_puts_behind_a_profile_replaces_it() {
        let bytes = [("vm.dirty_bytes", "536870912")];
        let ratio = [("vm", "dirty_ratio", "30")];
        ok(&RULE, &configured(&bytes, &ratio, true));
        finding(&RULE, &configured(&bytes, &ratio, false));
    }

    #[test]
    fn one_form_is_fine_and_zero_is_none() {
        ok(
            &RULE,
            &configured(
                &[("vm.dirty_bytes", "536870912"), ("vm.dirty_ratio", "0")],
                &[],
                true,
            ),
        );
        ok(&RULE, &configured(&[], &[], true));
    }

    #[test]
    fn a_container_is_not_applicable_and_unread_files_are_unknown() {
        let mut facts = configured(&[], &[], true);
        host(&mut facts).container = Fact::known(true, "/.dockerenv");
        not_applicable(&RULE, &facts);
        assert_eq!(
            unknown(&RULE, &healthy()),
            "files of sysctl.d: not collected"
        );
    }
}
