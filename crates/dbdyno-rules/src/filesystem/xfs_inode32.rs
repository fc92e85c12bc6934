//! A large XFS keeps all its inodes in its first terabyte.
//!
//! ## What it finds
//! XFS of more than 1 TiB that is mounted with `inode32`.
//!
//! ## Why it matters
//! XFS places a file's data near its inode. With `inode32` all inodes lie in the first terabyte, so
//! data and inodes are far apart, and the beginning of the disk is busier than the rest; the
//! benchmark below saw 20 to 40 % between the two. It can also run out of inodes there while the
//! rest is empty.
//!
//! ## What to do
//! Mount with `inode64`, the default since Linux 3.7.
//!
//! ## Risk
//! None to the server. Old 32-bit programs cannot open files with large inode numbers.
//!
//! ## When it does not apply
//! Other and smaller file systems. Files that exist stay where they are.
//!
//! ## Sources
//! - <https://docs.kernel.org/admin-guide/xfs.html>
//! - Aligning IO on a hard disk RAID – the Benchmarks (2011-06-09)

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use crate::paste::{PasteExt, word};
use crate::rule::{FindingExt, Rule, host, humane_bytes, need, settle};
use crate::seen::storages;

pub(super) const RULE: Rule = Rule {
    id: "filesystem.xfs_inode32",
    severity: Severity::Info,
    confidence: Confidence::High,
    sources: &[
        "https://docs.kernel.org/admin-guide/xfs.html",
        "Aligning IO on a hard disk RAID – the Benchmarks (2011-06-09)",
    ],
    check,
    source_text: include_str!("xfs_inode32.rs"),
};

const ALL_NEAR_BYTES: u64 = 1 << 40;

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let storages = storages(host(facts)?)?
        .filter_map(|storage| (storage.filesystem == "xfs").then_some(storage));
    if storages.all.is_empty() {
        return storages.or_unread(Outcome::NotApplicable("no XFS".to_owned()));
    }
    for storage in &storages.all {
        if !storage.mount_options.iter().any(|one| one == "inode32") {
            continue;
        }
        let mount = &storage.mount_point;
        let total = need(&storage.total_bytes, &format!("size of {mount}"))?;
        if total <= ALL_NEAR_BYTES {
            continue;
        }
        return Ok(RULE
            .finding(format!(
                "{mount} ({} of XFS) is mounted with inode32: all inodes crowd into its first \
                 terabyte",
                humane_bytes(total)
            ))
            .evidence(
                "mount options",
                storage.mount_options.join(","),
                storage.origin,
            )
            .host_action(format!("mount -o remount,inode64 {mount}"), Needs::Remount)
            .run([format!("mount -o remount,inode64 {}", word(mount))])
            .host_action(
                format!("and for the next boot: inode64 for inode32 of {mount} in /etc/fstab"),
                Needs::Online,
            )
            .into_outcome());
    }
    storages.or_unread(Outcome::Ok)
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, not_applicable, ok, storage, unknown};
    use dbdyno_model::{Fact, Facts};

    fn mounted(option: &str, total: Fact<u64>) -> Facts {
        let mut facts = healthy();
        storage(&mut facts, |storage| {
            storage.filesystem = "xfs".to_owned();
            storage.mount_options = vec!["rw".to_owned(), option.to_owned()];
            storage.total_bytes = total.clone();
        });
        facts
    }

    fn bytes(bytes: u64) -> Fact<u64> {
        Fact::known(bytes, "statvfs")
    }

    #[test]
    fn a_large_one_is_found() {
        let finding = finding(&RULE, &mounted("inode32", bytes(4 << 40)));
        insta::assert_snapshot!(finding.message, @"/ (4 TiB of XFS) is mounted with inode32: all inodes crowd into its first terabyte");
        let told: Vec<&str> = finding
            .host_actions
            .iter()
            .map(|action| action.action.as_str())
            .collect();
        assert_eq!(
            told,
            [
                "mount -o remount,inode64 /",
                "and for the next boot: inode64 for inode32 of / in /etc/fstab"
            ]
        );
    }

    #[test]
    fn a_small_one_and_inode64_are_fine() {
        ok(&RULE, &mounted("inode32", bytes(1 << 40)));
        ok(&RULE, &mounted("inode64", bytes(4 << 40)));
    }

    #[test]
    fn ext4_is_not_applicable_and_an_unread_size_unknown() {
        not_applicable(&RULE, &healthy());
        assert_eq!(
            unknown(&RULE, &mounted("inode32", Fact::default())),
            "size of /: not collected"
        );
    }
}
