//! Kernel settings: sysctls and transparent huge pages.

use std::collections::BTreeMap;

use dbdyno_model::Fact;
use dbdyno_model::host::HugePagePolicy;

use super::root::Root;
use super::text;

const SYSCTLS: &[&str] = &[
    "fs.aio-max-nr",
    "fs.aio-nr",
    "fs.file-max",
    "fs.nr_open",
    "kernel.io_uring_disabled",
    "kernel.numa_balancing",
    "kernel.pid_max",
    "kernel.sched_autogroup_enabled",
    "kernel.shmmax",
    "kernel.threads-max",
    "net.core.somaxconn",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_max_syn_backlog",
    "vm.dirty_background_bytes",
    "vm.dirty_background_ratio",
    "vm.dirty_bytes",
    "vm.dirty_expire_centisecs",
    "vm.dirty_ratio",
    "vm.dirty_writeback_centisecs",
    "vm.max_map_count",
    "vm.nr_hugepages",
    "vm.overcommit_kbytes",
    "vm.overcommit_memory",
    "vm.overcommit_ratio",
    "vm.swappiness",
    "vm.zone_reclaim_mode",
];

/// A sysctl's number; shmmax's default lies above what a signed number holds, and means no limit either way.
pub fn sysctl(text: &str) -> Result<i64, String> {
    match text::number::<i128>(text)? {
        value if value > i128::from(i64::MAX) => Ok(i64::MAX),
        value => i64::try_from(value).map_err(|_| format!("too small: {value}")),
    }
}

pub(super) fn sysctls(root: &Root) -> BTreeMap<String, Fact<i64>> {
    SYSCTLS
        .iter()
        .map(|name| {
            let path = format!("/proc/sys/{}", name.replace('.', "/"));
            (name.to_string(), root.fact(&path, sysctl))
        })
        .collect()
}

pub(super) fn transparent_huge_pages(root: &Root) -> HugePagePolicy {
    let policy = |name: &str| {
        let path = format!("/sys/kernel/mm/transparent_hugepage/{name}");
        root.fact(&path, text::selected)
    };
    HugePagePolicy {
        enabled: policy("enabled"),
        defrag: policy("defrag"),
    }
}

#[cfg(test)]
mod tests {
    use super::sysctl;

    #[test]
    fn sysctls_are_read() {
        assert_eq!(sysctl("60\n"), Ok(60));
        assert_eq!(sysctl("-1"), Ok(-1));
        assert_eq!(sysctl("18446744073692774399"), Ok(i64::MAX));
        assert!(sysctl("4096 87380 6291456").is_err());
        assert!(sysctl("-170141183460469231731687303715884105728").is_err());
    }
}
