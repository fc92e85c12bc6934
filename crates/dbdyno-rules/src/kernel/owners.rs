//! Who sets a kernel setting when the machine boots: files of sysctl.d and tuned's profile, in the
//! order in which they are applied.

use dbdyno_model::host::{Host, SysctlLine, Tuned};
use dbdyno_model::{Facts, Finding, Needs, Outcome};

use crate::paste::{PasteExt, SYSCTL_FILE, word};
use crate::rule::{FindingExt, need_ref};

/// One assignment at boot.
#[derive(Debug, Clone)]
pub(super) struct Assignment {
    pub(super) name: String,
    pub(super) value: String,
    /// None for a value that is assigned whatever was there.
    pub(super) sign: Option<Sign>,
    /// `/etc/sysctl.d/50-database.conf:2`, or tuned's profile.
    pub(super) place: String,
    pub(super) by_tuned: bool,
}

/// tuned's `>` and `<`: it leaves a value alone that is beyond the given one already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    Raises,
    Lowers,
}

impl Assignment {
    fn of_line(line: &SysctlLine) -> Self {
        Self {
            name: line.name.clone(),
            value: line.value.clone(),
            sign: None,
            place: line.place(),
            by_tuned: false,
        }
    }

    /// Whether another value results where this one stood before.
    pub(super) fn changes(&self, before: &str) -> bool {
        let numbers = (self.value.parse::<i64>(), before.parse::<i64>());
        match (self.sign, numbers) {
            (None, (Ok(to), Ok(from))) => to != from,
            (None, _) => self.value != before,
            (Some(Sign::Raises), (Ok(to), Ok(from))) => to > from,
            (Some(Sign::Lowers), (Ok(to), Ok(from))) => to < from,
            (Some(_), _) => false,
        }
    }

    /// Whether the machine's owner wrote the line, and no package and no profile.
    pub(super) fn is_line_of_owner(&self) -> bool {
        self.place.starts_with("/etc/") && !self.by_tuned
    }

    /// The same, or in a profile of tuned's that the owner wrote.
    pub(super) fn is_of_owner(&self) -> bool {
        self.is_line_of_owner() || self.place.starts_with("tuned's /etc/")
    }

    /// Makes a comment of the line, where its file is the owner's to change. The file may be a symbolic
    /// link, as /etc/sysctl.d/99-sysctl.conf is, and has to stay one.
    pub(super) fn commented(&self) -> Option<String> {
        let (file, line) = self.place.rsplit_once(':')?;
        let line: u32 = line.parse().ok()?;
        let script = word(&format!("{line}{{/{}/s/^/# /;}}", self.name));
        self.is_line_of_owner()
            .then(|| format!("sed -i --follow-symlinks {script} {}", word(file)))
    }

    /// Whether it is applied after a file of sysctl.d: these go by their names, whatever directory
    /// they lie in.
    fn is_behind(&self, file: &str) -> bool {
        let own = self.place.rsplit_once(':').map_or("", |(file, _)| file);
        self.by_tuned || base_name(own) > base_name(file)
    }

    /// Whether what stood before it is no longer there after it.
    fn undoes(&self, name: &str, value: &str) -> bool {
        let is_other_form = other_form(name).is_some_and(|other| other == self.name);
        if is_other_form {
            return self.value != "0" && self.sign.is_none();
        }
        self.name == name && self.changes(value)
    }

    /// `= 10`, or what a sign makes of it: `at least 2048`.
    pub(super) fn words(&self) -> String {
        let word = match self.sign {
            None => "=",
            Some(Sign::Raises) => "at least",
            Some(Sign::Lowers) => "at most",
        };
        format!("{word} {}", self.value)
    }
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The other form of a limit on dirty pages: writing one sets the other to 0.
pub(super) fn other_form(name: &str) -> Option<String> {
    if !name.starts_with("vm.dirty") {
        return None;
    }
    match name.strip_suffix("_ratio") {
        Some(stem) => Some(format!("{stem}_bytes")),
        None => Some(format!("{}_ratio", name.strip_suffix("_bytes")?)),
    }
}

/// What is applied at boot, in its three steps.
struct Order {
    of_files: Vec<Assignment>,
    of_profile: Vec<Assignment>,
    /// The owner's files once more, where tuned applies them again.
    again: Option<Vec<Assignment>>,
}

/// All assignments in order, so that of one name the last one wins.
pub(super) fn assignments(host: &Host) -> Result<Vec<Assignment>, Outcome> {
    let order = order(host)?;
    let again = order.again.unwrap_or_default();
    Ok([order.of_files, order.of_profile, again].concat())
}

/// What is applied at boot after a file of /etc/sysctl.d, for the last time that it is read.
fn behind(host: &Host, file: &str) -> Vec<Assignment> {
    let Ok(order) = order(host) else {
        return Vec::new();
    };
    let mut last = match order.again {
        Some(again) => again,
        None => [order.of_files, order.of_profile].concat(),
    };
    last.retain(|one| one.is_behind(file));
    last
}

/// Lines for sysctl.d do not outlast a boot where something behind them says otherwise: a finding that
/// asks for such lines also says what has to go.
pub(crate) fn outlasting(finding: Finding, facts: &Facts) -> Finding {
    let Some(host) = &facts.host else {
        return finding;
    };
    let lines: Vec<(String, String)> = finding
        .host_actions
        .iter()
        .flat_map(|action| &action.files)
        .filter(|file| file.file == SYSCTL_FILE)
        .flat_map(|file| &file.lines)
        .filter_map(|line| {
            let (name, value) = line.split_once(" = ")?;
            Some((name.to_owned(), value.to_owned()))
        })
        .collect();
    if lines.is_empty() {
        return finding;
    }
    let undone = |one: &Assignment| lines.iter().any(|(name, value)| one.undoes(name, value));
    let mut behind = behind(host, SYSCTL_FILE);
    behind.retain(undone);
    if behind.is_empty() {
        return finding;
    }
    let mut words: Vec<String> = behind
        .iter()
        .map(|one| format!("{} {} ({})", one.name, one.words(), one.place))
        .collect();
    words.dedup();
    let commands = commented(&behind.iter().collect::<Vec<_>>());
    let finding = finding.host_action(
        format!(
            "and for the next boot: remove what is applied after {SYSCTL_FILE} and undoes it: {}",
            words.join(", ")
        ),
        Needs::Online,
    );
    finding.run(commands)
}

fn order(host: &Host) -> Result<Order, Outcome> {
    if host.container.get() == Some(true) {
        return Err(Outcome::NotApplicable(
            "a container's own files do not set the host's kernel".to_owned(),
        ));
    }
    let lines = need_ref(&host.sysctl_lines, "files of sysctl.d")?;
    let of_files: Vec<Assignment> = lines.iter().map(Assignment::of_line).collect();
    let tuned = need_ref(&host.tuned, "tuned's profile")?;
    let of_profile = of_tuned(tuned);
    // tuned starts late; unless it is told not to, it then applies the owner's files once more, and
    // /etc/sysctl.conf after them, which systemd reads only where sysctl.d links to it.
    let again = (tuned.reapplies_sysctl && !of_profile.is_empty()).then(|| {
        let is_read_again = |one: &&Assignment| {
            one.place.starts_with("/etc/sysctl.d/") || one.place.starts_with("/run/sysctl.d/")
        };
        let last = tuned.sysctl_conf.iter().map(Assignment::of_line);
        let owners = of_files.iter().filter(is_read_again).cloned();
        owners.chain(last).collect()
    });
    Ok(Order {
        of_files,
        of_profile,
        again,
    })
}

/// Commands that make comments of all these lines, each once; none where one is not the owner's.
pub(super) fn commented(assignments: &[&Assignment]) -> Vec<String> {
    let commands: Option<Vec<String>> = assignments.iter().map(|one| one.commented()).collect();
    let mut commands = commands.unwrap_or_default();
    commands.sort();
    commands.dedup();
    commands
}

/// What tuned's profile sets, under the sysctls' names.
pub(super) fn of_tuned(tuned: &Tuned) -> Vec<Assignment> {
    tuned
        .settings
        .iter()
        .filter_map(|setting| {
            let name = match setting.section.as_str() {
                "sysctl" => setting.name.clone(),
                "vm" if setting.name.starts_with("dirty_") => format!("vm.{}", setting.name),
                _ => return None,
            };
            let (sign, value) = signed(&setting.value);
            Some(Assignment {
                name,
                value: value.to_owned(),
                sign,
                place: format!("tuned's {}", setting.file),
                by_tuned: true,
            })
        })
        .collect()
}

/// A value of tuned's, apart from the sign by which it only raises or only lowers.
pub(super) fn signed(value: &str) -> (Option<Sign>, &str) {
    let value = value.trim();
    let raised = value.strip_prefix('>').map(|rest| (Sign::Raises, rest));
    let lowered = || value.strip_prefix('<').map(|rest| (Sign::Lowers, rest));
    match raised.or_else(lowered) {
        Some((sign, rest)) => (Some(sign), rest.trim()),
        None => (None, value),
    }
}

/// The assignment of a name that wins: the last one that changes what those before it made. It keeps
/// its sign where nothing that is known here assigns a value first.
pub(super) fn last(all: &[Assignment], name: &str) -> Option<Assignment> {
    let mut winner: Option<Assignment> = None;
    for one in all.iter().filter(|one| one.name == name) {
        winner = match winner {
            Some(before) if one.sign.is_some() => Some(if one.changes(&before.value) {
                Assignment {
                    sign: before.sign,
                    ..one.clone()
                }
            } else {
                before
            }),
            _ => Some(one.clone()),
        };
    }
    winner
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::paste::tests::assert_pasted;
    use crate::testing::{healthy, host};
    use dbdyno_model::host::TunedSetting;
    use dbdyno_model::{Fact, HostAction};

    const SITE: &str = "/etc/sysctl.d/50-site.conf";
    const LAST: &str = "/etc/sysctl.d/99-sysctl.conf";

    /// The captured machine with lines of one file and a profile of tuned's.
    pub(in crate::kernel) fn configured(
        lines: &[(&str, &str)],
        profile: &[(&str, &str, &str)],
        reapplies_sysctl: bool,
    ) -> Facts {
        configured_by(SITE, lines, profile, reapplies_sysctl)
    }

    fn configured_by(
        file: &str,
        lines: &[(&str, &str)],
        profile: &[(&str, &str, &str)],
        reapplies_sysctl: bool,
    ) -> Facts {
        let mut facts = healthy();
        let host = host(&mut facts);
        let lines = (1_u32..)
            .zip(lines)
            .map(|(line, (name, value))| SysctlLine {
                name: (*name).to_owned(),
                value: (*value).to_owned(),
                file: file.to_owned(),
                line,
            })
            .collect();
        host.sysctl_lines = Fact::known(lines, "/etc/sysctl.d");
        let settings = profile
            .iter()
            .map(|(section, name, value)| TunedSetting {
                section: (*section).to_owned(),
                name: (*name).to_owned(),
                value: (*value).to_owned(),
                file: "/usr/lib/tuned/postgresql/tuned.conf".to_owned(),
            })
            .collect();
        let tuned = Tuned {
            profile: (!profile.is_empty()).then(|| "postgresql".to_owned()),
            reapplies_sysctl,
            settings,
            ..Tuned::default()
        };
        host.tuned = Fact::known(tuned, "/etc/tuned/active_profile");
        facts
    }

    #[test]
    fn the_owners_files_win_where_tuned_applies_them_again() {
        let swappiness = |reapplies| {
            let facts = configured(
                &[("vm.swappiness", "1")],
                &[("sysctl", "vm.swappiness", "10")],
                reapplies,
            );
            let all = assignments(facts.host.as_ref().unwrap()).unwrap();
            last(&all, "vm.swappiness").unwrap().value
        };
        assert_eq!(swappiness(true), "1");
        assert_eq!(swappiness(false), "10");
    }

    #[test]
    fn what_tuned_only_raises_or_lowers_wins_where_it_does() {
        let backlog = |of_file: &str, of_profile: &str| {
            let facts = configured(
                &[("net.core.somaxconn", of_file)],
                &[("sysctl", "net.core.somaxconn", of_profile)],
                false,
            );
            let all = assignments(facts.host.as_ref().unwrap()).unwrap();
            let won = last(&all, "net.core.somaxconn").unwrap();
            (won.value, won.sign)
        };
        assert_eq!(backlog("4096", ">2048"), ("4096".to_owned(), None));
        assert_eq!(backlog("128", ">2048"), ("2048".to_owned(), None));
        assert_eq!(backlog("4096", "<2048"), ("2048".to_owned(), None));
        assert_eq!(backlog("4096", "2048"), ("2048".to_owned(), None));
    }

    #[test]
    fn a_sign_stays_where_nothing_is_known_before() {
        let facts = configured(&[], &[("sysctl", "net.core.somaxconn", ">2048")], true);
        let all = assignments(facts.host.as_ref().unwrap()).unwrap();
        let won = last(&all, "net.core.somaxconn").unwrap();
        assert_eq!(won.sign, Some(Sign::Raises));
        assert!(won.changes("128") && !won.changes("4096"));
        assert_eq!(won.words(), "at least 2048");
    }

    #[test]
    fn sysctl_conf_comes_last_of_all_where_tuned_applies_files_again() {
        let swappiness = |reapplies| {
            let mut facts = configured(
                &[("vm.swappiness", "1")],
                &[("sysctl", "vm.swappiness", "10")],
                reapplies,
            );
            let host = host(&mut facts);
            host.tuned = host.tuned.clone().map(|mut tuned| {
                tuned.sysctl_conf.push(SysctlLine {
                    name: "vm.swappiness".to_owned(),
                    value: "5".to_owned(),
                    file: "/etc/sysctl.conf".to_owned(),
                    line: 7,
                });
                tuned
            });
            let all = assignments(facts.host.as_ref().unwrap()).unwrap();
            last(&all, "vm.swappiness").unwrap().place
        };
        assert_eq!(swappiness(true), "/etc/sysctl.conf:7");
        assert!(swappiness(false).starts_with("tuned's "));
    }

    /// What is said beside a line `vm.dirty_bytes = 5` and one of `vm.swappiness = 1`.
    fn beside(facts: &Facts) -> Vec<HostAction> {
        let settings = [("vm.dirty_bytes", 5), ("vm.swappiness", 1)];
        let finding = crate::catalogue()[0].finding("");
        let finding = outlasting(finding.sysctl(&settings, Needs::Online), facts);
        finding.host_actions.iter().for_each(assert_pasted);
        finding.host_actions[1..].to_vec()
    }

    #[test]
    fn what_a_later_file_undoes_at_boot_has_to_go_there() {
        let lines = [("vm.swappiness", "60"), ("vm.dirty_ratio", "20")];
        assert!(beside(&configured(&lines, &[], true)).is_empty());
        let actions = beside(&configured_by(LAST, &lines, &[], true));
        assert_eq!(actions.len(), 1);
        assert_eq!(
            actions[0].action,
            "and for the next boot: remove what is applied after /etc/sysctl.d/90-dbdyno.conf and \
             undoes it: vm.swappiness = 60 (/etc/sysctl.d/99-sysctl.conf:1), vm.dirty_ratio = 20 \
             (/etc/sysctl.d/99-sysctl.conf:2)"
        );
        assert_eq!(
            actions[0].commands,
            [
                "sed -i --follow-symlinks '1{/vm.swappiness/s/^/# /;}' /etc/sysctl.d/99-sysctl.conf",
                "sed -i --follow-symlinks '2{/vm.dirty_ratio/s/^/# /;}' /etc/sysctl.d/99-sysctl.conf"
            ]
        );
        // The same values, and the other form at 0, undo nothing.
        let agreeing = [("vm.swappiness", "1"), ("vm.dirty_ratio", "0")];
        assert!(beside(&configured_by(LAST, &agreeing, &[], true)).is_empty());
        assert!(beside(&healthy()).is_empty());
    }

    #[test]
    fn every_rule_that_writes_lines_says_what_undoes_them() {
        let mut facts = configured_by(LAST, &[("vm.swappiness", "60")], &[], true);
        let host = host(&mut facts);
        host.memory.swap_total_bytes = Fact::known(4 << 30, "/proc/meminfo SwapTotal");
        let findings = crate::check(&facts).findings;
        let swappiness = findings
            .iter()
            .find(|one| one.rule == "kernel.swappiness")
            .unwrap();
        let last = swappiness.host_actions.last().unwrap();
        assert!(last.action.contains("/etc/sysctl.d/99-sysctl.conf:1"));
    }

    #[test]
    fn the_file_of_a_package_and_a_profile_are_named_and_not_edited() {
        let vendor = "/usr/lib/sysctl.d/99-vendor.conf";
        let facts = configured_by(vendor, &[("vm.swappiness", "60")], &[], true);
        let action = beside(&facts).remove(0);
        assert!(action.action.contains("99-vendor.conf:1)"));
        assert!(action.commands.is_empty());
        let profile = [("sysctl", "vm.swappiness", "30")];
        // tuned reads the owner's files after its profile, unless it is told not to.
        assert!(beside(&configured(&[], &profile, true)).is_empty());
        let action = beside(&configured(&[], &profile, false)).remove(0);
        assert!(action.action.contains("(tuned's /usr/lib/tuned/"));
    }
}
