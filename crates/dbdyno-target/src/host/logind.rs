//! systemd-logind: whether it removes the shared memory of users who log out.

use dbdyno_model::Fact;

use super::ini;
use super::root::Root;

const MAIN: [&str; 3] = [
    "/etc/systemd/logind.conf",
    "/usr/local/lib/systemd/logind.conf",
    "/usr/lib/systemd/logind.conf",
];
/// From the one that wins to the one that loses.
const DROP_INS: [&str; 5] = [
    "/etc/systemd/logind.conf.d",
    "/run/systemd/logind.conf.d",
    "/usr/local/lib/systemd/logind.conf.d",
    "/usr/lib/systemd/logind.conf.d",
    "/lib/systemd/logind.conf.d",
];

/// What one file says, in words that systemd takes for a truth value.
pub fn remove_ipc(text: &str) -> Option<bool> {
    ini::entries(text)
        .into_iter()
        .filter(|entry| entry.section == "Login" && entry.name == "RemoveIPC")
        .filter_map(|entry| truth(&entry.value))
        .next_back()
}

/// The default that a distribution compiled in: its file shows it behind a comment sign.
pub fn remove_ipc_default(text: &str) -> Option<bool> {
    let line = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("#RemoveIPC="))?;
    truth(line)
}

fn truth(word: &str) -> Option<bool> {
    match word.trim().to_ascii_lowercase().as_str() {
        "1" | "yes" | "y" | "true" | "t" | "on" => Some(true),
        "0" | "no" | "n" | "false" | "f" | "off" => Some(false),
        _ => None,
    }
}

pub(super) fn collect(root: &Root) -> Fact<bool> {
    // Where systemd does not run, nobody removes anything.
    if !root.exists("/run/systemd/system") {
        return Fact::unknown("systemd does not run here", "/run/systemd/system");
    }
    let main = MAIN
        .into_iter()
        .find_map(|path| Some((root.lossy_text(path).ok()?, path)));
    let (text, path) = main.unwrap_or_default();
    let mut answer = (remove_ipc(&text), path.to_owned());
    for path in ini::merged(root, &DROP_INS.map(str::to_owned)) {
        let said = root.lossy_text(&path).ok();
        if let Some(said) = said.and_then(|text| remove_ipc(&text)) {
            answer = (Some(said), path);
        }
    }
    match answer {
        (Some(removes), path) => Fact::known(removes, format!("{path} RemoveIPC")),
        // logind.conf(5): yes, unless the distribution decided otherwise.
        (None, _) => Fact::known(
            remove_ipc_default(&text).unwrap_or(true),
            "systemd-logind's default of RemoveIPC",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_counts_and_the_comment_shows_the_default() {
        let text = "[Login]\n#RemoveIPC=yes\nRemoveIPC=maybe\n";
        assert_eq!(remove_ipc(text), None);
        assert_eq!(remove_ipc_default(text), Some(true));
        assert_eq!(
            remove_ipc("[Login]\nRemoveIPC=yes\nRemoveIPC=No\n"),
            Some(false)
        );
        assert_eq!(remove_ipc("RemoveIPC=no\n"), None);
    }

    #[test]
    fn drop_ins_win_over_the_file() {
        let tree = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = tree.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let root = Root::new(tree.path());
        assert_eq!(collect(&root).get(), None);
        write("run/systemd/system/x", "");
        assert_eq!(collect(&root).get(), Some(true));
        write("etc/systemd/logind.conf", "[Login]\n#RemoveIPC=no\n");
        assert_eq!(collect(&root).get(), Some(false));
        write(
            "etc/systemd/logind.conf.d/a.conf",
            "[Login]\nRemoveIPC=yes\n",
        );
        let fact = collect(&root);
        assert_eq!(fact.get(), Some(true));
        assert_eq!(fact.origin, "/etc/systemd/logind.conf.d/a.conf RemoveIPC");
    }
}
