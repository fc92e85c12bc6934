//! ZFS keeps the data in records that are much larger than a page.
//!
//! ## What it finds
//! A data directory on ZFS whose `recordsize` is above 32 KiB. The default is 128 KiB.
//!
//! ## Why it matters
//! ZFS writes whole records. A page of 8 KiB that changes in a record of 128 KiB has the whole record
//! read, if it is not cached, and written again: sixteen pages for one. Small records compress less
//! and need more metadata.
//!
//! ## What to do
//! Set `recordsize=32K` for short transactions, with `compression=lz4` where `zfs get` says that it is
//! off (zstd may stay), and prove it with a trial: for scans 64 KiB and the default do well too; earlier
//! editions of OpenZFS's guide asked for 8 KiB, the page itself. It acts on files written from then on,
//! so the data have to be copied once. The guide gives the write-ahead log a dataset of its own with
//! the same size; 128 KiB are its advice for the logs of InnoDB.
//!
//! ## Risk
//! None to data. `sync=disabled`, which goes round with such advice, loses commits at a power cut.
//!
//! ## When it does not apply
//! Other file systems. Whether `sync` is disabled, how it compresses and what it caches only
//! `zfs get` tells.
//!
//! ## Sources
//! - <https://openzfs.github.io/openzfs-docs/Performance%20and%20Tuning/Workload%20Tuning.html>
//! - Using AWS EC2 instance store vs EBS for MySQL (August 2018)

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use crate::formulas::PAGE_BYTES;
use crate::paste::{PasteExt, word};
use crate::rule::{FindingExt, Rule, host, humane_bytes, need, need_ref, server, settle};

pub(super) const RULE: Rule = Rule {
    id: "filesystem.zfs_record_size",
    severity: Severity::Info,
    confidence: Confidence::Medium,
    sources: &[
        "https://openzfs.github.io/openzfs-docs/Performance%20and%20Tuning/Workload%20Tuning.html",
        "Using AWS EC2 instance store vs EBS for MySQL (August 2018)",
    ],
    check,
    source_text: include_str!("zfs_record_size.rs"),
};

const MOST_BYTES: u64 = 32 << 10;

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    server(facts)?;
    let data = need_ref(&host(facts)?.data, "storage of the data directory")?;
    if data.filesystem != "zfs" {
        return Err(Outcome::NotApplicable(format!(
            "the data lie on {}",
            data.filesystem
        )));
    }
    let record = need(
        &data.block_bytes,
        &format!("record size of {}", data.source),
    )?;
    if record <= MOST_BYTES {
        return Ok(Outcome::Ok);
    }
    Ok(RULE
        .finding(format!(
            "the data lie in ZFS records of {}: one changed page has {} pages written",
            humane_bytes(record),
            record / PAGE_BYTES
        ))
        .evidence("recordsize", record, &data.block_bytes.origin)
        .host_action(
            format!(
                "zfs set recordsize=32K {}, and compression=lz4 where zfs get compression says off",
                data.source
            ),
            Needs::Online,
        )
        .run([format!("zfs set recordsize=32K {}", word(&data.source))])
        .costing("small records compress less and need more metadata")
        .host_action(
            format!(
                "then, since it acts on new files alone: stop the server, copy {} within the dataset \
                 and put the copy in its place",
                data.path
            ),
            Needs::Migration,
        )
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, not_applicable, ok, storage, unknown};
    use dbdyno_model::{Fact, Facts};

    fn with_records(bytes: Fact<u64>) -> Facts {
        let mut facts = healthy();
        storage(&mut facts, |storage| {
            storage.filesystem = "zfs".to_owned();
            storage.source = "tank/pg".to_owned();
            storage.block_bytes = bytes.clone();
        });
        facts
    }

    #[test]
    fn the_default_is_told() {
        let finding = finding(&RULE, &with_records(Fact::known(128 << 10, "statvfs")));
        insta::assert_snapshot!(finding.message, @"the data lie in ZFS records of 128 KiB: one changed page has 16 pages written");
        assert!(
            finding.host_actions[0]
                .action
                .starts_with("zfs set recordsize=32K tank/pg,")
        );
        // zstd, which may be set already, is not taken away.
        assert_eq!(
            finding.host_actions[0].commands,
            ["zfs set recordsize=32K tank/pg"]
        );
        assert!(finding.host_actions[1].action.contains("copy /var/lib/"));
    }

    #[test]
    fn small_records_are_fine() {
        ok(&RULE, &with_records(Fact::known(16 << 10, "statvfs")));
    }

    #[test]
    fn ext4_is_not_applicable_and_an_unread_record_unknown() {
        assert!(not_applicable(&RULE, &healthy()).contains("ext4"));
        assert_eq!(
            unknown(&RULE, &with_records(Fact::default())),
            "record size of tank/pg: not collected"
        );
    }
}
