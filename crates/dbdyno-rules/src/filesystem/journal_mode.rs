//! ext4 writes file content through its journal, or not even in order.
//!
//! ## What it finds
//! `data=journal` or `data=writeback` among the mount options of ext3 or ext4.
//!
//! ## Why it matters
//! `data=journal` writes every page twice; the server's own write-ahead log already does what that
//! journal would. `data=writeback` lets a file that grew before a crash show blocks that others
//! deleted; PostgreSQL's recovery overwrites them, so for it that is a small matter.
//!
//! ## What to do
//! Mount with `data=ordered`, the default.
//!
//! ## Risk
//! None to data. The mode cannot be changed by a remount: the server stops meanwhile.
//!
//! ## When it does not apply
//! Other file systems. A mode that is set as a default in the file system itself (`tune2fs -o`)
//! does not show among the mount options.
//!
//! ## Sources
//! - <https://docs.kernel.org/admin-guide/ext4.html>
//! - <https://www.postgresql.org/docs/current/wal-intro.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use crate::rule::{FindingExt, Rule, host, settle};
use crate::seen::storages;

pub(super) const RULE: Rule = Rule {
    id: "filesystem.journal_mode",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &[
        "https://docs.kernel.org/admin-guide/ext4.html",
        "https://www.postgresql.org/docs/current/wal-intro.html",
    ],
    check,
    source_text: include_str!("journal_mode.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let storages = storages(host(facts)?)?.filter_map(|storage| {
        matches!(storage.filesystem.as_str(), "ext3" | "ext4").then_some(storage)
    });
    if storages.all.is_empty() {
        return storages.or_unread(Outcome::NotApplicable("neither ext3 nor ext4".to_owned()));
    }
    let with = |mode: &str| {
        let storage = storages
            .all
            .iter()
            .find(|storage| storage.mount_options.iter().any(|o| o == mode));
        storage.map(|storage| (mode.to_owned(), *storage))
    };
    let Some((mode, storage)) = with("data=journal").or_else(|| with("data=writeback")) else {
        return storages.or_unread(Outcome::Ok);
    };
    let (severity, why) = if mode == "data=journal" {
        (Severity::Warn, "everything is written twice")
    } else {
        (
            Severity::Info,
            "after a crash grown files may show blocks that others deleted",
        )
    };
    let mount = &storage.mount_point;
    Ok(RULE
        .finding(format!(
            "{mount} ({}) is mounted with {mode}: {why}",
            storage.filesystem
        ))
        .severity(severity)
        .evidence(
            "mount options",
            storage.mount_options.join(","),
            storage.origin,
        )
        .host_action(
            format!(
                "remove {mode} from /etc/fstab, stop the server, umount {mount}, mount {mount}"
            ),
            Needs::Remount,
        )
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, host, not_applicable, ok, unknown};
    use dbdyno_model::{Fact, Facts, Severity};

    fn mounted(filesystem: &str, option: &str) -> Facts {
        let mut facts = healthy();
        let host = facts.host.as_mut().unwrap();
        let mut data = host.data.value().unwrap().clone();
        data.mount_options.push(option.to_owned());
        data.filesystem = filesystem.to_owned();
        host.data = Fact::known(data, "/proc/self/mountinfo");
        facts
    }

    #[test]
    fn a_data_journal_is_found() {
        let finding = finding(&RULE, &mounted("ext4", "data=journal"));
        insta::assert_snapshot!(finding.message, @"/ (ext4) is mounted with data=journal: everything is written twice");
        assert_eq!(finding.severity, Severity::Warn);
    }

    #[test]
    fn writeback_is_only_told() {
        let finding = finding(&RULE, &mounted("ext4", "data=writeback"));
        assert_eq!(finding.severity, Severity::Info);
    }

    #[test]
    fn ordered_is_fine_named_or_not() {
        ok(&RULE, &healthy());
        ok(&RULE, &mounted("ext4", "data=ordered"));
    }

    #[test]
    fn xfs_is_not_applicable() {
        not_applicable(&RULE, &mounted("xfs", "noatime"));
    }

    #[test]
    fn a_log_that_was_not_seen_leaves_it_unknown_and_hides_no_finding() {
        let mut facts = mounted("ext4", "data=ordered");
        host(&mut facts).wal = Fact::default();
        let why = unknown(&RULE, &facts);
        assert_eq!(why, "storage of the write-ahead log: not collected");
        let mut facts = mounted("ext4", "data=journal");
        host(&mut facts).wal = Fact::default();
        finding(&RULE, &facts);
    }

    #[test]
    fn the_logs_own_mount_is_named_where_it_was_read() {
        let mut facts = healthy();
        let host = host(&mut facts);
        let mut wal = host.wal.value().unwrap().clone();
        wal.mount_point = "/wal".to_owned();
        wal.mount_options.push("data=journal".to_owned());
        host.wal = Fact::known(wal, "/proc/7/mountinfo /wal");
        let finding = finding(&RULE, &facts);
        assert!(finding.message.starts_with("/wal (ext4)"));
        assert_eq!(finding.evidence[0].origin, "/proc/7/mountinfo /wal");
    }
}
