//! The write-ahead log is prepared for a file system that overwrites in place.
//!
//! ## What it finds
//! `wal_recycle` or `wal_init_zero` on while the write-ahead log lies on ZFS, or on btrfs with
//! copy-on-write.
//!
//! ## Why it matters
//! A recycled segment has its blocks already, and one filled with zeroes has them reserved: on ext4
//! and XFS that saves metadata at commit. A copy-on-write file system writes every block to a new
//! place, so recycling only makes it read the old blocks' records, and the zeroes are written for
//! nothing.
//!
//! ## What to do
//! Switch both off.
//!
//! ## Risk
//! None to data. `full_page_writes` stays on: switching it off is never recommended.
//!
//! ## When it does not apply
//! Other file systems, and btrfs without copy-on-write for the log's directory.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/runtime-config-wal.html>

use dbdyno_model::finding::{Confidence, Want};
use dbdyno_model::host::Storage;
use dbdyno_model::words::verb;
use dbdyno_model::{Facts, Outcome, Severity};

use crate::rule::{FindingExt, Rule, host, need_ref, safe, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "filesystem.copy_on_write_wal",
    severity: Severity::Info,
    confidence: Confidence::Low,
    sources: &["https://www.postgresql.org/docs/current/runtime-config-wal.html"],
    check,
    source_text: include_str!("copy_on_write_wal.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let server = server(facts)?;
    let host = host(facts)?;
    let wal = need_ref(&host.wal, "storage of the write-ahead log")?;
    if !copies_on_write(wal) {
        return Err(Outcome::NotApplicable(format!(
            "the write-ahead log lies on {}, which overwrites in place here",
            wal.filesystem
        )));
    }
    let on: Vec<&str> = ["wal_recycle", "wal_init_zero"]
        .into_iter()
        .filter(|name| server.is_on(name) == Some(true))
        .collect();
    if on.is_empty() {
        return Ok(Outcome::Ok);
    }
    let verb = verb(on.len() as u64, "is", "are");
    let mut finding = RULE
        .finding(format!(
            "{} {verb} on, and the write-ahead log lies on {}, which writes each block to a new \
             place anyway",
            on.join(" and "),
            wal.filesystem
        ))
        .evidence("file system", &wal.filesystem, &host.wal.origin);
    for name in on {
        finding = finding.recommend(safe(
            name,
            Want::Value("off".to_owned()),
            format!(
                "{} writes each block of the log to a new place",
                wal.filesystem
            ),
        ));
    }
    Ok(finding.into_outcome())
}

fn copies_on_write(storage: &Storage) -> bool {
    let overwrites = storage.mount_options.iter().any(|one| one == "nodatacow")
        || storage.no_copy_on_write.get() == Some(true);
    match storage.filesystem.as_str() {
        "zfs" => true,
        "btrfs" => !overwrites,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, host, not_applicable, ok, set, storage, unknown};
    use dbdyno_model::{Fact, Facts};

    fn on(filesystem: &str) -> Facts {
        let mut facts = healthy();
        storage(&mut facts, |storage| {
            storage.filesystem = filesystem.to_owned();
        });
        facts
    }

    #[test]
    fn both_are_found_on_zfs() {
        let finding = finding(&RULE, &on("zfs"));
        insta::assert_snapshot!(finding.message, @"wal_recycle and wal_init_zero are on, and the write-ahead log lies on zfs, which writes each block to a new place anyway");
        assert_eq!(finding.recommendations.len(), 2);
    }

    #[test]
    fn one_is_found_alone() {
        let mut facts = on("btrfs");
        set(&mut facts, "wal_recycle", "off");
        assert!(
            finding(&RULE, &facts)
                .message
                .starts_with("wal_init_zero is on,")
        );
    }

    #[test]
    fn both_off_are_fine() {
        let mut facts = on("zfs");
        set(&mut facts, "wal_recycle", "off");
        set(&mut facts, "wal_init_zero", "off");
        ok(&RULE, &facts);
    }

    #[test]
    fn files_that_are_overwritten_are_not_applicable() {
        not_applicable(&RULE, &healthy());
        let mut facts = on("btrfs");
        storage(&mut facts, |storage| {
            storage.no_copy_on_write = Fact::known(true, "FS_IOC_GETFLAGS");
        });
        not_applicable(&RULE, &facts);
    }

    #[test]
    fn an_unknown_place_of_the_log_is_unknown() {
        let mut facts = healthy();
        host(&mut facts).wal = Fact::default();
        assert_eq!(
            unknown(&RULE, &facts),
            "storage of the write-ahead log: not collected"
        );
    }
}
