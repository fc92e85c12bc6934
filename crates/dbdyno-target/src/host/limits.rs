//! The server's main process: its resource limits, and how it stands with the out-of-memory killer and swap.

use std::collections::BTreeMap;

use dbdyno_model::Fact;
use dbdyno_model::host::ServerProcess;

use super::root::Root;
use super::{maps, text, unit};

/// Soft limits by name; `None` is unlimited. A line that does not parse is left out.
pub fn limits(text: &str) -> BTreeMap<String, Option<u64>> {
    column(text, 0)
}

/// Hard limits in the same way.
pub fn hard_limits(text: &str) -> BTreeMap<String, Option<u64>> {
    column(text, 1)
}

fn column(text: &str, at: usize) -> BTreeMap<String, Option<u64>> {
    text.lines()
        .filter_map(|line| {
            // Names hold single spaces; columns are at least two apart.
            let (name, rest) = line.split_once("  ")?;
            let limit = match rest.split_whitespace().nth(at)? {
                "unlimited" => None,
                number => Some(number.parse().ok()?),
            };
            Some((name.trim().to_owned(), limit))
        })
        .collect()
}

/// A size in the status file, in bytes.
pub fn status_bytes(text: &str, name: &str) -> Result<u64, String> {
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
        .ok_or("the kernel does not show it")?;
    let kib: u64 = match value.trim().strip_suffix("kB") {
        Some(number) => text::number(number)?,
        None => return Err(format!("not in kB: {}", text::quoted(value))),
    };
    kib.checked_mul(1024)
        .ok_or_else(|| format!("too large: {kib} kB"))
}

/// Who a process runs as: the first of the four numbers.
pub fn status_uid(text: &str) -> Result<u32, String> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("Uid:"))
        .ok_or("the kernel does not show it")?;
    text::number(line.split_whitespace().next().unwrap_or_default())
}

/// What a security module says of a process; the text may end in a zero byte.
pub fn confinement(text: &str) -> Result<String, String> {
    text::phrase(text.trim_end_matches('\0'))
}

/// What a process holds of the memory; none where it is gone or hidden.
pub fn resident_bytes(root: &Root, pid: u32) -> Option<u64> {
    let status = root.text(&format!("/proc/{pid}/status")).ok()?;
    status_bytes(&status, "VmRSS").ok()
}

/// What a PostgreSQL's main process and its shared memory take: the process has touched little of it
/// itself, and the kernel counts huge pages for nobody. Nothing once it has ended, and none where that
/// is hidden.
pub fn held_bytes(root: &Root, pid: u32) -> Option<u64> {
    let maps = root.lossy_text(&format!("/proc/{pid}/maps")).ok();
    let mapped = maps.and_then(|maps| maps::shared_memory(&maps).ok());
    match mapped {
        Some(mapped) => Some(mapped.max(resident_bytes(root, pid).unwrap_or(0))),
        None => has_ended(root, pid).then_some(0),
    }
}

/// One that nobody has waited for yet is still listed, without memory.
fn has_ended(root: &Root, pid: u32) -> bool {
    match root.text(&format!("/proc/{pid}/status")) {
        Ok(status) => !status.contains("VmRSS:"),
        Err(_) => !root.exists(&format!("/proc/{pid}")),
    }
}

/// Whether a process is in the network that this program sees.
fn same_network(root: &Root, directory: &str) -> Fact<bool> {
    let own = root.link("/proc/self/ns/net");
    let path = format!("{directory}/ns/net");
    match (own, root.link(&path)) {
        (Some(own), Some(other)) => Fact::known(own == other, path),
        _ => Fact::unknown("the network namespaces are not visible here", path),
    }
}

pub(super) fn collect(root: &Root, pid: Option<u32>) -> Fact<ServerProcess> {
    let Some(pid) = pid else {
        return Fact::unknown("the server's process is not visible from here", "");
    };
    let directory = format!("/proc/{pid}");
    if !root.exists(&directory) {
        return Fact::unknown(format!("no process {pid} is visible here"), directory);
    }
    let status_path = format!("{directory}/status");
    let status = root.text(&status_path).map_err(|error| error.to_string());
    let size = |name: &str| {
        let result = status
            .clone()
            .and_then(|status| status_bytes(&status, name));
        Fact::from_result(result, format!("{status_path} {name}"))
    };
    let (shared_memory_bytes, libc) = maps::collect(root, pid);
    let of_kernel = root.text(&format!("{directory}/limits"));
    let of_kernel = of_kernel.unwrap_or_default();
    let process = ServerProcess {
        pid,
        oom_score_adj: root.fact(&format!("{directory}/oom_score_adj"), text::number),
        limits: limits(&of_kernel),
        hard_limits: hard_limits(&of_kernel),
        swap_bytes: size("VmSwap"),
        resident_bytes: size("VmRSS"),
        uid: Fact::from_result(
            status.clone().and_then(|status| status_uid(&status)),
            format!("{status_path} Uid"),
        ),
        shared_memory_bytes,
        libc,
        unit: unit::collect(root, &pid.to_string()),
        confinement: root.fact(&format!("{directory}/attr/current"), confinement),
        same_network: same_network(root, &directory),
    };
    Fact::known(process, directory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn shared_memory_that_nobody_touched_counts_and_hidden_memory_is_not_none() {
        let tree = tempfile::tempdir().unwrap();
        let root = Root::new(tree.path());
        let process = |pid: u32, status: &str, maps: Option<&str>| {
            let directory = tree.path().join(format!("proc/{pid}"));
            fs::create_dir_all(&directory).unwrap();
            fs::write(directory.join("status"), status).unwrap();
            if let Some(maps) = maps {
                fs::write(directory.join("maps"), maps).unwrap();
            }
        };
        let huge = "7f0000000000-7f0100000000 rw-s 00000000 00:0f 7 /anon_hugepage (deleted)\n";
        let small = "7f0000000000-7f0000001000 rw-s 00000000 00:01 7 /dev/zero (deleted)\n";
        let resident = "Name:\tpostgres\nVmRSS:\t   29000 kB\n";
        process(1, resident, Some(huge));
        process(2, resident, Some(small));
        process(3, resident, None);
        process(4, "Name:\tpostgres\nState:\tZ (zombie)\n", Some(""));
        assert_eq!(held_bytes(&root, 1), Some(4 << 30));
        assert_eq!(held_bytes(&root, 2), Some(29_000 << 10));
        assert_eq!(held_bytes(&root, 3), None);
        assert_eq!(held_bytes(&root, 4), Some(0));
        assert_eq!(held_bytes(&root, 5), Some(0));
    }

    #[test]
    fn limits_and_sizes_are_read() {
        let text = "Limit                     Soft Limit           Hard Limit           Units     \n\
                    Max cpu time              unlimited            unlimited            seconds   \n\
                    Max open files            1024                 4096                 files     \n\
                    Max nice priority         0                    0                    \n";
        let read = limits(text);
        assert_eq!(read.get("Max open files"), Some(&Some(1024)));
        assert_eq!(read.get("Max cpu time"), Some(&None));
        assert_eq!(read.len(), 3);
        let hard = hard_limits(text);
        assert_eq!(hard.get("Max open files"), Some(&Some(4096)));
        assert_eq!(hard.get("Max cpu time"), Some(&None));
        assert_eq!(hard.len(), 3);

        let status = "VmRSS:\t    2048 kB\nVmSwapX:\t 1 kB\nVmSwap:\t       0 kB\n";
        assert_eq!(status_bytes(status, "VmRSS"), Ok(2 << 20));
        assert_eq!(status_bytes(status, "VmSwap"), Ok(0));
        assert!(status_bytes(status, "VmPeak").is_err());
        assert!(status_bytes("VmRSS: 18446744073709551615 kB", "VmRSS").is_err());
        assert_eq!(
            status_uid("Name:\tpostgres\nUid:\t115\t116\t115\t115\n"),
            Ok(115)
        );
        assert!(status_uid("Gid:\t1\n").is_err());
        assert_eq!(confinement("unconfined\n\0").as_deref(), Ok("unconfined"));
    }
}
