//! Pages whose damage nobody would notice.
//!
//! ## What it finds
//! `data_checksums` off on a file system that keeps no checksums of its own.
//!
//! ## Why it matters
//! Disks, controllers and memory change bits. Without checksums a damaged page is read as data,
//! copied to replicas by the next full-page image and kept in every backup.
//!
//! ## What to do
//! Stop the server cleanly and run `pg_checksums --enable`, or enable them on a standby and switch
//! over to it. From PostgreSQL 18 new clusters have them.
//!
//! ## Risk
//! The server is down while every page is rewritten. Afterwards the cost is small, and hint bits
//! are logged.
//!
//! ## When it does not apply
//! ZFS and btrfs, which check every block, except btrfs with `nodatacow`, `nodatasum` or a directory
//! made with `chattr +C`: such files have no checksums. Lab servers, which hold nothing to protect.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/app-pgchecksums.html>
//! - <https://www.postgresql.org/docs/18/release-18.html>
//! - <https://btrfs.readthedocs.io/en/latest/ch-mount-options.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::host::Storage;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use super::settings::{self, SettingEvidence};
use crate::rule::{FindingExt, Rule, host, need, need_ref, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "postgres.data_checksums",
    severity: Severity::Warn,
    confidence: Confidence::High,
    sources: &[
        "https://www.postgresql.org/docs/current/app-pgchecksums.html",
        "https://www.postgresql.org/docs/18/release-18.html",
        "https://btrfs.readthedocs.io/en/latest/ch-mount-options.html",
    ],
    check,
    source_text: include_str!("data_checksums.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    if facts.intent.lab {
        return Err(Outcome::NotApplicable(
            "a lab server holds nothing to protect".to_owned(),
        ));
    }
    if settings::flag(postgres, "data_checksums")? {
        return Ok(Outcome::Ok);
    }
    let storage = need_ref(&host(facts)?.data, "file system under the data")?;
    if checks_blocks(storage)? {
        let why = format!("{} checks every block itself", storage.filesystem);
        return Err(Outcome::NotApplicable(why));
    }
    Ok(RULE
        .finding(format!(
            "data_checksums is off: {} would not notice a damaged page either",
            storage.filesystem
        ))
        .keeps_data()
        .shows(postgres, "data_checksums")
        .evidence("file system", &storage.filesystem, &storage.path)
        .host_action(
            "pg_checksums --enable, with the server stopped cleanly",
            Needs::Migration,
        )
        .into_outcome())
}

/// Whether the file system notices a damaged block by itself.
fn checks_blocks(storage: &Storage) -> Result<bool, Outcome> {
    match storage.filesystem.as_str() {
        "zfs" => Ok(true),
        "btrfs" => {
            let is_off = |option: &String| matches!(option.as_str(), "nodatacow" | "nodatasum");
            if storage.mount_options.iter().any(is_off) {
                return Ok(false);
            }
            let what = format!("whether btrfs keeps checksums of {}", storage.path);
            Ok(!need(&storage.no_copy_on_write, &what)?)
        }
        _ => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, not_applicable, ok, set, unknown};
    use dbdyno_model::{Fact, Facts};

    fn on_btrfs(option: &str, exempt: Fact<bool>) -> Facts {
        let mut facts = healthy();
        let host = facts.host.as_mut().unwrap();
        host.data = host.data.clone().map(|mut storage| {
            storage.filesystem = "btrfs".into();
            storage.mount_options = vec!["rw".into(), option.into()];
            storage.no_copy_on_write = exempt;
            storage
        });
        facts
    }

    #[test]
    fn off_on_ext4_is_found() {
        let finding = finding(&RULE, &healthy());
        insta::assert_snapshot!(finding.message, @"data_checksums is off: ext4 would not notice a damaged page either");
        assert_eq!(
            finding.recommendations,
            [],
            "no running server can switch them on"
        );
    }

    #[test]
    fn on_is_fine() {
        let mut facts = healthy();
        set(&mut facts, "data_checksums", "on");
        ok(&RULE, &facts);
    }

    #[test]
    fn lab_servers_and_checking_file_systems_are_not_applicable() {
        let mut facts = healthy();
        facts.intent.lab = true;
        not_applicable(&RULE, &facts);
        let mut facts = healthy();
        let host = facts.host.as_mut().unwrap();
        host.data = host.data.clone().map(|mut storage| {
            storage.filesystem = "zfs".into();
            storage
        });
        not_applicable(&RULE, &facts);
    }

    #[test]
    fn btrfs_checks_what_it_copies_on_write() {
        let known = |exempt| Fact::known(exempt, "FS_IOC_GETFLAGS");
        not_applicable(&RULE, &on_btrfs("relatime", known(false)));
        finding(&RULE, &on_btrfs("relatime", known(true)));
        finding(&RULE, &on_btrfs("nodatacow", known(false)));
        finding(&RULE, &on_btrfs("nodatasum", Fact::default()));
        assert_eq!(
            unknown(&RULE, &on_btrfs("relatime", Fact::default())),
            "whether btrfs keeps checksums of /var/lib/dbdyno/lab/data: not collected"
        );
    }

    #[test]
    fn a_server_elsewhere_is_unknown() {
        let mut facts = healthy();
        facts.host = None;
        unknown(&RULE, &facts);
    }
}
