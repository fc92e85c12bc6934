//! The data lie on a file system that is no good home for a database.
//!
//! ## What it finds
//! Data, write-ahead log or a tablespace on ext2, ext3, FUSE, an overlay, memory (tmpfs, ramfs), a
//! foreign or shared file system (vfat, exfat, ntfs, cifs, 9p), NFS mounted without `hard`, or btrfs
//! mounted without `nodatacow`.
//!
//! ## Why it matters
//! ext2 has no journal and ext3 serialises fsync. An overlay dies with its container, memory with
//! the machine. A soft NFS mount turns a network fault into an I/O error, and PostgreSQL stops for
//! a failed fsync. Copy-on-write scatters a file that is overwritten in place until scans read
//! single blocks.
//!
//! ## What to do
//! Keep the data on ext4 or XFS, on a volume of their own; mount NFS with `hard`, and let the NFS
//! server export with `sync`.
//!
//! ## Risk
//! The move needs the server stopped and the files copied. Without copy-on-write btrfs keeps no
//! checksums of the data either, nor can it compress them: see postgres.data_checksums.
//!
//! ## When it does not apply
//! ext4, XFS and ZFS pass (ZFS has rules of its own), and so does a directory on btrfs that was made
//! with `chattr +C`; the attribute shows to the directory's owner and to root only. File systems
//! that this rule does not know are not assessed.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/creating-cluster.html>
//! - <https://btrfs.readthedocs.io/en/latest/ch-mount-options.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::host::{Storage, is_container_layer};
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use crate::rule::{FindingExt, Rule, host, settle};
use crate::seen::storages;

pub(super) const RULE: Rule = Rule {
    id: "filesystem.type",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &[
        "https://www.postgresql.org/docs/current/creating-cluster.html",
        "https://btrfs.readthedocs.io/en/latest/ch-mount-options.html",
    ],
    check,
    source_text: include_str!("type.rs"),
};

/// What these do badly costs time and no data.
const SLOW_ONLY: [&str; 2] = ["btrfs", "ext3"];

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let storages = storages(host(facts)?)?;
    let mut strange = None;
    for storage in &storages.all {
        let why = match judge(storage) {
            Judgement::Fine => continue,
            Judgement::Strange => {
                strange = Some(&storage.filesystem);
                continue;
            }
            Judgement::Unfit(why) => why,
        };
        let severity = match storage.filesystem.as_str() {
            // What a lab server keeps in memory is meant to be lost.
            "tmpfs" | "ramfs" if !facts.intent.lab => Severity::Critical,
            _ => Severity::Warn,
        };
        let (action, needs) = mend(storage);
        let finding = RULE.finding(format!(
            "{} lies on {}: {why}",
            storage.path, storage.filesystem
        ));
        let finding = if SLOW_ONLY.contains(&storage.filesystem.as_str()) {
            finding
        } else {
            finding.keeps_data()
        };
        return Ok(finding
            .severity(severity)
            .evidence("file system", &storage.filesystem, storage.origin)
            .evidence(
                "mount options",
                storage.mount_options.join(","),
                storage.origin,
            )
            .host_action(action, needs)
            .into_outcome());
    }
    match strange {
        Some(name) => Err(Outcome::Unknown(format!(
            "fitness of {name}: this rule does not know it"
        ))),
        None => storages.or_unread(Outcome::Ok),
    }
}

enum Judgement {
    Fine,
    Unfit(&'static str),
    /// Neither known to be good nor to be bad.
    Strange,
}

fn judge(storage: &Storage) -> Judgement {
    let has = |option: &str| storage.mount_options.iter().any(|found| found == option);
    Judgement::Unfit(match storage.filesystem.as_str() {
        "ext4" | "xfs" | "zfs" => return Judgement::Fine,
        "ext2" => "it has no journal, and a crash needs a full check",
        "ext3" => "every fsync waits for the whole file system's journal",
        "tmpfs" | "ramfs" => "everything is lost when the machine stops",
        name if is_container_layer(name) => "the data vanish with the container",
        "nfs" | "nfs4" if has("hard") && !has("soft") => return Judgement::Fine,
        "nfs" | "nfs4" => "without the mount option hard a network fault becomes an I/O error",
        "btrfs" if has("nodatacow") || storage.no_copy_on_write.get() == Some(true) => {
            return Judgement::Fine;
        }
        "btrfs" => "copy-on-write scatters files unless the directory was made with chattr +C",
        "9p" | "virtiofs" | "cifs" | "smb3" | "vfat" | "msdos" | "exfat" | "ntfs" | "ntfs3" => {
            "it does not promise what fsync and rename must keep"
        }
        name if name.starts_with("fuse") => "durability depends on a program in user space",
        _ => return Judgement::Strange,
    })
}

fn mend(storage: &Storage) -> (String, Needs) {
    let path = &storage.path;
    match storage.filesystem.as_str() {
        "nfs" | "nfs4" => (
            format!(
                "replace soft by hard for {} in /etc/fstab and mount it anew",
                storage.mount_point
            ),
            Needs::Remount,
        ),
        "btrfs" => (
            format!("stop the server, make a new directory, chattr +C it, copy {path} into it"),
            Needs::Migration,
        ),
        _ => (
            format!("stop the server and copy {path} to a volume with ext4 or XFS"),
            Needs::Migration,
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, ok, storage, unknown};
    use dbdyno_model::{Effect, Fact, Facts, Needs, Severity};

    fn on(filesystem: &str, options: &[&str]) -> Facts {
        let mut facts = healthy();
        let host = facts.host.as_mut().unwrap();
        let mut data = host.data.value().unwrap().clone();
        data.filesystem = filesystem.to_owned();
        data.mount_options = options.iter().map(|option| (*option).to_owned()).collect();
        host.data = Fact::known(data, "/proc/self/mountinfo");
        facts
    }

    #[test]
    fn an_overlay_is_found() {
        let finding = finding(&RULE, &on("overlay", &["rw"]));
        insta::assert_snapshot!(finding.message, @"/var/lib/dbdyno/lab/data lies on overlay: the data vanish with the container");
        assert_eq!(finding.severity, Severity::Warn);
        assert_eq!(finding.effect, Effect::Durability);
    }

    #[test]
    fn the_layer_of_a_rootless_container_is_one_too() {
        let finding = finding(&RULE, &on("fuse.fuse-overlayfs", &["rw"]));
        assert!(
            finding
                .message
                .ends_with("the data vanish with the container")
        );
    }

    #[test]
    fn what_is_slow_alone_is_no_matter_of_data() {
        for filesystem in ["btrfs", "ext3"] {
            let finding = finding(&RULE, &on(filesystem, &["rw"]));
            assert_eq!(finding.effect, Effect::Operation, "{filesystem}");
        }
    }

    #[test]
    fn memory_is_critical_except_for_a_lab_server() {
        let mut facts = on("tmpfs", &["rw"]);
        assert_eq!(finding(&RULE, &facts).severity, Severity::Critical);
        facts.intent.lab = true;
        assert_eq!(finding(&RULE, &facts).severity, Severity::Warn);
    }

    #[test]
    fn nfs_needs_hard_and_not_sync() {
        ok(&RULE, &on("nfs4", &["rw", "hard"]));
        let finding = finding(&RULE, &on("nfs4", &["rw", "soft", "sync"]));
        assert_eq!(finding.host_actions[0].needs, Needs::Remount);
    }

    #[test]
    fn ext4_xfs_and_btrfs_without_copy_on_write_are_fine() {
        ok(&RULE, &healthy());
        ok(&RULE, &on("xfs", &["rw"]));
        ok(&RULE, &on("btrfs", &["rw", "nodatacow"]));
        let mut facts = on("btrfs", &["rw"]);
        storage(&mut facts, |storage| {
            storage.no_copy_on_write = Fact::known(true, "FS_IOC_GETFLAGS");
        });
        ok(&RULE, &facts);
    }

    #[test]
    fn a_strange_one_is_unknown() {
        assert_eq!(
            unknown(&RULE, &on("bcachefs", &["rw"])),
            "fitness of bcachefs: this rule does not know it"
        );
    }
}
