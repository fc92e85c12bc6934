//! What would undo lines for sysctl.d at the next boot: whatever is applied after them.

use dbdyno_model::host::Host;
use dbdyno_model::{Facts, Finding, Needs};

use super::owners::{Assignment, commented, order};
use crate::paste::{PasteExt, SYSCTL_FILE};
use crate::rule::FindingExt;

impl Assignment {
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

#[cfg(test)]
mod tests {
    use dbdyno_model::{Fact, Facts, HostAction, Needs};

    use super::outlasting;
    use crate::kernel::owners::tests::{configured, configured_by};
    use crate::paste::PasteExt;
    use crate::paste::tests::assert_pasted;
    use crate::testing::{healthy, host};

    const LAST: &str = "/etc/sysctl.d/99-sysctl.conf";

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
