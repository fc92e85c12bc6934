//! Every read of a file writes its access time.
//!
//! ## What it finds
//! A file system under the database that is mounted without `noatime` and `relatime`.
//!
//! ## Why it matters
//! With strict access times each read dirties an inode, which is written back later and mixes small
//! metadata writes into the database's. `relatime`, the default since Linux 2.6.30, already removes
//! most of them.
//!
//! ## What to do
//! Mount with `noatime`; on ZFS it is the dataset's property `atime`. The gain is small where files are
//! few and large.
//!
//! ## Risk
//! None to the server. Programs that look at access times (some mail and backup tools) see old
//! ones.
//!
//! ## When it does not apply
//! `relatime`, `noatime` and `lazytime` pass.
//!
//! ## Sources
//! - <https://man7.org/linux/man-pages/man8/mount.8.html>
//! - <https://openzfs.github.io/openzfs-docs/man/master/7/zfsprops.7.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use crate::paste::{PasteExt, word};
use crate::rule::{FindingExt, Rule, host, settle};
use crate::seen::storages;

pub(super) const RULE: Rule = Rule {
    id: "filesystem.access_time",
    severity: Severity::Info,
    confidence: Confidence::High,
    sources: &[
        "https://man7.org/linux/man-pages/man8/mount.8.html",
        "https://openzfs.github.io/openzfs-docs/man/master/7/zfsprops.7.html",
    ],
    check,
    source_text: include_str!("access_time.rs"),
};

const CHEAP: [&str; 3] = ["noatime", "relatime", "lazytime"];

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let storages = storages(host(facts)?)?;
    let strict = storages.all.iter().find(|storage| {
        !storage
            .mount_options
            .iter()
            .any(|option| CHEAP.contains(&option.as_str()))
    });
    let Some(storage) = strict else {
        return storages.or_unread(Outcome::Ok);
    };
    let mount = &storage.mount_point;
    let finding = RULE
        .finding(format!(
            "{mount} is mounted with strict access times: every read writes an inode"
        ))
        .evidence(
            "mount options",
            storage.mount_options.join(","),
            storage.origin,
        );
    if storage.filesystem == "zfs" {
        let dataset = &storage.source;
        return Ok(finding
            .host_action(format!("zfs set atime=off {dataset}"), Needs::Online)
            .run([format!("zfs set atime=off {}", word(dataset))])
            .into_outcome());
    }
    Ok(finding
        .host_action(format!("mount -o remount,noatime {mount}"), Needs::Remount)
        .run([format!("mount -o remount,noatime {}", word(mount))])
        .host_action(
            format!("and for the next boot: add noatime to the options of {mount} in /etc/fstab"),
            Needs::Online,
        )
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, ok, unknown};
    use dbdyno_model::{Fact, Facts};

    fn mounted(options: &[&str]) -> Facts {
        let mut facts = healthy();
        let host = facts.host.as_mut().unwrap();
        let mut data = host.data.value().unwrap().clone();
        data.mount_options = options.iter().map(|option| (*option).to_owned()).collect();
        host.data = Fact::known(data, "/proc/self/mountinfo");
        facts
    }

    #[test]
    fn strict_access_times_are_found() {
        let finding = finding(&RULE, &mounted(&["rw", "nosuid"]));
        insta::assert_snapshot!(finding.message, @"/ is mounted with strict access times: every read writes an inode");
        let told: Vec<&str> = finding
            .host_actions
            .iter()
            .map(|action| action.action.as_str())
            .collect();
        assert_eq!(
            told,
            [
                "mount -o remount,noatime /",
                "and for the next boot: add noatime to the options of / in /etc/fstab"
            ]
        );
    }

    /// A mount option would last until the next boot, and there is no line in /etc/fstab.
    #[test]
    fn on_zfs_it_is_a_property() {
        let mut facts = mounted(&["rw", "xattr"]);
        let host = facts.host.as_mut().unwrap();
        host.data = host.data.clone().map(|mut data| {
            data.filesystem = "zfs".to_owned();
            data.source = "tank/pg data".to_owned();
            data
        });
        let actions = finding(&RULE, &facts).host_actions;
        assert_eq!(actions.len(), 1);
        assert_eq!(actions[0].commands, ["zfs set atime=off 'tank/pg data'"]);
    }

    #[test]
    fn relatime_and_noatime_are_fine() {
        ok(&RULE, &healthy());
        ok(&RULE, &mounted(&["rw", "noatime"]));
    }

    #[test]
    fn storage_that_was_not_read_is_unknown() {
        let mut facts = healthy();
        facts.host.as_mut().unwrap().data = Fact::default();
        assert_eq!(
            unknown(&RULE, &facts),
            "storage of the data directory: not collected"
        );
    }
}
