//! A kernel setting is not what the machine's files will make it at the next boot.
//!
//! ## What it finds
//! Settings that a file of sysctl.d or tuned's profile assigns, and that have another value now.
//!
//! ## Why it matters
//! Somebody changed the value by hand, a later program wrote over it, or the file was changed and
//! never applied. Either the server runs without what the file promises, or it will lose at the next
//! boot what it runs with now.
//!
//! ## What to do
//! Decide which of the two is right: apply the files, or write the present value into the file that
//! wins.
//!
//! ## Risk
//! None to data. Applying the files changes every setting in them.
//!
//! ## When it does not apply
//! Containers, and settings that dbdyno does not read. Limits on dirty pages that are set in both
//! forms are kernel.dirty_both_forms'.
//!
//! ## Sources
//! - <https://man7.org/linux/man-pages/man5/sysctl.d.5.html>

use std::collections::BTreeSet;

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use super::next_boot::other_form;
use super::owners::{Assignment, assignments, last};
use crate::paste::PasteExt;
use crate::rule::{FindingExt, Rule, host, settle};

pub(super) const RULE: Rule = Rule {
    id: "kernel.sysctl_drift",
    severity: Severity::Warn,
    confidence: Confidence::Medium,
    sources: &["https://man7.org/linux/man-pages/man5/sysctl.d.5.html"],
    check,
    source_text: include_str!("sysctl_drift.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let host = host(facts)?;
    let all = assignments(host)?;
    let names: BTreeSet<&str> = all.iter().map(|one| one.name.as_str()).collect();
    let mut drifted: Vec<(Assignment, i64, &str)> = Vec::new();
    for name in names {
        if has_other_form(&all, name) {
            continue;
        }
        let (Some(wanted), Some(fact)) = (last(&all, name), host.sysctl.get(name)) else {
            continue;
        };
        if let (Ok(_), Some(now)) = (wanted.value.parse::<i64>(), fact.get())
            && wanted.changes(&now.to_string())
        {
            drifted.push((wanted, now, fact.origin.as_str()));
        }
    }
    if drifted.is_empty() {
        return Ok(Outcome::Ok);
    }
    let words: Vec<String> = drifted
        .iter()
        .map(|(wanted, now, _)| {
            format!(
                "{} is {now}, and {} makes it {}",
                wanted.name, wanted.place, wanted.value
            )
        })
        .collect();
    let mut finding = RULE.finding(format!(
        "the kernel has other values than the next boot: {}",
        words.join("; ")
    ));
    for (wanted, now, origin) in &drifted {
        finding = finding.evidence(&wanted.name, now, *origin);
    }
    let lines: Vec<String> = drifted
        .iter()
        .map(|(wanted, now, _)| format!("{} = {now}", wanted.name))
        .collect();
    let mut commands = vec!["sysctl --system"];
    if drifted.iter().any(|(wanted, ..)| wanted.by_tuned) {
        commands.push("systemctl restart tuned");
    }
    Ok(finding
        .host_action(
            format!("apply the files: {}", commands.join(" && ")),
            Needs::Online,
        )
        .run(commands)
        .costing("every value of those files is set now, not only these")
        .host_action(
            format!(
                "or run none of that and keep what is: {} in a file of /etc/sysctl.d that sorts last",
                lines.join(", ")
            ),
            Needs::Online,
        )
        .into_outcome())
}

/// Whether the other form of a limit on dirty pages is assigned too: the one sets the other to 0.
fn has_other_form(all: &[Assignment], name: &str) -> bool {
    other_form(name).is_some_and(|other| last(all, &other).is_some())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::kernel::owners::tests::configured;
    use crate::testing::{finding, healthy, host, not_applicable, ok, unknown};
    use dbdyno_model::Fact;

    #[test]
    fn a_value_that_the_next_boot_changes_is_found() {
        // The captured machine has 60.
        let finding = finding(&RULE, &configured(&[("vm.swappiness", "1")], &[], true));
        insta::assert_snapshot!(finding.message, @"the kernel has other values than the next boot: vm.swappiness is 60, and /etc/sysctl.d/50-site.conf:1 makes it 1");
        assert_eq!(
            finding.host_actions[0].gives_up.as_deref(),
            Some("every value of those files is set now, not only these")
        );
        let other = &finding.host_actions[1];
        assert_eq!(
            other.action,
            "or run none of that and keep what is: vm.swappiness = 60 in a file of /etc/sysctl.d \
             that sorts last"
        );
        assert!(other.commands.is_empty());
    }

    #[test]
    fn a_profile_that_only_raises_is_content_with_more() {
        // The stock profile of a Red Hat has this, and the kernel's own value is 4096.
        let mut facts = configured(&[], &[("sysctl", "net.core.somaxconn", ">2048")], true);
        let backlog = |now| Fact::known(now, "/proc/sys/net/core/somaxconn");
        let name = "net.core.somaxconn".to_owned();
        host(&mut facts).sysctl.insert(name.clone(), backlog(4096));
        ok(&RULE, &facts);
        host(&mut facts).sysctl.insert(name, backlog(128));
        assert!(
            finding(&RULE, &facts)
                .message
                .contains("net.core.somaxconn is 128, and tuned's")
        );
    }

    #[test]
    fn the_last_file_and_values_that_are_not_read_decide_nothing() {
        ok(
            &RULE,
            &configured(
                &[
                    ("vm.swappiness", "1"),
                    ("vm.swappiness", "60"),
                    ("vm.min_free_kbytes", "1"),
                    ("kernel.sem", "1 2 3 4"),
                ],
                &[],
                true,
            ),
        );
    }

    #[test]
    fn both_forms_of_a_limit_are_another_rules() {
        ok(
            &RULE,
            &configured(
                &[("vm.dirty_ratio", "15"), ("vm.dirty_bytes", "1048576")],
                &[],
                true,
            ),
        );
    }

    #[test]
    fn a_container_is_not_applicable() {
        let mut facts = configured(&[("vm.swappiness", "1")], &[], true);
        host(&mut facts).container = Fact::known(true, "/.dockerenv");
        not_applicable(&RULE, &facts);
    }

    #[test]
    fn unread_files_are_unknown() {
        assert_eq!(
            unknown(&RULE, &healthy()),
            "files of sysctl.d: not collected"
        );
    }
}
