//! The one list of facts that differ between any two readings of one idle host: `diff` leaves them out.

use serde_json::{Map, Value};

/// What counts, or tells how things stand at one moment.
const MOMENTARY: &[&str] = &[
    "aio-nr",
    "archived",
    "autovacuum_workers",
    "available_bytes",
    "committed_bytes",
    "deleted",
    "failed",
    "free_bytes",
    "free_inodes",
    "frozen_pages",
    "hot_updated",
    "huge_pages_free",
    "huge_pages_reserved",
    "huge_pages_used",
    "inactive_s",
    "index_rows",
    "index_scans",
    "inserted",
    "inserted_since_vacuum",
    "last_archived_s",
    "last_failed_s",
    "last_failed_wal",
    "memory_bytes",
    "modified_since_analyze",
    "newest_transaction_s",
    "newpage_updated",
    "oom_kills",
    "out_of_memory",
    "page_tables_bytes",
    "pages",
    "periods",
    "pid",
    "plain_sessions",
    "replay_lag_s",
    "resident_bytes",
    "retained_bytes",
    "row_bytes",
    "rows_estimate",
    "safe_wal_bytes",
    "sequential_rows",
    "sequential_scans",
    "shared_bytes",
    "silent_s",
    "since_analyze_s",
    "since_vacuum_s",
    "size_bytes",
    "stripe_cache_active",
    "swap_bytes",
    "swap_free_bytes",
    "tasks",
    "throttled",
    "timer_cost_ns",
    // File systems that make inodes as they go count those that free space allows.
    "total_inodes",
    "unflushed_bytes",
    "unreplayed_bytes",
    "unsent_bytes",
    "updated",
    "vacuums",
    "waiting",
];
const MOMENTARY_ENDINGS: &[&str] = &[
    "_age",
    "_age_s",
    "_at",
    "_avg10",
    "_avg60",
    "_total_us",
    "_tuples",
];
/// Parts that are momentary but for what is named beside them.
const MOMENTARY_PARTS: &[(&str, &[&str])] = &[
    ("activity", &["prepared_transactions", "standbys"]),
    ("foreign_keys", &["foreign_keys", "unindexed"]),
    ("indexes", &["indexes", "invalid", "redundant"]),
    ("lock_waits", &[]),
    ("open_transactions", &[]),
    ("pressure", &[]),
    ("sequences", &["sequences", "wide"]),
    ("statements", &[]),
    (
        "table_totals",
        &["tables", "without_primary_key", "excluded_from_autovacuum"],
    ),
    ("waits", &[]),
    ("xmin_holders", &[]),
];
/// File systems whose size is what their pool has left for them.
const POOLED: &[&str] = &["zfs"];

/// By the path of a fact: `tables[public.orders].size_bytes`.
pub(super) fn is_momentary(path: &str) -> bool {
    let leaf = path.rsplit(['.', ']']).next().unwrap_or(path);
    let of_part = MOMENTARY_PARTS
        .iter()
        .any(|(part, lasting)| first(path) == *part && !lasting.contains(&leaf));
    of_part
        || MOMENTARY.contains(&leaf)
        || MOMENTARY_ENDINGS
            .iter()
            .any(|ending| leaf.ends_with(ending))
}

/// Where what is beside a field makes it momentary.
pub(super) fn is_momentary_beside(key: &str, fields: &Map<String, Value>) -> bool {
    let filesystem = fields.get("filesystem").and_then(Value::as_str);
    key == "total_bytes" && filesystem.is_some_and(|name| POOLED.contains(&name))
}

/// What `Sampled` looks like in a document: counters at both ends of a window.
pub(super) fn is_sampled(fields: &Map<String, Value>) -> bool {
    ["before", "after", "seconds"]
        .iter()
        .all(|key| fields.contains_key(*key))
}

/// The first word of a path.
pub(super) fn first(path: &str) -> &str {
    path.split(['.', '[', ' ']).next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str = include_str!("../../../../docs/reference/facts.schema.json");

    #[test]
    fn every_name_is_that_of_a_fact() {
        // A sysctl: the schema does not have their names.
        let names = MOMENTARY.iter().filter(|name| **name != "aio-nr");
        let parts = MOMENTARY_PARTS
            .iter()
            .flat_map(|(part, lasting)| lasting.iter().chain(std::iter::once(part)));
        for name in names.chain(parts) {
            assert!(SCHEMA.contains(&format!("\"{name}\": {{")), "{name}");
        }
        for ending in MOMENTARY_ENDINGS {
            assert!(SCHEMA.contains(&format!("{ending}\": {{")), "{ending}");
        }
    }

    #[test]
    fn what_moves_by_itself_is_told_from_what_somebody_changed() {
        for path in [
            "cgroups[/sys/fs/cgroup/a.service].memory_bytes",
            "cgroups[/sys/fs/cgroup/a.service].memory_stall.some_total_us",
            "cgroups[/sys/fs/cgroup/a.service].tasks",
            "cpu.throttling.periods",
            "data.devices[md0].raid.stripe_cache_active",
            "numa[0].shared_bytes",
            "replication.archiver.archived",
            "replication.senders[(standby 1)].unsent_bytes",
            "slots[a].safe_wal_bytes",
            "sysctl.fs.aio-nr",
            "timer_cost_ns",
            "waits.events.LWLock:WALWrite",
        ] {
            assert!(is_momentary(path), "{path}");
        }
        for path in [
            "cgroups[/sys/fs/cgroup/a.service].tasks_max",
            "data.devices[md0].raid.degraded_disks",
            "data.total_bytes",
            "memory.swap_total_bytes",
            "numa[0].total_bytes",
            "nvme_timeout_s",
            "replication.senders[(standby 1)].sync_state",
            "server_process.shared_memory_bytes",
            "slots[a].wal_status",
            "tables[public.pages].options",
        ] {
            assert!(!is_momentary(path), "{path}");
        }
        let zfs = serde_json::json!({ "filesystem": "zfs", "total_bytes": 7 });
        assert!(zfs.as_object().is_some_and(|zfs| {
            is_momentary_beside("total_bytes", zfs) && !is_momentary_beside("path", zfs)
        }));
    }
}
