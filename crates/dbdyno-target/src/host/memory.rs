//! Memory: what the machine has, what the control groups leave of it, and where it swaps to.

use std::collections::BTreeMap;

use dbdyno_model::Fact;
use dbdyno_model::host::Memory;

use super::cgroup::Groups;
use super::module;
use super::mounts::unescape;
use super::root::Root;

const MEMINFO: &str = "/proc/meminfo";

/// /proc/meminfo by name: bytes where the kernel says kB, otherwise the number itself.
pub fn meminfo(text: &str) -> BTreeMap<&str, u64> {
    text.lines()
        .filter_map(|line| {
            let (name, rest) = line.split_once(':')?;
            let mut words = rest.split_whitespace();
            let number: u64 = words.next()?.parse().ok()?;
            let value = match words.next() {
                Some("kB") => number.checked_mul(1024)?,
                // Only counts of pages have no unit; elsewhere it was cut off, and digits with it.
                None if name.starts_with("HugePages_") => number,
                _ => return None,
            };
            Some((name.trim(), value))
        })
        .collect()
}

/// The devices and files of /proc/swaps.
pub fn swaps(text: &str) -> Result<Vec<String>, String> {
    let mut lines = text.lines();
    if !lines
        .next()
        .is_some_and(|line| line.starts_with("Filename"))
    {
        return Err("it does not begin with its heading".into());
    }
    Ok(lines
        .filter_map(|line| line.split_whitespace().next())
        .map(unescape)
        .collect())
}

/// `process` is `self` or a number.
pub(super) fn collect(root: &Root, process: &str) -> Memory {
    let text = root.text(MEMINFO).map_err(|error| error.to_string());
    let values = text.as_ref().map(|text| meminfo(text));
    let field = |name: &str| {
        let result = match &values {
            Ok(values) => values
                .get(name)
                .copied()
                .ok_or("the kernel does not show it"),
            Err(error) => Err(error.as_str()),
        };
        Fact::from_result(result, format!("{MEMINFO} {name}"))
    };
    let (limits, oom_kills) = match Groups::find(root, process, "memory") {
        Ok(groups) => (
            Fact::from_result(groups.memory_limits(), "control groups: memory limit"),
            match groups.oom_kills() {
                Ok((kills, origin)) => Fact::known(kills, origin),
                Err(why) => Fact::unknown(why, "memory.events oom_kill"),
            },
        ),
        Err(why) => (
            Fact::unknown(why.clone(), "control groups: memory limit"),
            Fact::unknown(why, "memory.events oom_kill"),
        ),
    };
    let total = field("MemTotal");
    let effective = match (total.get(), limits.value()) {
        (Some(total), Some(limits)) => Ok(limits
            .iter()
            .fold(total, |least, limit| least.min(limit.bytes))),
        (None, _) => Err(format!(
            "MemTotal: {}",
            total.why_unknown().unwrap_or_default()
        )),
        (_, None) => Err(format!(
            "memory limit: {}",
            limits.why_unknown().unwrap_or_default()
        )),
    };
    Memory {
        total_bytes: total,
        available_bytes: field("MemAvailable"),
        swap_total_bytes: field("SwapTotal"),
        swap_free_bytes: field("SwapFree"),
        swap_devices: root.fact("/proc/swaps", swaps),
        zswap: module::is_on(root, "zswap", "enabled"),
        commit_limit_bytes: field("CommitLimit"),
        committed_bytes: field("Committed_AS"),
        page_tables_bytes: field("PageTables"),
        huge_page_size_bytes: field("Hugepagesize"),
        huge_pages_total: field("HugePages_Total"),
        huge_pages_free: field("HugePages_Free"),
        huge_pages_reserved: field("HugePages_Rsvd"),
        limits,
        effective_bytes: Fact::from_result(effective, "min(MemTotal, control group limits)"),
        oom_kills,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meminfo_is_read_with_its_units() {
        let values =
            meminfo("MemTotal:  100 kB\nHugePages_Total:   5\nOdd: 1 MB\nBad: x kB\n\nCut: 51");
        assert_eq!(
            values,
            BTreeMap::from([("MemTotal", 102_400), ("HugePages_Total", 5)])
        );
        assert!(meminfo("MemTotal: 18446744073709551615 kB").is_empty());
    }

    #[test]
    fn swaps_are_read() {
        let text = "Filename Type Size Used Priority\n/dev/zram0 partition 1 0 100\n/my\\040swap file 1 0 -2\n";
        assert_eq!(swaps(text).unwrap(), ["/dev/zram0", "/my swap"]);
        assert_eq!(swaps("Filename\tType\n"), Ok(vec![]));
        assert!(swaps("\u{0}").is_err());
    }
}
