//! Who sets a kernel setting when the machine boots: files of sysctl.d and tuned's profile, in the
//! order in which they are applied.

use dbdyno_model::Outcome;
use dbdyno_model::host::{Host, Tuned};

use crate::rule::need_ref;

/// One assignment at boot.
#[derive(Clone)]
pub(super) struct Assignment {
    pub(super) name: String,
    pub(super) value: String,
    /// `/etc/sysctl.d/50-database.conf:2`, or tuned's profile.
    pub(super) place: String,
    pub(super) by_tuned: bool,
}

/// All assignments in order, so that of one name the last one wins.
pub(super) fn assignments(host: &Host) -> Result<Vec<Assignment>, Outcome> {
    if host.container.get() == Some(true) {
        return Err(Outcome::NotApplicable(
            "a container's own files do not set the host's kernel".to_owned(),
        ));
    }
    let lines = need_ref(&host.sysctl_lines, "files of sysctl.d")?;
    let of_files: Vec<Assignment> = lines
        .iter()
        .map(|line| Assignment {
            name: line.name.clone(),
            value: line.value.clone(),
            place: line.place(),
            by_tuned: false,
        })
        .collect();
    let tuned = need_ref(&host.tuned, "tuned's profile")?;
    let of_profile = of_tuned(tuned);
    // tuned starts late; unless it is told not to, it then applies the owner's files once more.
    let again: Vec<Assignment> = if tuned.reapplies_sysctl && !of_profile.is_empty() {
        let is_owners = |one: &&Assignment| {
            one.place.starts_with("/etc/sysctl.d/") || one.place.starts_with("/run/sysctl.d/")
        };
        of_files.iter().filter(is_owners).cloned().collect()
    } else {
        Vec::new()
    };
    Ok([of_files, of_profile, again].concat())
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
            Some(Assignment {
                name,
                value: plain(&setting.value).to_owned(),
                place: format!("tuned's {}", setting.file),
                by_tuned: true,
            })
        })
        .collect()
}

/// A value without the sign by which tuned only raises or only lowers.
pub(super) fn plain(value: &str) -> &str {
    value.trim_start_matches(['>', '<', '=']).trim()
}

/// The assignment of a name that wins.
pub(super) fn last<'a>(all: &'a [Assignment], name: &str) -> Option<&'a Assignment> {
    all.iter().rfind(|one| one.name == name)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use dbdyno_model::Fact;
    use dbdyno_model::Facts;
    use dbdyno_model::host::{SysctlLine, TunedSetting};

    /// The captured machine with lines of one file and a profile of tuned's.
    pub(in crate::kernel) fn configured(
        lines: &[(&str, &str)],
        profile: &[(&str, &str, &str)],
        reapplies_sysctl: bool,
    ) -> Facts {
        let mut facts = crate::testing::healthy();
        let host = crate::testing::host(&mut facts);
        let lines = (1_u32..)
            .zip(lines)
            .map(|(line, (name, value))| SysctlLine {
                name: (*name).to_owned(),
                value: (*value).to_owned(),
                file: "/etc/sysctl.d/50-site.conf".to_owned(),
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
                &[("sysctl", "vm.swappiness", ">10")],
                reapplies,
            );
            let all = assignments(facts.host.as_ref().unwrap()).unwrap();
            last(&all, "vm.swappiness").unwrap().value.clone()
        };
        assert_eq!(swappiness(true), "1");
        assert_eq!(swappiness(false), "10");
    }
}
