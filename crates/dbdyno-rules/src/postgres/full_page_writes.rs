//! A server that cannot repair half-written pages.
//!
//! ## What it finds
//! `full_page_writes` off on a file system that may write half a page.
//!
//! ## Why it matters
//! A page of 8 KiB is written in smaller pieces. A power cut in between leaves half of it old, and
//! without the whole page in the log nothing can mend it.
//!
//! ## What to do
//! Set `full_page_writes` to on. To write less log, compress it (`wal_compression`) and let
//! checkpoints lie further apart.
//!
//! ## Risk
//! None. More log is written after each checkpoint.
//!
//! ## When it does not apply
//! ZFS with records of 8 KiB or more, which never overwrites a block in place. In smaller records a
//! page lies in two of them, and one may be new and the other old. Tablespaces on other file systems
//! are not looked at.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/runtime-config-wal.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Outcome, Severity};

use super::settings::{self, SettingEvidence, value};
use crate::formulas::PAGE_BYTES;
use crate::rule::{FindingExt, Rule, humane_bytes, need, safe, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "postgres.full_page_writes",
    severity: Severity::Critical,
    confidence: Confidence::High,
    sources: &["https://www.postgresql.org/docs/current/runtime-config-wal.html"],
    check,
    source_text: include_str!("full_page_writes.rs"),
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let postgres = server(facts)?;
    if settings::flag(postgres, "full_page_writes")? {
        return Ok(Outcome::Ok);
    }
    let storage = facts.host.as_ref().and_then(|host| host.data.value());
    let mut below = storage.map_or("this storage".to_owned(), |storage| {
        storage.filesystem.clone()
    });
    if let Some(storage) = storage.filter(|storage| storage.filesystem == "zfs") {
        let name = format!("record size of {}", storage.source);
        let record = need(&storage.block_bytes, &name)?;
        if record >= PAGE_BYTES {
            return Err(Outcome::NotApplicable(
                "ZFS never overwrites a block in place, and its records hold whole pages"
                    .to_owned(),
            ));
        }
        below = format!("zfs in records of {}", humane_bytes(record));
    }
    Ok(RULE
        .finding(format!(
            "full_page_writes is off: {below} can leave a page half-written in a power cut, and nothing mends it"
        ))
        .shows(postgres, "full_page_writes")
        .recommend(safe(
            "full_page_writes",
            value("on"),
            "a half-written page can be mended from the log",
        ))
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, not_applicable, ok, set, unknown};
    use dbdyno_model::Fact;

    #[test]
    fn off_is_found_and_on_is_fine() {
        let mut facts = healthy();
        ok(&RULE, &facts);
        set(&mut facts, "full_page_writes", "off");
        insta::assert_snapshot!(finding(&RULE, &facts).message, @"full_page_writes is off: ext4 can leave a page half-written in a power cut, and nothing mends it");
    }

    #[test]
    fn off_is_found_where_the_storage_is_not_seen() {
        let mut facts = healthy();
        set(&mut facts, "full_page_writes", "off");
        facts.host = None;
        assert!(finding(&RULE, &facts).message.contains("this storage"));
    }

    #[test]
    fn zfs_needs_none_where_its_records_hold_whole_pages() {
        let on_zfs = |record: Fact<u64>| {
            let mut facts = healthy();
            set(&mut facts, "full_page_writes", "off");
            let host = facts.host.as_mut().unwrap();
            host.data = host.data.clone().map(|mut storage| {
                storage.filesystem = "zfs".into();
                storage.source = "tank/pg".into();
                storage.block_bytes = record;
                storage
            });
            facts
        };
        not_applicable(&RULE, &on_zfs(Fact::known(8192, "statvfs")));
        assert_eq!(
            unknown(&RULE, &on_zfs(Fact::default())),
            "record size of tank/pg: not collected"
        );
        let finding = finding(&RULE, &on_zfs(Fact::known(4096, "statvfs")));
        insta::assert_snapshot!(finding.message, @"full_page_writes is off: zfs in records of 4 KiB can leave a page half-written in a power cut, and nothing mends it");
    }
}
