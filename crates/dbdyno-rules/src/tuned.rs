//! What is asked of tuned: one profile for all rules, since a second would undo the first.

use dbdyno_model::host::Tuned;
use dbdyno_model::{Facts, Finding, Needs};

use crate::hardware::cpu_governor;
use crate::kernel::tuned_conflict;
use crate::paste::{PasteExt, word};
use crate::rule::FindingExt;

const NAME: &str = "dbdyno";
/// Where every tuned looked before 2.24, and facts of then say nothing of it.
const DIRECTORY: &str = "/etc/tuned";
/// In the order in which they are written.
const SECTIONS: [&str; 4] = ["[sysctl]", "[vm]", "[disk]", "[cpu]"];

/// A line of the profile and the section that it belongs to.
#[derive(Debug, Clone)]
pub(crate) struct ProfileLine {
    pub(crate) section: &'static str,
    pub(crate) line: String,
}

/// An action of its own: the profile with what every rule wants of it, over those that are active.
pub(crate) fn own_profile(finding: Finding, facts: &Facts, tuned: &Tuned, active: &str) -> Finding {
    let directory = match tuned.directory.as_str() {
        "" => DIRECTORY,
        directory => directory,
    };
    let file = format!("{directory}/{NAME}/tuned.conf");
    let names: Vec<&str> = active.split_whitespace().collect();
    // A profile cannot include itself: what is new is added to the one that is there.
    let is_active = names.contains(&NAME);
    let (mut lines, profile) = if is_active {
        let names: Vec<String> = names.iter().map(|name| word(name)).collect();
        (Vec::new(), names.join(" "))
    } else {
        let include = format!("include={}", names.join(","));
        (vec!["[main]".to_owned(), include], NAME.to_owned())
    };
    let mut parts: Vec<String> = Vec::new();
    if !is_active {
        parts.push(lines.join(" "));
    }
    let wanted = [
        tuned_conflict::profile_lines(facts),
        cpu_governor::profile_lines(facts),
    ]
    .concat();
    for section in SECTIONS {
        let of_section: Vec<&str> = wanted
            .iter()
            .filter(|one| one.section == section)
            .map(|one| one.line.as_str())
            .collect();
        if !of_section.is_empty() {
            parts.push(format!("{section} {}", of_section.join("; ")));
            lines.push(section.to_owned());
            lines.extend(of_section.into_iter().map(str::to_owned));
        }
    }
    let command = format!("tuned-adm profile {profile}");
    finding
        .host_action(
            format!("{file} with {}; then: {command}", parts.join("; ")),
            Needs::Online,
        )
        .file(file, lines)
        .run([command])
}
