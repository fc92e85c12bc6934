//! Who sets a kernel setting when the machine boots: files of sysctl.d and tuned's profile, in the
//! order in which they are applied.

use dbdyno_model::Outcome;
use dbdyno_model::host::{Host, SysctlLine, Tuned};

use crate::paste::word;
use crate::rule::need_ref;

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

/// What is applied at boot, in its three steps.
pub(super) struct Order {
    pub(super) of_files: Vec<Assignment>,
    pub(super) of_profile: Vec<Assignment>,
    /// The owner's files once more, where tuned applies them again.
    pub(super) again: Option<Vec<Assignment>>,
}

/// All assignments in order, so that of one name the last one wins.
pub(super) fn assignments(host: &Host) -> Result<Vec<Assignment>, Outcome> {
    let order = order(host)?;
    let again = order.again.unwrap_or_default();
    Ok([order.of_files, order.of_profile, again].concat())
}

pub(super) fn order(host: &Host) -> Result<Order, Outcome> {
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
    use crate::testing::{healthy, host};
    use dbdyno_model::host::TunedSetting;
    use dbdyno_model::{Fact, Facts};

    const SITE: &str = "/etc/sysctl.d/50-site.conf";

    /// The captured machine with lines of one file and a profile of tuned's.
    pub(in crate::kernel) fn configured(
        lines: &[(&str, &str)],
        profile: &[(&str, &str, &str)],
        reapplies_sysctl: bool,
    ) -> Facts {
        configured_by(SITE, lines, profile, reapplies_sysctl)
    }

    pub(in crate::kernel) fn configured_by(
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
}
