//! tuned: its active profile, and what that and the profiles it includes set.

use dbdyno_model::Fact;
use dbdyno_model::host::{Tuned, TunedSetting};

use super::ini::{self, Entry};
use super::root::{ReadError, Root};
use super::sysctl_files::{is_of_interest, sysctl_lines};

const ACTIVE: &str = "/etc/tuned/active_profile";
/// What has systemd start tuned at boot, and what tuned leaves while it runs.
const IN_USE: [&str; 2] = [
    "/etc/systemd/system/multi-user.target.wants/tuned.service",
    "/run/tuned/tuned.pid",
];
const MAIN: &str = "/etc/tuned/tuned-main.conf";
/// systemd reads it only where sysctl.d links to it.
const SYSCTL_CONF: &str = "/etc/sysctl.conf";
/// Where profiles are looked for, from the one that wins to the one that loses.
const DIRECTORIES: [&str; 4] = [
    "/etc/tuned/profiles",
    "/etc/tuned",
    "/usr/lib/tuned/profiles",
    "/usr/lib/tuned",
];
/// From 2.24 on, profiles have a directory of their own below tuned's.
const OF_PROFILES: [&str; 2] = ["/usr/lib/tuned/profiles", DIRECTORIES[0]];
pub(super) const SECTIONS: [&str; 4] = ["sysctl", "vm", "disk", "cpu"];
/// A profile with more was not written by hand, and none of what it says can be trusted.
const MOST_SETTINGS: usize = 1024;
/// Profiles include others; more than that is a circle.
const MOST_PROFILES: usize = 16;

/// Whether tuned applies sysctl.d again after its profile, which it does unless it is told not to.
pub fn reapplies_sysctl(main: &str) -> bool {
    let value = ini::entries(main)
        .into_iter()
        .rfind(|entry| entry.name == "reapply_sysctl")
        .map(|entry| entry.value.to_ascii_lowercase());
    !matches!(value.as_deref(), Some("0" | "false" | "no" | "off"))
}

/// The profiles that one includes, and what it sets itself.
pub fn profile(text: &str, file: &str) -> (Vec<String>, Vec<TunedSetting>) {
    let (main, rest): (Vec<Entry>, Vec<Entry>) = ini::entries(text)
        .into_iter()
        .partition(|entry| entry.section == "main");
    let includes = main
        .iter()
        .filter(|entry| entry.name == "include")
        .flat_map(|entry| entry.value.split([',', ';', ' ']))
        // A question mark makes an include optional.
        .map(|name| name.trim().trim_start_matches('?').to_owned())
        .filter(|name| !name.is_empty())
        .collect();
    let settings = rest
        .into_iter()
        .filter(|entry| SECTIONS.contains(&entry.section.as_str()))
        .filter(|entry| entry.section != "sysctl" || is_of_interest(&entry.name))
        .map(|entry| TunedSetting {
            section: entry.section,
            name: entry.name,
            value: entry.value,
            file: file.to_owned(),
        })
        .collect();
    (includes, settings)
}

/// The file with the active profile stays where its owner has switched tuned off.
fn is_in_use(root: &Root) -> bool {
    !root.exists("/run/systemd/system") || IN_USE.iter().any(|path| root.exists(path))
}

pub(super) fn collect(root: &Root) -> Fact<Tuned> {
    let active: Vec<String> = match root.text(ACTIVE) {
        Ok(text) => text.split_whitespace().map(str::to_owned).collect(),
        Err(ReadError::Empty) => Vec::new(),
        Err(error) if error.is_missing() && root.exists("/etc") => Vec::new(),
        Err(error) => return Fact::unknown(error.to_string(), ACTIVE),
    };
    let active = if is_in_use(root) { active } else { Vec::new() };
    let main = root.text(MAIN).unwrap_or_default();
    let sysctl_conf = match root.lossy_text(SYSCTL_CONF) {
        Ok(text) => sysctl_lines(&text, SYSCTL_CONF),
        Err(error @ ReadError::Denied) => {
            return Fact::unknown(format!("{SYSCTL_CONF}: {error}"), ACTIVE);
        }
        Err(_) => Vec::new(),
    };
    let mut tuned = Tuned {
        profile: (!active.is_empty()).then(|| active.join(" ")),
        reapplies_sysctl: reapplies_sysctl(&main),
        sysctl_conf: sysctl_conf.into_iter().take(MOST_SETTINGS).collect(),
        directory: owners_directory(root).to_owned(),
        ..Tuned::default()
    };
    let mut seen = Vec::new();
    for name in &active {
        add(root, name, &mut tuned, &mut seen);
    }
    Fact::known(tuned, ACTIVE)
}

/// Where this release looks for profiles of the owner's.
fn owners_directory(root: &Root) -> &'static str {
    let has_own = OF_PROFILES.iter().any(|directory| root.exists(directory));
    DIRECTORIES[usize::from(!has_own)]
}

/// Adds a profile after those that it includes, so that its own values win.
fn add(root: &Root, name: &str, tuned: &mut Tuned, seen: &mut Vec<String>) {
    if seen.len() == MOST_PROFILES || seen.iter().any(|known| known == name) {
        return;
    }
    seen.push(name.to_owned());
    let found = DIRECTORIES
        .iter()
        // A name with a path in it would lead out of the directory, one with a variable is no name.
        .filter(|_| !name.contains(['/', '$']))
        .find_map(|directory| {
            let file = format!("{directory}/{name}/tuned.conf");
            Some((root.lossy_text(&file).ok()?, file))
        });
    let Some((text, file)) = found else {
        tuned.missing.push(name.to_owned());
        return;
    };
    let (includes, settings) = profile(&text, &file);
    for include in includes {
        add(root, &include, tuned, seen);
    }
    for setting in settings.into_iter().take(MOST_SETTINGS) {
        tuned
            .settings
            .retain(|known| (&known.section, &known.name) != (&setting.section, &setting.name));
        tuned.settings.push(setting);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_names_its_includes_and_settings() {
        let text = "[main]\nsummary=x\ninclude=throughput-performance, ?mine\n[sysctl]\nvm.swappiness=3\nkernel.hostname=x\n[disk]\nreadahead=>4096\n[script]\nscript=a.sh\n";
        let (includes, settings) = profile(text, "/f");
        assert_eq!(includes, ["throughput-performance", "mine"]);
        let short: Vec<(&str, &str)> = settings
            .iter()
            .map(|setting| (setting.name.as_str(), setting.value.as_str()))
            .collect();
        assert_eq!(short, [("vm.swappiness", "3"), ("readahead", ">4096")]);
    }

    #[test]
    fn sysctl_d_is_applied_again_unless_told_otherwise() {
        assert!(reapplies_sysctl(""));
        assert!(reapplies_sysctl("reapply_sysctl = 1\n"));
        assert!(!reapplies_sysctl(
            "# reapply_sysctl = 1\nreapply_sysctl = 0\n"
        ));
    }

    #[test]
    fn includes_come_first_and_circles_end() {
        let tree = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = tree.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("etc/tuned/active_profile", "child\n");
        write(
            "etc/sysctl.conf",
            "# x\nvm.swappiness = 5\nkernel.hostname = x\n",
        );
        write(
            "etc/tuned/child/tuned.conf",
            "[main]\ninclude=parent\n[sysctl]\nvm.swappiness=1\n",
        );
        write(
            "usr/lib/tuned/parent/tuned.conf",
            "[main]\ninclude=child,absent\n[sysctl]\nvm.swappiness=10\nvm.dirty_ratio=40\n",
        );
        let tuned = collect(&Root::new(tree.path()));
        let tuned = tuned.value().unwrap();
        assert_eq!(tuned.directory, "/etc/tuned");
        assert_eq!(tuned.profile.as_deref(), Some("child"));
        assert_eq!(tuned.missing, ["absent"]);
        let places: Vec<String> = tuned.sysctl_conf.iter().map(|line| line.place()).collect();
        assert_eq!(places, ["/etc/sysctl.conf:2"]);
        let swappiness: Vec<&str> = tuned
            .settings
            .iter()
            .filter(|setting| setting.name == "vm.swappiness")
            .map(|setting| setting.value.as_str())
            .collect();
        assert_eq!(swappiness, ["1"]);
        assert_eq!(tuned.settings.len(), 2);
    }

    #[test]
    fn a_profile_of_a_tuned_that_is_switched_off_is_not_active() {
        let tree = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = tree.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let active = || {
            let tuned = collect(&Root::new(tree.path()));
            tuned.value().unwrap().profile.clone()
        };
        write("etc/tuned/active_profile", "virtual-guest\n");
        assert!(active().is_some());
        std::fs::create_dir_all(tree.path().join("run/systemd/system")).unwrap();
        assert_eq!(active(), None);
        write("run/tuned/tuned.pid", "589");
        assert_eq!(active().as_deref(), Some("virtual-guest"));
        std::fs::remove_file(tree.path().join("run/tuned/tuned.pid")).unwrap();
        let wants = "etc/systemd/system/multi-user.target.wants/tuned.service";
        write(wants, "");
        assert_eq!(active().as_deref(), Some("virtual-guest"));
    }

    #[test]
    fn newer_releases_look_one_directory_below() {
        for stock in ["etc/tuned/profiles", "usr/lib/tuned/profiles"] {
            let tree = tempfile::tempdir().unwrap();
            std::fs::create_dir_all(tree.path().join("etc")).unwrap();
            std::fs::create_dir_all(tree.path().join(stock)).unwrap();
            let tuned = collect(&Root::new(tree.path()));
            assert_eq!(tuned.value().unwrap().directory, "/etc/tuned/profiles");
        }
    }
}
