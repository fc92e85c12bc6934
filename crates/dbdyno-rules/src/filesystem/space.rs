//! A file system under the database is nearly full.
//!
//! ## What it finds
//! Less than 10 % and 1 TiB of the bytes free (below 5 % and 256 GiB it is critical), less than 10 % of
//! the inodes (below 5 % it is critical), or less free than twice `max_wal_size` on the file system that
//! holds the write-ahead log (below once it is critical).
//!
//! ## Why it matters
//! When the write-ahead log cannot grow, the server panics and shuts down. When the data cannot
//! grow, statements fail. `max_wal_size` is a goal and no limit: under load, and behind a slot or
//! an archive that lags, the log passes it. A share alone says little of a large file system: 4 % of
//! 50 TB are 2 TB. At 100 MB a second, which a load or a log that nobody removes may write, 256 GiB last
//! three quarters of an hour and 1 TiB three hours.
//!
//! ## What to do
//! Add space, or remove what holds the log back: unused replication slots, a failing
//! archive_command. On an ext4 volume for data only, `tune2fs -m 1` hands most of the 5 % reserved
//! for root back.
//!
//! ## Risk
//! None in adding space. Never delete files from pg_wal by hand.
//!
//! ## When it does not apply
//! File systems without a fixed number of inodes are judged by bytes alone. How fast the space
//! shrinks is not known from one look, nor from a window of seconds. What ext4 reserves for root does not
//! count as free: the server cannot have it.
//!
//! ## Sources
//! - <https://www.postgresql.org/docs/current/disk-full.html>
//! - <https://www.postgresql.org/docs/current/runtime-config-wal.html>
//! - <https://man7.org/linux/man-pages/man8/mke2fs.8.html>

use dbdyno_model::finding::Confidence;
use dbdyno_model::host::Storage;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use crate::rule::{FindingExt, Rule, host, humane_bytes, humane_number, need, settle};
use crate::seen::{Mounted, storages};

pub(super) const RULE: Rule = Rule {
    id: "filesystem.space",
    severity: Severity::Critical,
    confidence: Confidence::High,
    sources: &[
        "https://www.postgresql.org/docs/current/disk-full.html",
        "https://www.postgresql.org/docs/current/runtime-config-wal.html",
        "https://man7.org/linux/man-pages/man8/mke2fs.8.html",
    ],
    check,
    source_text: include_str!("space.rs"),
};

const WARN_SHARE: f64 = 0.10;
const CRITICAL_SHARE: f64 = 0.05;

/// How much free makes a small share no matter: what a busy server writes in an hour or three.
#[derive(Clone, Copy)]
struct Room {
    warn: u64,
    critical: u64,
}

const BYTES: Room = Room {
    warn: 1 << 40,
    critical: 256 << 30,
};
/// Of inodes the share alone counts.
const INODES: Room = Room {
    warn: u64::MAX,
    critical: u64::MAX,
};

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    let storages = storages(host(facts)?)?;
    let log_bytes = facts
        .postgres
        .as_ref()
        .and_then(|server| server.bytes("max_wal_size"));
    let mut worst: Option<(Severity, String, &Mounted<'_>)> = None;
    let mut unread: Option<Outcome> = None;
    for storage in &storages.all {
        // A log that was not seen is not on the data's storage for all that is known.
        let log_bytes = log_bytes.filter(|_| storage.holds_log);
        let mut found = Vec::new();
        for judged in [
            bytes(storage, log_bytes, &mut found),
            inodes(storage, &mut found),
        ] {
            unread = unread.or(judged.err());
        }
        for (severity, message) in found {
            if worst.as_ref().is_none_or(|(so_far, ..)| severity > *so_far) {
                worst = Some((severity, message, storage));
            }
        }
    }
    let Some((severity, message, storage)) = worst else {
        if let Some(why) = unread {
            return Err(why);
        }
        return match (&facts.postgres, log_bytes) {
            (Some(_), None) => Err(Outcome::Unknown(
                "max_wal_size: pg_settings does not list it".to_owned(),
            )),
            _ => storages.or_unread(Outcome::Ok),
        };
    };
    let mut action = format!(
        "add space to {}; look first for inactive replication slots and a failing archive_command",
        storage.mount_point
    );
    if storage.filesystem == "ext4" && storage.mount_point != "/" {
        action += &format!(
            "; on a volume for data only: tune2fs -m 1 {}",
            storage.source
        );
    }
    let mut finding = RULE.finding(message).severity(severity).keeps_running();
    for (name, fact) in [
        ("free bytes", &storage.free_bytes),
        ("all bytes", &storage.total_bytes),
    ] {
        if let Some(bytes) = fact.get() {
            finding = finding.evidence(name, bytes, &fact.origin);
        }
    }
    Ok(finding.host_action(action, Needs::Online).into_outcome())
}

/// What is short on a file system, and what to say of it.
type Shortages = Vec<(Severity, String)>;

/// Adds what is short of its bytes; `log_bytes` is max_wal_size where the log lies on it.
fn bytes(storage: &Storage, log_bytes: Option<u64>, found: &mut Shortages) -> Result<(), Outcome> {
    let mount = &storage.mount_point;
    let free = need(&storage.free_bytes, &format!("free space of {mount}"))?;
    if let Some(log) = log_bytes
        && free < log.saturating_mul(2)
    {
        // The goal itself still fits, until a slot or an archive falls behind.
        let (severity, than) = if free < log {
            (Severity::Critical, "less than")
        } else {
            (Severity::Warn, "less than twice")
        };
        let message = format!(
            "{mount} has {} free, {than} max_wal_size ({})",
            humane_bytes(free),
            humane_bytes(log)
        );
        found.push((severity, message));
    }
    let total = need(&storage.total_bytes, &format!("size of {mount}"))?;
    if total == 0 {
        return Err(Outcome::Unknown(format!(
            "size of {mount}: the file system reports 0"
        )));
    }
    if let Some((severity, percent)) = short(free, total, BYTES) {
        let (free, total) = (humane_bytes(free), humane_bytes(total));
        found.push((
            severity,
            format!("{mount} has {free} of {total} free ({percent} %)"),
        ));
    }
    Ok(())
}

/// Adds what is short of its inodes.
fn inodes(storage: &Storage, found: &mut Shortages) -> Result<(), Outcome> {
    let mount = &storage.mount_point;
    let inodes = need(&storage.total_inodes, &format!("inodes of {mount}"))?;
    if inodes > 0 {
        let free = need(&storage.free_inodes, &format!("free inodes of {mount}"))?;
        if let Some((severity, percent)) = short(free, inodes, INODES) {
            let message = format!("{mount} has {free} of {inodes} inodes free ({percent} %)");
            found.push((severity, message));
        }
    }
    Ok(())
}

fn short(free: u64, total: u64, enough: Room) -> Option<(Severity, String)> {
    let share = free as f64 / total as f64;
    let percent = humane_number(share * 100.0);
    if share < CRITICAL_SHARE && free < enough.critical {
        Some((Severity::Critical, percent))
    } else if share < WARN_SHARE && free < enough.warn {
        Some((Severity::Warn, percent))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, ok, set, unknown};
    use dbdyno_model::host::Storage;
    use dbdyno_model::{Fact, Facts, Severity};

    const GIB: u64 = 1 << 30;

    fn with_data(change: impl FnOnce(&mut Storage)) -> Facts {
        let mut facts = healthy();
        let host = facts.host.as_mut().unwrap();
        let mut data = host.data.value().unwrap().clone();
        change(&mut data);
        host.data = Fact::known(data, "/proc/self/mountinfo");
        facts
    }

    fn with_free(free: u64) -> Facts {
        with_data(|data| {
            data.total_bytes = Fact::known(100 * GIB, "statvfs");
            data.free_bytes = Fact::known(free, "statvfs");
        })
    }

    #[test]
    fn eight_percent_are_warned_of() {
        let finding = finding(&RULE, &with_free(8 * GIB));
        insta::assert_snapshot!(finding.message, @"/ has 8 GiB of 100 GiB free (8 %)");
        assert_eq!(finding.severity, Severity::Warn);
    }

    #[test]
    fn a_small_share_of_a_large_file_system_is_much() {
        const TIB: u64 = 1 << 40;
        let of = |free: u64, total: u64| {
            with_data(|data| {
                data.total_bytes = Fact::known(total, "statvfs");
                data.free_bytes = Fact::known(free, "statvfs");
            })
        };
        ok(&RULE, &of(2 * TIB, 50 * TIB));
        // Four percent still: hours, and then less than one.
        let warned = finding(&RULE, &of(400 * GIB, 10_000 * GIB));
        assert_eq!(warned.severity, Severity::Warn);
        let critical = finding(&RULE, &of(40 * GIB, 1000 * GIB));
        assert_eq!(critical.severity, Severity::Critical);
    }

    #[test]
    fn less_than_twice_the_log_is_warned_of() {
        let mut facts = with_free(30 * GIB);
        set(&mut facts, "max_wal_size", "16384");
        let finding = finding(&RULE, &facts);
        insta::assert_snapshot!(finding.message, @"/ has 30 GiB free, less than twice max_wal_size (16 GiB)");
        assert_eq!(finding.severity, Severity::Warn);
    }

    #[test]
    fn no_room_for_the_log_is_critical() {
        let mut facts = with_free(15 * GIB);
        set(&mut facts, "max_wal_size", "16384");
        let finding = finding(&RULE, &facts);
        insta::assert_snapshot!(finding.message, @"/ has 15 GiB free, less than max_wal_size (16 GiB)");
        assert_eq!(finding.severity, Severity::Critical);
    }

    #[test]
    fn the_log_is_judged_where_it_lies() {
        let mut facts = with_free(30 * GIB);
        set(&mut facts, "max_wal_size", "16384");
        let host = facts.host.as_mut().unwrap();
        let mut wal = host.data.value().unwrap().clone();
        wal.mount_point = "/wal".to_owned();
        wal.free_bytes = Fact::known(60 * GIB, "statvfs");
        host.wal = Fact::known(wal, "/proc/self/mountinfo");
        ok(&RULE, &facts);
    }

    #[test]
    fn the_datas_space_is_not_the_logs_where_the_log_was_not_seen() {
        let mut facts = with_free(15 * GIB);
        set(&mut facts, "max_wal_size", "16384");
        let unseen = Fact::unknown("permission denied", "/proc/self/mountinfo");
        facts.host.as_mut().unwrap().wal = unseen;
        let why = unknown(&RULE, &facts);
        assert_eq!(why, "storage of the write-ahead log: permission denied");
    }

    #[test]
    fn inodes_run_out_too() {
        let facts = with_data(|data| data.free_inodes = Fact::known(160_000, "statvfs"));
        let finding = finding(&RULE, &facts);
        assert_eq!(
            finding.message,
            "/ has 160000 of 16000000 inodes free (1 %)"
        );
        assert_eq!(finding.severity, Severity::Critical);
    }

    #[test]
    fn a_third_free_is_fine() {
        ok(&RULE, &healthy());
        // btrfs counts none.
        ok(
            &RULE,
            &with_data(|data| {
                data.total_inodes = Fact::known(0, "statvfs");
                data.free_inodes = Fact::known(0, "statvfs");
            }),
        );
    }

    #[test]
    fn what_was_not_read_of_one_file_system_hides_no_shortage_of_another() {
        let mut facts = with_data(|data| data.free_bytes = Fact::unknown("denied", "statvfs"));
        let host = facts.host.as_mut().unwrap();
        let mut wal = host.data.value().unwrap().clone();
        wal.mount_point = "/wal".to_owned();
        wal.total_bytes = Fact::known(100 * GIB, "statvfs");
        wal.free_bytes = Fact::known(3 * GIB, "statvfs");
        wal.total_inodes = Fact::unknown("denied", "statvfs");
        host.wal = Fact::known(wal, "/proc/self/mountinfo");
        let found = finding(&RULE, &facts);
        assert_eq!(found.message, "/wal has 3 GiB of 100 GiB free (3 %)");
        assert_eq!(found.severity, Severity::Critical);
        // Nor does it pass where nothing else is short.
        let host = facts.host.as_mut().unwrap();
        host.wal = host.wal.clone().map(|mut wal| {
            wal.free_bytes = Fact::known(60 * GIB, "statvfs");
            wal
        });
        assert_eq!(unknown(&RULE, &facts), "free space of /: denied");
    }

    #[test]
    fn inodes_are_judged_where_the_bytes_were_not_read() {
        let facts = with_data(|data| {
            data.total_bytes = Fact::default();
            data.free_inodes = Fact::known(160_000, "statvfs");
        });
        let found = finding(&RULE, &facts);
        assert!(found.message.contains("160000 of 16000000 inodes"));
        assert_eq!(found.evidence.len(), 1);
    }

    #[test]
    fn space_that_was_not_read_is_unknown() {
        let facts =
            with_data(|data| data.free_bytes = Fact::unknown("permission denied", "statvfs"));
        assert_eq!(unknown(&RULE, &facts), "free space of /: permission denied");
    }
}
