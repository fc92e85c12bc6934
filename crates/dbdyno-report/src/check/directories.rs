//! Directories of the files that a step writes: where no package brings one, it is made first.

use dbdyno_model::check::Step;

use crate::quote::shell_word;

/// Every host that has systemd has these.
const STANDING: [&str; 5] = [
    "/etc/modprobe.d",
    "/etc/sysctl.d",
    "/etc/systemd/system",
    "/etc/tmpfiles.d",
    "/etc/udev/rules.d",
];

/// The command that makes what may be missing; one that is there it leaves as it is.
pub(super) fn made(step: &Step) -> Option<String> {
    let mut missing: Vec<&str> = step
        .files
        .iter()
        .filter_map(|file| file.file.rsplit_once('/'))
        .map(|(directory, _)| directory)
        .filter(|directory| !directory.is_empty() && !STANDING.contains(directory))
        .collect();
    missing.sort_unstable();
    missing.dedup();
    let words: Vec<String> = missing.into_iter().map(shell_word).collect();
    (!words.is_empty()).then(|| format!("install -d {}", words.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::made;
    use crate::check::{check_markdown, check_page, testing};
    use crate::style::Style;
    use dbdyno_model::{Check, FileLines};

    /// The check with one step that writes these files.
    fn writing(files: &[&str]) -> Check {
        let mut check = testing::check();
        let answers = &mut check.assessments[0].findings;
        let answer = answers
            .iter_mut()
            .find(|answer| answer.rule == "kernel.swappiness")
            .unwrap();
        answer.steps[0].files = files
            .iter()
            .map(|file| FileLines {
                file: (*file).to_owned(),
                lines: vec!["TasksMax=9".to_owned()],
            })
            .collect();
        check
    }

    #[test]
    fn a_directory_that_no_package_brings_is_made_before_its_file() {
        let file = "/etc/systemd/system/postgresql@15-main.service.d/zz-dbdyno.conf";
        let check = writing(&[file]);
        let command = "install -d /etc/systemd/system/postgresql@15-main.service.d";
        for text in [check_page(&check, 80, Style::Plain), check_markdown(&check)] {
            let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
            assert!(at(command) < at("TasksMax=9"), "{text}");
        }
    }

    #[test]
    fn one_that_is_there_is_not_made() {
        let there = [
            "/etc/sysctl.d/90-dbdyno.conf",
            "/etc/systemd/system/a.service",
        ];
        let check = writing(&there);
        for text in [check_page(&check, 80, Style::Plain), check_markdown(&check)] {
            assert!(!text.contains("install -d"), "{text}");
        }
    }

    #[test]
    fn each_is_named_once_as_one_word() {
        let check = writing(&["/etc/a b.d/1.conf", "/etc/a b.d/2.conf", "/etc/c/d"]);
        let step = check.assessments[0]
            .findings
            .iter()
            .flat_map(|answer| &answer.steps)
            .find(|step| !step.files.is_empty())
            .unwrap();
        assert_eq!(
            made(step).as_deref(),
            Some("install -d '/etc/a b.d' /etc/c")
        );
    }
}
