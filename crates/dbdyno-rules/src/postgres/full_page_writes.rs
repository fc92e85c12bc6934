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
//! ZFS with records of 8 KiB or more, which never overwrites a block in place, under the data and all
//! tablespaces. In smaller records a page lies in two of them, and one may be new and the other old.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/runtime-config-wal.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::host::{Host, Storage};
use dbdyno_model::postgres::{Postgres, Tablespace};
use dbdyno_model::{Facts, Outcome, Severity};

use super::settings::{self, SettingEvidence, value};
use crate::formulas::PAGE_BYTES;
use crate::rule::{
    FindingExt, RecommendationExt, Rule, humane_bytes, need, need_ref, safe, server, settle,
};

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
    let below = below(facts, postgres)?;
    Ok(RULE
        .finding(format!(
            "full_page_writes is off: {below} can leave a page half-written in a power cut, and nothing mends it"
        ))
        .shows(postgres, "full_page_writes")
        .recommend(
            safe(
                "full_page_writes",
                value("on"),
                "a half-written page can be mended from the log",
            )
            .giving_up("more log after each checkpoint"),
        )
        .into_outcome())
}

/// What lies below that can leave half a page, by the first of it.
fn below(facts: &Facts, postgres: &Postgres) -> Result<String, Outcome> {
    let host = facts.host.as_ref();
    let Some((host, data)) = host.and_then(|host| Some((host, host.data.value()?))) else {
        return Ok("this storage".to_owned());
    };
    let tablespaces = postgres.tablespaces.value().into_iter().flatten();
    let below_tablespaces = tablespaces.map(|one| halving_under(host, one));
    let mut unread = None;
    for below in std::iter::once(halving(data)).chain(below_tablespaces) {
        match below {
            Ok(Some(what)) => return Ok(what),
            Ok(None) => {}
            Err(why) => unread = unread.or(Some(why)),
        }
    }
    if let Some(why) = unread {
        return Err(why);
    }
    need_ref(&postgres.tablespaces, "tablespaces")?;
    Err(Outcome::NotApplicable(
        "ZFS never overwrites a block in place, and its records hold whole pages".to_owned(),
    ))
}

/// The storage in words; none where it keeps pages whole.
fn halving(storage: &Storage) -> Result<Option<String>, Outcome> {
    if storage.filesystem != "zfs" {
        return Ok(Some(storage.filesystem.clone()));
    }
    let name = format!("record size of {}", storage.source);
    let record = need(&storage.block_bytes, &name)?;
    Ok((record < PAGE_BYTES).then(|| format!("zfs in records of {}", humane_bytes(record))))
}

fn halving_under(host: &Host, tablespace: &Tablespace) -> Result<Option<String>, Outcome> {
    let name = format!("storage of the tablespace {}", tablespace.name);
    let below = host
        .tablespaces
        .value()
        .into_iter()
        .flatten()
        .find(|below| below.location == tablespace.location)
        .ok_or_else(|| Outcome::Unknown(format!("{name}: not collected")))?;
    let storage = need_ref(&below.storage, &name)?;
    let what = halving(storage)?;
    Ok(what.map(|what| format!("{what} at {}", storage.mount_point)))
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, host, not_applicable, ok, postgres, set, unknown};
    use dbdyno_model::host::TablespaceStorage;
    use dbdyno_model::postgres::Tablespace;
    use dbdyno_model::{Fact, Facts};

    #[test]
    fn off_is_found_and_on_is_fine() {
        let mut facts = healthy();
        ok(&RULE, &facts);
        set(&mut facts, "full_page_writes", "off");
        let finding = finding(&RULE, &facts);
        insta::assert_snapshot!(finding.message, @"full_page_writes is off: ext4 can leave a page half-written in a power cut, and nothing mends it");
        assert!(finding.recommendations[0].gives_up.is_some());
    }

    #[test]
    fn off_is_found_where_the_storage_is_not_seen() {
        let mut facts = healthy();
        set(&mut facts, "full_page_writes", "off");
        facts.host = None;
        assert!(finding(&RULE, &facts).message.contains("this storage"));
    }

    fn on_zfs(record: Fact<u64>) -> Facts {
        let mut facts = healthy();
        set(&mut facts, "full_page_writes", "off");
        let host = host(&mut facts);
        host.data = host.data.clone().map(|mut storage| {
            storage.filesystem = "zfs".into();
            storage.source = "tank/pg".into();
            storage.block_bytes = record;
            storage
        });
        postgres(&mut facts).tablespaces = Fact::known(Vec::new(), "pg_tablespace");
        facts
    }

    #[test]
    fn a_tablespace_on_another_file_system_is_found_and_an_unread_one_unknown() {
        let mut facts = on_zfs(Fact::known(8192, "statvfs"));
        let tablespace = Tablespace {
            name: "fast".into(),
            location: "/srv/fast".into(),
            ..Tablespace::default()
        };
        postgres(&mut facts).tablespaces = Fact::known(vec![tablespace], "pg_tablespace");
        assert_eq!(
            unknown(&RULE, &facts),
            "storage of the tablespace fast: not collected"
        );
        let lies_on = |facts: &mut Facts, filesystem: &str| {
            let storage = host(facts).data.clone().map(|mut storage| {
                storage.mount_point = "/srv".into();
                storage.filesystem = filesystem.into();
                storage
            });
            let location = "/srv/fast".into();
            host(facts).tablespaces =
                Fact::known(vec![TablespaceStorage { location, storage }], "test");
        };
        lies_on(&mut facts, "zfs");
        not_applicable(&RULE, &facts);
        lies_on(&mut facts, "xfs");
        insta::assert_snapshot!(finding(&RULE, &facts).message, @"full_page_writes is off: xfs at /srv can leave a page half-written in a power cut, and nothing mends it");
        let data = &mut host(&mut facts).data;
        *data = data.clone().map(|mut storage| {
            storage.block_bytes = Fact::default();
            storage
        });
        finding(&RULE, &facts);
        postgres(&mut facts).tablespaces = Fact::default();
        unknown(&RULE, &facts);
        let mut unlisted = on_zfs(Fact::known(8192, "statvfs"));
        postgres(&mut unlisted).tablespaces = Fact::default();
        assert_eq!(unknown(&RULE, &unlisted), "tablespaces: not collected");
    }

    #[test]
    fn zfs_needs_none_where_its_records_hold_whole_pages() {
        not_applicable(&RULE, &on_zfs(Fact::known(8192, "statvfs")));
        assert_eq!(
            unknown(&RULE, &on_zfs(Fact::default())),
            "record size of tank/pg: not collected"
        );
        let finding = finding(&RULE, &on_zfs(Fact::known(4096, "statvfs")));
        insta::assert_snapshot!(finding.message, @"full_page_writes is off: zfs in records of 4 KiB can leave a page half-written in a power cut, and nothing mends it");
    }
}
