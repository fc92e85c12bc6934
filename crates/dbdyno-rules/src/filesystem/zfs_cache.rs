//! ZFS's cache and the server together want more memory than there is.
//!
//! ## What it finds
//! Data on ZFS where the most that its cache (ARC) may hold and what the server's settings may take
//! add up to more than 90 % of the memory.
//!
//! ## Why it matters
//! The ARC is no page cache: it gives memory back, but late. When sessions suddenly need memory the
//! kernel swaps, or kills, while gigabytes of cached files wait to be dropped. Pages in
//! shared_buffers and in the ARC are kept twice.
//!
//! ## What to do
//! Choose one cache. Limit the ARC to what the server leaves, less a tenth of the memory; or keep
//! shared_buffers small and leave the caching to the ARC, which compresses. A lower limit holds at
//! once for what is cached from then on; what lies above it is given back only under pressure. ZFS
//! takes no limit below the least that it keeps, a 32nd of the memory. Where it is loaded from the
//! initial ramdisk, that has to be made anew to hold the limit.
//!
//! ## Risk
//! None to data. A smaller cache means more reads.
//!
//! ## When it does not apply
//! Other file systems. In a container the ARC is the host's.
//!
//! ## Sources
//! - <https://openzfs.github.io/openzfs-docs/man/master/4/zfs.4.html>

use std::collections::BTreeMap;

use dbdyno_model::finding::Confidence;
use dbdyno_model::{Facts, Needs, Outcome, Severity};

use crate::paste::PasteExt;
use crate::rule::{FindingExt, Rule, host, humane_bytes, need, server, settle};
use crate::seen::storages;
use crate::solver::{memory_not_known, memory_with};

pub(super) const RULE: Rule = Rule {
    id: "filesystem.zfs_cache",
    severity: Severity::Warn,
    confidence: Confidence::Medium,
    sources: &["https://openzfs.github.io/openzfs-docs/man/master/4/zfs.4.html"],
    check,
    source_text: include_str!("zfs_cache.rs"),
};

/// Tenths of the memory that the two may have together.
const MOST_TENTHS: u64 = 9;
const LEAST_CACHE_BYTES: u64 = 64 << 20;
/// Of one option the last file's value counts, and the owner's is usually called zfs.conf.
const OPTIONS_FILE: &str = "/etc/modprobe.d/zz-dbdyno.conf";
const PARAMETER: &str = "/sys/module/zfs/parameters/zfs_arc_max";

fn check(facts: &Facts) -> Outcome {
    settle(assess(facts))
}

fn assess(facts: &Facts) -> Result<Outcome, Outcome> {
    server(facts)?;
    let host = host(facts)?;
    let storages = storages(host)?;
    if !storages
        .all
        .iter()
        .any(|storage| storage.filesystem == "zfs")
    {
        return storages.or_unread(Outcome::NotApplicable("nothing lies on ZFS".to_owned()));
    }
    if host.container.get() == Some(true) {
        return Err(Outcome::NotApplicable(
            "the cache is the host's, not the container's".to_owned(),
        ));
    }
    let cache = need(&host.zfs_cache_max_bytes, "the limit of ZFS's cache")?;
    let total = need(&host.memory.total_bytes, "memory size")?;
    let wants = memory_with(facts, &BTreeMap::new()).ok_or_else(|| {
        let why = facts.postgres.as_ref().and_then(memory_not_known);
        let why = why.unwrap_or_else(|| "its settings were not read".to_owned());
        Outcome::Unknown(format!("memory of the server: {why}"))
    })?;
    let most = total / 10 * MOST_TENTHS;
    if cache.saturating_add(wants) <= most {
        return Ok(Outcome::Ok);
    }
    let left = most.saturating_sub(wants);
    let finding = RULE
        .finding(format!(
            "ZFS may cache {} and the server's settings may take {}, of {} memory",
            humane_bytes(cache),
            humane_bytes(wants),
            humane_bytes(total)
        ))
        .keeps_running()
        .evidence("c_max", cache, &host.zfs_cache_max_bytes.origin)
        .evidence("MemTotal", total, &host.memory.total_bytes.origin);
    if left <= LEAST_CACHE_BYTES.max(total / 32) {
        let words =
            "lower shared_buffers first: they leave ZFS no more than the least that it keeps";
        return Ok(finding.host_action(words, Needs::Restart).into_outcome());
    }
    Ok(finding
        .host_action(
            format!(
                "echo {left} > {PARAMETER}, and to keep it: options zfs zfs_arc_max={left} in \
                 {OPTIONS_FILE}"
            ),
            Needs::Online,
        )
        .file(OPTIONS_FILE, [format!("options zfs zfs_arc_max={left}")])
        .run([format!("echo {left} > {PARAMETER}")])
        .host_action(
            "where the root file system is on ZFS, put the limit into the initial ramdisk as well: \
             update-initramfs -u, or dracut -f",
            Needs::Online,
        )
        .into_outcome())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::testing::{finding, healthy, host, not_applicable, ok, set, storage, unknown};
    use dbdyno_model::{Fact, Facts};

    const GIB: u64 = 1 << 30;

    fn with_cache(limit: Fact<u64>) -> Facts {
        let mut facts = healthy();
        storage(&mut facts, |storage| storage.filesystem = "zfs".to_owned());
        host(&mut facts).zfs_cache_max_bytes = limit;
        facts
    }

    fn known(bytes: u64) -> Fact<u64> {
        Fact::known(bytes, "/proc/spl/kstat/zfs/arcstats")
    }

    #[test]
    fn two_large_caches_are_found() {
        let mut facts = with_cache(known(12 * GIB));
        // In pages of 8 kB: 12 GiB.
        set(&mut facts, "shared_buffers", "1572864");
        let finding = finding(&RULE, &facts);
        assert!(finding.message.starts_with("ZFS may cache 12 GiB and"));
        assert!(finding.message.ends_with("of 23.7 GiB memory"));
        let action = &finding.host_actions[0].action;
        assert!(action.contains("zfs_arc_max="), "{action}");
        let file = &finding.host_actions[0].files[0].file;
        assert!(file.as_str() > "/etc/modprobe.d/zfs.conf");
    }

    #[test]
    fn no_room_at_all_asks_for_smaller_buffers() {
        let mut facts = with_cache(known(12 * GIB));
        set(&mut facts, "shared_buffers", "3145728");
        let action = finding(&RULE, &facts).host_actions[0].action.clone();
        assert!(action.starts_with("lower shared_buffers first"));
    }

    #[test]
    fn a_limit_that_zfs_would_not_take_is_not_asked_for() {
        let mut facts = with_cache(known(12 * GIB));
        let mut limits = Vec::new();
        // From 12 GiB of buffers up in steps of 256 MiB.
        for step in 0..64 {
            let pages = 1_572_864 + step * 32_768;
            set(&mut facts, "shared_buffers", &pages.to_string());
            let action = finding(&RULE, &facts).host_actions.remove(0).action;
            let limit = action
                .strip_prefix("echo ")
                .and_then(|rest| rest.split(' ').next());
            limits.push(limit.map(|limit| limit.parse::<u64>().unwrap()));
        }
        assert!(limits.contains(&None) && limits[0].is_some());
        let least = 25_455_230_976 / 32;
        assert!(limits.iter().flatten().all(|limit| *limit > least));
    }

    #[test]
    fn a_limited_cache_is_fine() {
        ok(&RULE, &with_cache(known(4 * GIB)));
    }

    #[test]
    fn other_file_systems_and_containers_are_not_applicable() {
        not_applicable(&RULE, &healthy());
        let mut facts = with_cache(known(12 * GIB));
        host(&mut facts).container = Fact::known(true, "/.dockerenv");
        not_applicable(&RULE, &facts);
    }

    #[test]
    fn an_unread_limit_is_unknown() {
        assert_eq!(
            unknown(&RULE, &with_cache(Fact::default())),
            "the limit of ZFS's cache: not collected"
        );
    }
}
