//! The file system does not flush the disk's cache.
//!
//! ## What it finds
//! `nobarrier` or `barrier=0` among the mount options; `nobarrier` or `barrier` in /etc/fstab for XFS
//! on Linux 4.19 or later, which is warned of.
//!
//! ## Why it matters
//! Without barriers fsync returns before the drive has emptied its cache. A power cut then loses
//! commits that were acknowledged, and may write a data page but not the log record that belongs to
//! it: the database is corrupt, and recovery cannot tell. XFS dropped the option in Linux 4.19: a
//! line that still has it fails to mount at the next boot.
//!
//! ## What to do
//! Remove the option from /etc/fstab and mount again with barriers.
//!
//! ## Risk
//! None to data. Commits become as slow as the drive's flush really is.
//!
//! ## When it does not apply
//! File systems without that option. On ext4 it is tolerable only where every cache below keeps its
//! content through a power cut.
//!
//! ## Sources
//! - <https://docs.kernel.org/admin-guide/ext4.html>
//! - <https://docs.kernel.org/admin-guide/xfs.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::host::{Host, Storage};
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use crate::paste::{PasteExt, word};
use crate::rule::{FindingExt, Rule, host, kernel_version, settle};
use crate::seen::storages;

pub(super) const RULE: Rule = Rule {
    id: "filesystem.write_barriers",
    severity: Severity::Critical,
    confidence: Confidence::High,
    sources: &[
        "https://docs.kernel.org/admin-guide/ext4.html",
        "https://docs.kernel.org/admin-guide/xfs.html",
    ],
    check,
    source_text: include_str!("write_barriers.rs"),
};

const WITH_BARRIERS: [&str; 5] = ["ext3", "ext4", "xfs", "btrfs", "f2fs"];

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let host = host(facts)?;
    let storages = storages(host)?;
    for storage in &storages.all {
        let off = ["nobarrier", "barrier=0"];
        let option = storage
            .mount_options
            .iter()
            .find(|option| off.contains(&option.as_str()));
        let Some(option) = option else {
            continue;
        };
        let mount = &storage.mount_point;
        let back = if storage.filesystem.starts_with("ext") {
            "barrier=1"
        } else {
            "barrier"
        };
        return Ok(RULE
            .finding(format!(
                "{mount} ({}) is mounted with {option}: a power cut may corrupt the database",
                storage.filesystem
            ))
            .keeps_data()
            .evidence(
                "mount options",
                storage.mount_options.join(","),
                storage.origin,
            )
            .host_action(format!("mount -o remount,{back} {mount}"), Needs::Remount)
            .run([format!("mount -o remount,{back} {}", word(mount))])
            .costing("commits become as slow as the drive's flush really is")
            .host_action(
                format!(
                    "and for the next boot: remove {option} from the line of {mount} in /etc/fstab"
                ),
                Needs::Online,
            )
            .into_outcome());
    }
    if let Some(outcome) = storages
        .all
        .iter()
        .find_map(|storage| refused(host, storage))
    {
        return Ok(outcome);
    }
    if storages
        .all
        .iter()
        .any(|storage| WITH_BARRIERS.contains(&storage.filesystem.as_str()))
    {
        return storages.or_unread(Outcome::Ok);
    }
    let kind = storages
        .all
        .first()
        .map_or("the file system", |storage| &storage.filesystem);
    storages.or_unread(Outcome::NotApplicable(format!(
        "{kind} has no mount option for barriers"
    )))
}

/// An option in /etc/fstab that XFS no longer knows: the mount of the next boot fails.
fn refused(host: &Host, storage: &Storage) -> Option<Outcome> {
    let options = storage.fstab_options.value()?;
    let option = options
        .iter()
        .find(|option| matches!(option.as_str(), "nobarrier" | "barrier"))?;
    let release = host.kernel_release.value()?;
    let is_new = kernel_version(release).is_some_and(|version| version >= (4, 19));
    if storage.filesystem != "xfs" || !is_new {
        return None;
    }
    let mount = &storage.mount_point;
    Some(
        RULE.finding(format!(
            "/etc/fstab mounts {mount} (xfs) with {option}, which Linux {release} does not know: \
             the next mount fails"
        ))
        .severity(Severity::Warn)
        .keeps_running()
        .evidence(
            "options in fstab",
            options.join(","),
            &storage.fstab_options.origin,
        )
        .host_action(
            format!("remove {option} from the line of {mount} in /etc/fstab"),
            Needs::Online,
        )
        .into_outcome(),
    )
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, host, not_applicable, ok, storage};
    use dbdyno_model::{Fact, Facts, Severity};

    fn mounted(filesystem: &str, option: &str) -> Facts {
        let mut facts = healthy();
        let host = facts.host.as_mut().unwrap();
        let mut data = host.data.value().unwrap().clone();
        data.mount_options.push(option.to_owned());
        data.filesystem = filesystem.to_owned();
        host.data = Fact::known(data.clone(), "/proc/self/mountinfo");
        host.wal = Fact::known(data, "/proc/self/mountinfo");
        facts
    }

    #[test]
    fn no_barriers_are_found() {
        let finding = finding(&RULE, &mounted("ext4", "nobarrier"));
        insta::assert_snapshot!(finding.message, @"/ (ext4) is mounted with nobarrier: a power cut may corrupt the database");
        let told: Vec<&str> = finding
            .host_actions
            .iter()
            .map(|action| action.action.as_str())
            .collect();
        assert_eq!(
            told,
            [
                "mount -o remount,barrier=1 /",
                "and for the next boot: remove nobarrier from the line of / in /etc/fstab"
            ]
        );
    }

    #[test]
    fn a_line_in_fstab_that_xfs_refuses_is_warned_of() {
        let mut facts = mounted("xfs", "noatime");
        storage(&mut facts, |storage| {
            let options = vec!["noatime".to_owned(), "nobarrier".to_owned()];
            storage.fstab_options = Fact::known(options, "/etc/fstab");
        });
        let warned = finding(&RULE, &facts);
        insta::assert_snapshot!(warned.message, @"/etc/fstab mounts / (xfs) with nobarrier, which Linux 6.18.44 does not know: the next mount fails");
        assert_eq!(warned.severity, Severity::Warn);
        host(&mut facts).kernel_release = Fact::known("4.18.0-553.el8".to_owned(), "osrelease");
        ok(&RULE, &facts);
    }

    #[test]
    fn barriers_are_fine() {
        ok(&RULE, &healthy());
        ok(&RULE, &mounted("ext4", "barrier=1"));
    }

    #[test]
    fn zfs_is_not_applicable() {
        not_applicable(&RULE, &mounted("zfs", "noatime"));
    }
}
