//! tuned's profile and other files want different things of the kernel.
//!
//! ## What it finds
//! A sysctl that tuned's active profile (with those it includes) and a file of sysctl.d set to
//! different values; a profile that switches transparent huge pages to `always` or reads more than
//! 512 KiB ahead under PostgreSQL. Where all of it is sysctls that the files win, it is only told.
//!
//! ## Why it matters
//! tuned starts late in the boot and writes over what was there. With `reapply_sysctl`, its default,
//! it then applies /etc/sysctl.d and /etc/sysctl.conf again, so that those files win; without it
//! they lose, and a value that somebody set and tested is gone after the next boot. A value that the
//! profile only raises or lowers (`>2048`) contradicts nothing that is beyond it already. What tuned
//! does to huge pages and read-ahead it does again at each start, whatever tmpfiles.d and udev rules
//! say.
//!
//! ## What to do
//! Decide on one owner: put the values into a profile of your own that includes the present one.
//!
//! ## Risk
//! None to data.
//!
//! ## When it does not apply
//! Machines without an active profile (one of a tuned that neither runs nor is started at boot is not
//! active), and containers. A profile that says otherwise than a package's file contradicts nobody.
//!
//! ## Sources
//! - <https://github.com/redhat-performance/tuned/blob/master/tuned-main.conf>

use dbdyno_model::finding::Confidence;
use dbdyno_model::host::{Host, Tuned};
use dbdyno_model::{Facts, Outcome, Severity};

use super::owners::{Assignment, Sign, assignments, of_tuned, signed};
use crate::rule::{FindingExt, Rule, host, need_ref, settle};
use crate::seen::block_devices;
use crate::tuned::{ProfileLine, own_profile};

pub(super) const RULE: Rule = Rule {
    id: "kernel.tuned_conflict",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &["https://github.com/redhat-performance/tuned/blob/master/tuned-main.conf"],
    check,
    source_text: include_str!("tuned_conflict.rs"),
};

const SYSCTLS: &str = "[sysctl]";
const MOST_READ_AHEAD_KIB: u64 = 512;
const DEFAULT_READ_AHEAD_KIB: u64 = 128;

/// One thing on which the profile and another owner differ.
struct Conflict {
    /// `vm.swappiness = 10 where /etc/sysctl.d/x.conf:3 has 1`.
    words: String,
    value: String,
    place: String,
    /// What a profile of one's own says instead.
    line: ProfileLine,
}

impl Conflict {
    fn is_sysctl(&self) -> bool {
        self.line.section == SYSCTLS
    }
}

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let host = host(facts)?;
    let all = assignments(host)?;
    let tuned = need_ref(&host.tuned, "tuned's profile")?;
    let Some(profile) = &tuned.profile else {
        return Err(Outcome::NotApplicable(
            "no profile of tuned's is active".to_owned(),
        ));
    };
    let conflicts = conflicts(facts, host, tuned, &all);
    if conflicts.is_empty() {
        return match tuned.missing.first() {
            Some(name) => Err(Outcome::Unknown(format!(
                "tuned's profile {name}: its file was not found"
            ))),
            None => Ok(Outcome::Ok),
        };
    }
    Ok(found(facts, profile, tuned, &conflicts))
}

/// What a profile of one's own has to say for the two to agree.
pub(crate) fn profile_lines(facts: &Facts) -> Vec<ProfileLine> {
    let of = |host: &Host| -> Option<Vec<Conflict>> {
        let tuned = host.tuned.value().filter(|tuned| tuned.profile.is_some())?;
        let all = assignments(host).ok()?;
        Some(conflicts(facts, host, tuned, &all))
    };
    let found = facts.host.as_ref().and_then(of).unwrap_or_default();
    found.into_iter().map(|one| one.line).collect()
}

fn conflicts(facts: &Facts, host: &Host, tuned: &Tuned, all: &[Assignment]) -> Vec<Conflict> {
    let mut conflicts = Vec::new();
    for of_profile in of_tuned(tuned) {
        let of_file = all
            .iter()
            .rfind(|one| one.is_line_of_owner() && one.name == of_profile.name);
        let Some(of_file) = of_file.filter(|one| of_profile.changes(&one.value)) else {
            continue;
        };
        conflicts.push(Conflict {
            words: format!(
                "{} {} where {} has {}",
                of_profile.name,
                of_profile.words(),
                of_file.place,
                of_file.value
            ),
            value: of_profile.value,
            place: of_profile.place,
            line: ProfileLine {
                section: SYSCTLS,
                line: format!("{} = {}", of_file.name, of_file.value),
            },
        });
    }
    if facts.postgres.is_some() {
        conflicts.extend(huge_pages(tuned));
        conflicts.extend(read_ahead(host, tuned));
    }
    conflicts
}

fn found(facts: &Facts, profile: &str, tuned: &Tuned, conflicts: &[Conflict]) -> Outcome {
    let words: Vec<&str> = conflicts.iter().map(|one| one.words.as_str()).collect();
    let winner = if tuned.reapplies_sysctl {
        "of sysctls the files win, because tuned applies them again"
    } else {
        "tuned wins at the next boot, because reapply_sysctl is off"
    };
    // What the owner's files make of sysctls holds at each boot.
    let holds = tuned.reapplies_sysctl && conflicts.iter().all(Conflict::is_sysctl);
    let severity = if holds { Severity::Info } else { RULE.severity };
    let mut finding = RULE
        .finding(format!(
            "tuned's profile {profile} sets {}; {winner}",
            words.join(", ")
        ))
        .severity(severity);
    for one in conflicts {
        finding = finding.evidence(&one.words, &one.value, &one.place);
    }
    own_profile(finding, facts, tuned, profile).into_outcome()
}

/// A value that the profile assigns or raises to, and its file.
fn setting<'a>(tuned: &'a Tuned, section: &str, names: &[&str]) -> Option<(&'a str, &'a str)> {
    let setting = tuned
        .settings
        .iter()
        .rfind(|setting| setting.section == section && names.contains(&setting.name.as_str()))?;
    let (sign, value) = signed(&setting.value);
    (sign != Some(Sign::Lowers)).then_some((value, setting.file.as_str()))
}

fn huge_pages(tuned: &Tuned) -> Option<Conflict> {
    let names = ["transparent_hugepages", "transparent_hugepage"];
    let (value, file) = setting(tuned, "vm", &names)?;
    (value == "always").then(|| Conflict {
        words: "transparent_hugepages = always, which PostgreSQL does not want".to_owned(),
        value: value.to_owned(),
        place: format!("tuned's {file}"),
        line: ProfileLine {
            section: "[vm]",
            line: "transparent_hugepages = madvise".to_owned(),
        },
    })
}

fn read_ahead(host: &Host, tuned: &Tuned) -> Option<Conflict> {
    let (value, file) = setting(tuned, "disk", &["readahead"])?;
    let kib: u64 = value.parse().ok()?;
    let devices = block_devices(host).ok()?.all;
    // On rotating disks long scans gain from it.
    let is_solid = devices
        .iter()
        .any(|one| one.rotational.get() == Some(false));
    (kib > MOST_READ_AHEAD_KIB && is_solid).then(|| Conflict {
        words: format!("readahead = {kib} KiB on a solid-state disk"),
        value: value.to_owned(),
        place: format!("tuned's {file}"),
        line: ProfileLine {
            section: "[disk]",
            line: format!("readahead = {DEFAULT_READ_AHEAD_KIB}"),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::kernel::owners::tests::configured;
    use crate::testing::{finding, host, not_applicable, ok, unknown};
    use dbdyno_model::{Fact, Severity};

    #[test]
    fn two_owners_of_one_sysctl_are_named_with_the_winner() {
        let facts = configured(
            &[("vm.swappiness", "1")],
            &[("sysctl", "vm.swappiness", "10")],
            false,
        );
        let finding = finding(&RULE, &facts);
        insta::assert_snapshot!(finding.message, @"tuned's profile postgresql sets vm.swappiness = 10 where /etc/sysctl.d/50-site.conf:1 has 1; tuned wins at the next boot, because reapply_sysctl is off");
        assert_eq!(
            finding.host_actions[0].action,
            "/etc/tuned/dbdyno/tuned.conf with [main] include=postgresql; [sysctl] vm.swappiness = \
             1; then: tuned-adm profile dbdyno"
        );
    }

    #[test]
    fn files_that_win_at_each_boot_are_only_told() {
        let conflict = |reapplies| {
            let facts = configured(
                &[("vm.swappiness", "1")],
                &[("sysctl", "vm.swappiness", "30")],
                reapplies,
            );
            finding(&RULE, &facts).severity
        };
        assert_eq!(conflict(true), Severity::Info);
        assert_eq!(conflict(false), Severity::Warn);
    }

    /// Of two profiles the one that is activated last would be the only one.
    #[test]
    fn what_another_rule_wants_of_tuned_stands_in_the_same_profile() {
        let mut facts = configured(
            &[("vm.swappiness", "1")],
            &[("sysctl", "vm.swappiness", "10")],
            false,
        );
        let host = host(&mut facts);
        host.governors = Fact::known(vec!["schedutil".to_owned()], "scaling_governor");
        let mut tuned = host.tuned.value().unwrap().clone();
        tuned.directory = "/etc/tuned/profiles".to_owned();
        host.tuned = Fact::known(tuned.clone(), "/etc/tuned/active_profile");
        let catalogue = crate::catalogue();
        let governor = catalogue
            .iter()
            .find(|rule| rule.id == "hardware.cpu_governor")
            .unwrap();
        let both = |facts: &dbdyno_model::Facts| {
            let of = |rule| finding(rule, facts).host_actions.remove(0);
            (of(&RULE), of(governor))
        };
        let (ours, governors) = both(&facts);
        assert_eq!(ours.files, governors.files);
        assert_eq!(ours.commands, ["tuned-adm profile dbdyno"]);
        assert_eq!(ours.commands, governors.commands);
        assert_eq!(ours.files[0].file, "/etc/tuned/profiles/dbdyno/tuned.conf");
        assert_eq!(
            ours.files[0].lines,
            [
                "[main]",
                "include=postgresql",
                "[sysctl]",
                "vm.swappiness = 1",
                "[cpu]",
                "governor=performance"
            ]
        );
        // A profile that included itself would not load.
        tuned.profile = Some("postgresql dbdyno".to_owned());
        crate::testing::host(&mut facts).tuned = Fact::known(tuned, "/etc/tuned/active_profile");
        let (ours, _) = both(&facts);
        assert_eq!(ours.files[0].lines[0], "[sysctl]");
        assert_eq!(ours.commands, ["tuned-adm profile postgresql dbdyno"]);
    }

    #[test]
    fn a_profile_that_only_raises_agrees_with_more() {
        let backlog = |of_file| {
            configured(
                &[("net.core.somaxconn", of_file)],
                &[("sysctl", "net.core.somaxconn", ">2048")],
                false,
            )
        };
        ok(&RULE, &backlog("4096"));
        let finding = finding(&RULE, &backlog("128"));
        assert!(
            finding
                .message
                .contains("sets net.core.somaxconn at least 2048 where /etc/sysctl.d/")
        );
    }

    #[test]
    fn huge_pages_and_read_ahead_are_found() {
        let facts = configured(
            &[],
            &[
                ("vm", "transparent_hugepages", "always"),
                ("disk", "readahead", ">4096"),
            ],
            true,
        );
        let finding = finding(&RULE, &facts);
        assert!(finding.message.contains("transparent_hugepages = always"));
        assert!(finding.message.contains("readahead = 4096 KiB"));
        assert!(finding.message.ends_with("tuned applies them again"));
        assert_eq!(finding.severity, Severity::Warn);
        let action = &finding.host_actions[0].action;
        assert!(action.contains("[vm] transparent_hugepages = madvise; [disk] readahead = 128"));
    }

    #[test]
    fn agreement_is_fine() {
        let facts = configured(
            &[("vm.swappiness", "1")],
            &[
                ("sysctl", "vm.swappiness", "1"),
                ("vm", "transparent_hugepages", "never"),
            ],
            true,
        );
        ok(&RULE, &facts);
    }

    #[test]
    fn a_profile_that_was_not_read_is_unknown() {
        let mut facts = configured(&[], &[], true);
        host(&mut facts).tuned = Fact::unknown("permission denied", "/etc/tuned/active_profile");
        assert_eq!(unknown(&RULE, &facts), "tuned's profile: permission denied");
    }

    #[test]
    fn no_profile_is_not_applicable_and_a_missing_one_unknown() {
        assert!(not_applicable(&RULE, &configured(&[], &[], true)).contains("no profile"));
        let mut facts = configured(&[], &[("cpu", "governor", "performance")], true);
        let host = host(&mut facts);
        let mut tuned = host.tuned.value().unwrap().clone();
        tuned.missing.push("site-base".to_owned());
        host.tuned = Fact::known(tuned, "/etc/tuned/active_profile");
        assert_eq!(
            unknown(&RULE, &facts),
            "tuned's profile site-base: its file was not found"
        );
    }
}
