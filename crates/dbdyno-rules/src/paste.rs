//! Advice for the owner of a host as lines of files and commands, which can be pasted as they are.

use std::fmt::Display;

use dbdyno_model::host::{BlockDevice, Host};
use dbdyno_model::{FileLines, Finding, Needs};

use crate::rule::FindingExt;
use crate::udev;

/// Everything of one kind goes into one file, so that it can be taken back at once.
pub(crate) const SYSCTL_FILE: &str = "/etc/sysctl.d/90-dbdyno.conf";
/// udev reads its files by name and obeys the last: behind those that owners and packages number.
const UDEV_FILE: &str = "/etc/udev/rules.d/zz-dbdyno.rules";

/// Adds to what the last action says in words; it is printed instead of them.
pub(crate) trait PasteExt: Sized {
    #[must_use]
    fn file<L: Into<String>>(
        self,
        file: impl Into<String>,
        lines: impl IntoIterator<Item = L>,
    ) -> Self;
    #[must_use]
    fn run<C: Into<String>>(self, commands: impl IntoIterator<Item = C>) -> Self;
    /// What the action costs.
    #[must_use]
    fn costing(self, what: impl Into<String>) -> Self;
    /// An action of its own: settings of the kernel in the order in which they have to be written.
    #[must_use]
    fn sysctl<V: Display>(self, settings: &[(&str, V)], needs: Needs) -> Self;
    /// An action of its own: an attribute of a block device (`queue/scheduler`). The line matches what the
    /// device is in every boot, the command takes its present name; devices of one line share the action.
    #[must_use]
    fn udev(self, device: &BlockDevice, attribute: &str, value: impl Display) -> Self;
    /// Lines for the server's systemd unit, where its name is known. When to restart is the owner's:
    /// the step says that it needs to be.
    #[must_use]
    fn unit<L: Into<String>>(self, host: &Host, lines: impl IntoIterator<Item = L>) -> Self;
}

impl PasteExt for Finding {
    fn file<L: Into<String>>(
        mut self,
        file: impl Into<String>,
        lines: impl IntoIterator<Item = L>,
    ) -> Self {
        if let Some(action) = self.host_actions.last_mut() {
            action.files.push(FileLines {
                file: file.into(),
                lines: lines.into_iter().map(Into::into).collect(),
            });
        }
        self
    }

    fn run<C: Into<String>>(mut self, commands: impl IntoIterator<Item = C>) -> Self {
        if let Some(action) = self.host_actions.last_mut() {
            action.commands.extend(commands.into_iter().map(Into::into));
        }
        self
    }

    fn costing(mut self, what: impl Into<String>) -> Self {
        if let Some(action) = self.host_actions.last_mut() {
            action.gives_up = Some(what.into());
        }
        self
    }

    fn sysctl<V: Display>(self, settings: &[(&str, V)], needs: Needs) -> Self {
        let lines: Vec<String> = settings
            .iter()
            .map(|(name, value)| format!("{name} = {value}"))
            .collect();
        let restart = match needs {
            Needs::Restart => ", then restart the server",
            _ => "",
        };
        self.host_action(
            format!("{} in {SYSCTL_FILE}{restart}", lines.join(" and ")),
            needs,
        )
        .file(SYSCTL_FILE, lines)
        .run([format!("sysctl -p {SYSCTL_FILE}")])
    }

    fn udev(mut self, device: &BlockDevice, attribute: &str, value: impl Display) -> Self {
        let name = udev::shown(&device.name);
        let udev::Matches { keys, remark } = udev::matches(device);
        let line = format!(
            "ACTION==\"add|change\", SUBSYSTEM==\"block\", {keys}, ATTR{{{attribute}}}=\"{value}\""
        );
        let trigger = format!(
            "udevadm trigger --action=change --subsystem-match=block --sysname-match={}",
            word(&name)
        );
        let has_line = |file: &FileLines| file.file == UDEV_FILE && file.lines.contains(&line);
        let mut actions = self.host_actions.iter_mut();
        if let Some(same) = actions.find(|action| action.files.iter().any(has_line)) {
            same.action += &format!(", {name}");
            same.commands.push(trigger);
            return self;
        }
        let remark = remark.map_or_else(String::new, |remark| format!(", {remark}"));
        self.host_action(
            format!("{line} in {UDEV_FILE}{remark}, then: udevadm trigger for {name}"),
            Needs::Online,
        )
        .file(UDEV_FILE, [line])
        .run(["udevadm control --reload".to_owned(), trigger])
    }

    fn unit<L: Into<String>>(self, host: &Host, lines: impl IntoIterator<Item = L>) -> Self {
        let unit = host
            .server_process
            .value()
            .and_then(|process| process.unit.value());
        let Some(unit) = unit else { return self };
        let heading = std::iter::once("[Service]".to_owned());
        let lines = heading.chain(lines.into_iter().map(Into::into));
        self.file(unit.drop_in(), lines)
            .run(["systemctl daemon-reload"])
    }
}

/// Text as one word of a shell's command.
pub(crate) fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@,+%".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::testing::{healthy, with_unit};
    use dbdyno_model::HostAction;
    use dbdyno_model::host::BlockDeviceKind;

    /// Programs that the advice runs; what is none of them is prose.
    const PROGRAMS: [&str; 11] = [
        "echo",
        "grep",
        "mdadm",
        "mount",
        "sed",
        "sysctl",
        "systemctl",
        "tune2fs",
        "tuned-adm",
        "udevadm",
        "zfs",
    ];

    /// The commands of one line, each as its words; none where a quote is left open.
    fn commands(line: &str) -> Option<Vec<Vec<String>>> {
        let mut commands = vec![Vec::new()];
        let mut word: Option<String> = None;
        let mut characters = line.chars();
        while let Some(character) = characters.next() {
            match character {
                '\'' => {
                    let text = word.get_or_insert_default();
                    loop {
                        match characters.next()? {
                            '\'' => break,
                            other => text.push(other),
                        }
                    }
                }
                '\\' => word.get_or_insert_default().push(characters.next()?),
                ' ' => commands.last_mut()?.extend(word.take()),
                '|' | '&' | ';' => {
                    commands.last_mut()?.extend(word.take());
                    if commands.last().is_some_and(|last| !last.is_empty()) {
                        commands.push(Vec::new());
                    }
                }
                other => word.get_or_insert_default().push(other),
            }
        }
        commands.last_mut()?.extend(word.take());
        Some(commands)
    }

    fn is_sysctl(line: &str) -> bool {
        line.split_once(" = ").is_some_and(|(name, value)| {
            let is_name =
                |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
            !name.is_empty() && name.chars().all(is_name) && value.parse::<i64>().is_ok()
        })
    }

    fn is_udev(line: &str) -> bool {
        line.split(", ").all(|part| {
            let rest = part.trim_start_matches(|c: char| c.is_ascii_uppercase());
            let rest = match rest.strip_prefix('{') {
                Some(inner) => inner.split_once('}').map_or("", |(_, rest)| rest),
                None => rest,
            };
            let value = rest.strip_prefix("==").or_else(|| rest.strip_prefix('='));
            let inner = value.and_then(|value| value.strip_prefix('"')?.strip_suffix('"'));
            inner.is_some_and(|inner| !inner.is_empty() && !inner.contains('"'))
        })
    }

    /// Files of systemd and tuned: headings, and names with values.
    fn is_assignment(line: &str) -> bool {
        let is_heading = line.starts_with('[') && line.ends_with(']');
        let name = line.split_once('=').map_or("", |(name, _)| name.trim_end());
        let is_name = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        is_heading || (!name.is_empty() && name.chars().all(is_name))
    }

    fn fits_its_file(file: &str, line: &str) -> bool {
        if file.starts_with("/etc/sysctl.d/") {
            is_sysctl(line)
        } else if file.starts_with("/etc/udev/") {
            is_udev(line)
        } else if file.starts_with("/etc/tmpfiles.d/") {
            line.starts_with("w /sys/") && line.split(' ').count() == 7
        } else if file.starts_with("/etc/modprobe.d/") {
            line.starts_with("options ") && line.split(' ').count() == 3
        } else {
            is_assignment(line)
        }
    }

    /// Whether all that an action has printed can be pasted: every rule's findings are held to it.
    pub(crate) fn assert_pasted(action: &HostAction) {
        for file in &action.files {
            assert!(file.file.starts_with('/'), "{file:?}");
            assert!(!file.lines.is_empty(), "{file:?}");
            for line in &file.lines {
                let fits = fits_its_file(&file.file, line);
                assert!(fits, "{}: {line} is no line of {}", action.rule, file.file);
            }
        }
        for line in &action.commands {
            let parsed = commands(line).unwrap_or_else(|| panic!("{}: {line}", action.rule));
            for command in parsed {
                let program = command.first().map(String::as_str).unwrap_or_default();
                assert!(
                    PROGRAMS.contains(&program),
                    "{}: {program} in {line}",
                    action.rule
                );
            }
            for stand_in in ["DEVICE", "/dev/NEW", "…", "..."] {
                assert!(!line.contains(stand_in), "{}: {line}", action.rule);
            }
        }
    }

    fn action(finding: Finding) -> HostAction {
        finding.host_actions.into_iter().next().unwrap()
    }

    fn empty() -> Finding {
        crate::catalogue()[0].finding("")
    }

    #[test]
    fn settings_of_the_kernel_are_lines_and_the_command_that_loads_them() {
        let action = action(empty().sysctl(&[("vm.a", 1), ("vm.b", 2)], Needs::Online));
        assert_eq!(
            action.action,
            "vm.a = 1 and vm.b = 2 in /etc/sysctl.d/90-dbdyno.conf"
        );
        assert_eq!(action.files[0].lines, ["vm.a = 1", "vm.b = 2"]);
        assert_eq!(action.commands, ["sysctl -p /etc/sysctl.d/90-dbdyno.conf"]);
        assert_pasted(&action);
    }

    #[test]
    fn an_attribute_of_a_device_is_a_udev_rule() {
        let disk = |name: &str, kind: BlockDeviceKind| BlockDevice {
            name: name.to_owned(),
            kind,
            ..BlockDevice::default()
        };
        let of = |finding: Finding, name: &str, kind: BlockDeviceKind| {
            finding.udev(&disk(name, kind), "queue/scheduler", "none")
        };
        let finding = of(empty(), "sda", BlockDeviceKind::Disk);
        let finding = of(finding, "sdb", BlockDeviceKind::Disk);
        let finding = of(finding, "nvme0n1", BlockDeviceKind::Nvme);
        finding.host_actions.iter().for_each(assert_pasted);
        // Disks that share a line share the action.
        assert_eq!(finding.host_actions.len(), 2);
        let action = action(finding);
        let line = "ACTION==\"add|change\", SUBSYSTEM==\"block\", ENV{DEVTYPE}==\"disk\", \
                    KERNEL==\"sd*\", ATTR{queue/scheduler}=\"none\"";
        assert_eq!(action.files[0].lines, [line]);
        let name = action.files[0].file.rsplit('/').next();
        assert!(name > Some("99-site.rules"));
        assert_eq!(
            action.action,
            format!(
                "{line} in /etc/udev/rules.d/zz-dbdyno.rules, which holds for all SCSI and SATA \
                 disks (sd*) that are alike, then: udevadm trigger for sda, sdb"
            )
        );
        let trigger = "udevadm trigger --action=change --subsystem-match=block --sysname-match=";
        assert_eq!(
            action.commands,
            [
                "udevadm control --reload".to_owned(),
                format!("{trigger}sda"),
                format!("{trigger}sdb")
            ]
        );
        let odd = of(empty(), "a\", RUN+=\"b", BlockDeviceKind::Other);
        assert_pasted(&self::action(odd));
    }

    #[test]
    fn a_unit_that_is_known_gets_a_drop_in_and_an_unknown_one_words_alone() {
        let changed = |facts: &dbdyno_model::Facts| {
            let finding = empty().host_action("TasksMax=9", Needs::Restart);
            action(finding.unit(facts.host.as_ref().unwrap(), ["TasksMax=9"]))
        };
        assert!(changed(&healthy()).files.is_empty());
        let mut facts = healthy();
        with_unit(&mut facts, &[]);
        let action = changed(&facts);
        assert_eq!(action.files[0].lines, ["[Service]", "TasksMax=9"]);
        // Behind what `systemctl edit` writes.
        let name = action.files[0].file.rsplit('/').next();
        assert!(name > Some("override.conf"));
        assert_eq!(action.commands, ["systemctl daemon-reload"]);
        assert_eq!(action.needs, Needs::Restart);
        assert_pasted(&action);
    }

    #[test]
    fn prose_is_no_line_and_no_command() {
        assert!(!is_sysctl("vm.a = 1 and vm.b = 2"));
        assert!(!is_udev("ACTION==\"add\" in /etc/udev/rules.d/x"));
        assert!(!is_assignment("write it into the unit"));
        assert!(!fits_its_file(
            "/etc/tmpfiles.d/x.conf",
            "w /sys/a - - - - b and so on"
        ));
        let parsed = commands("grep -q a /f && echo 'a b' | sed s/a/b/").unwrap();
        let programs: Vec<&str> = parsed.iter().map(|words| words[0].as_str()).collect();
        assert_eq!(programs, ["grep", "echo", "sed"]);
        assert_eq!(parsed[1][1], "a b");
        assert_eq!(commands("echo 'a"), None);
    }

    #[test]
    fn a_word_is_quoted_where_a_shell_would_cut_it() {
        assert_eq!(word("/dev/md0"), "/dev/md0");
        assert_eq!(word("/my data"), "'/my data'");
        assert_eq!(word("it's"), r"'it'\''s'");
        for text in ["/my data", "it's", r"a\x2db"] {
            let parsed = commands(&word(text)).unwrap();
            assert_eq!(parsed, [[text.to_owned()]]);
        }
    }
}
