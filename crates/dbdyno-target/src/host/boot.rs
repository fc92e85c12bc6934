//! The kernel's command line, as far as it bears on a database.

use dbdyno_model::Fact;

use super::root::Root;

/// The rest may hold names and addresses.
const OPTIONS: [&str; 17] = [
    "amd_pstate",
    "clocksource",
    "default_hugepagesz",
    "elevator",
    "hugepages",
    "hugepagesz",
    "intel_idle.max_cstate",
    "intel_pstate",
    "isolcpus",
    "mitigations",
    "nohz_full",
    "numa_balancing",
    "nvme_core.io_timeout",
    "processor.max_cstate",
    "systemd.unified_cgroup_hierarchy",
    "transparent_hugepage",
    "tsc",
];

/// The options of the list; what stands behind `--` is for the first program.
pub fn kernel_options(text: &str) -> Vec<String> {
    text.split_whitespace()
        .take_while(|word| *word != "--")
        .filter(|word| OPTIONS.contains(&word.split('=').next().unwrap_or(word)))
        .map(str::to_owned)
        .collect()
}

pub(super) fn options(root: &Root) -> Fact<Vec<String>> {
    root.fact("/proc/cmdline", |text| Ok(kernel_options(text)))
}

#[cfg(test)]
mod tests {
    use super::kernel_options;

    #[test]
    fn only_options_of_the_list_are_kept() {
        let text = "root=UUID=1 elevator=noop ip=10.0.0.1 tsc=reliable quiet -- elevator=cfq\n";
        assert_eq!(kernel_options(text), ["elevator=noop", "tsc=reliable"]);
    }
}
