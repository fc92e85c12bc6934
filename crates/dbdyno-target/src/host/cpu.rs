//! Processors: how many there are, and how many of them this process or the server may use.

use std::collections::BTreeSet;

use dbdyno_model::Fact;
use dbdyno_model::host::Cpu;

use super::cgroup::Groups;
use super::root::Root;
use super::{stat, text};

const ONLINE: &str = "/sys/devices/system/cpu/online";

/// The processor's name in /proc/cpuinfo, under whichever key the architecture uses.
pub fn model(text: &str) -> Result<String, String> {
    let keys = ["model name", "Model Name", "cpu model", "cpu"];
    keys.iter()
        .find_map(|key| {
            text.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                (name.trim() == *key && !value.trim().is_empty()).then(|| value.trim().to_owned())
            })
        })
        .ok_or_else(|| "the kernel gives no model name".to_owned())
}

/// CPUs on which a process may run, from its status file.
pub fn allowed(text: &str) -> Result<BTreeSet<u32>, String> {
    let list = text
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
        .ok_or("the kernel does not show it")?;
    match text::cpu_list(list)? {
        cpus if cpus.is_empty() => Err("the list is empty".into()),
        cpus => Ok(cpus),
    }
}

/// `process` is `self` or a number.
pub(super) fn collect(root: &Root, process: &str) -> Cpu {
    let online = online(root);
    let affinity = affinity(root, process, &online);
    let (quotas, throttling) = match Groups::find(root, process, "cpu") {
        Ok(groups) => (
            Fact::from_result(groups.cpu_quotas(), "control groups: CPU quota"),
            match groups.throttling() {
                Ok((throttling, origin)) => Fact::known(throttling, origin),
                Err(why) => Fact::unknown(why, "cpu.stat"),
            },
        ),
        Err(why) => (
            Fact::unknown(why.clone(), "control groups: CPU quota"),
            Fact::unknown(why, "cpu.stat"),
        ),
    };
    let effective = match (affinity.value(), quotas.value()) {
        (Some(cpus), Some(quotas)) => Ok(quotas
            .iter()
            .fold(*cpus, |least, quota| least.min(whole_cpus(quota.cpus)))),
        (None, _) => Err(format!(
            "affinity: {}",
            affinity.why_unknown().unwrap_or_default()
        )),
        (_, None) => Err(format!(
            "CPU quota: {}",
            quotas.why_unknown().unwrap_or_default()
        )),
    };
    Cpu {
        model: model_fact(root),
        online: online.map(|cpus| cpus.len() as u32),
        affinity,
        quotas,
        effective: Fact::from_result(effective, "min(affinity, CPU set, CPU quotas)"),
        throttling,
    }
}

/// Threads that can run at once under a quota: half a CPU still runs one.
fn whole_cpus(quota: f64) -> u32 {
    quota.ceil().clamp(1.0, f64::from(u32::MAX)) as u32
}

fn model_fact(root: &Root) -> Fact<String> {
    let result = root
        .head("/proc/cpuinfo")
        .map_err(|error| error.to_string())
        .and_then(|text| model(&text));
    Fact::from_result(result, "/proc/cpuinfo model name")
}

fn online(root: &Root) -> Fact<BTreeSet<u32>> {
    let listed = root.fact(ONLINE, text::cpu_list);
    if listed.value().is_some_and(|cpus| !cpus.is_empty()) {
        return listed;
    }
    // Containers may hide /sys; /proc/stat has one line for each CPU that is online.
    match root.text("/proc/stat") {
        Ok(text) if !stat::cpus(&text).is_empty() => {
            Fact::known(stat::cpus(&text), "/proc/stat cpuN")
        }
        _ => {
            let why = listed.why_unknown().unwrap_or("the list is empty");
            Fact::unknown(why, ONLINE)
        }
    }
}

/// How many CPUs the affinity mask and the CPU set leave, of those that are online.
fn affinity(root: &Root, process: &str, online: &Fact<BTreeSet<u32>>) -> Fact<u32> {
    let path = format!("/proc/{process}/status");
    let origin = format!("{path} Cpus_allowed_list");
    let count = || {
        let text = root.text(&path).map_err(|error| error.to_string())?;
        let mut cpus = allowed(&text)?;
        // The mask may name CPUs that could be added one day.
        match online.value() {
            Some(online) => cpus.retain(|cpu| online.contains(cpu)),
            None => return Err("the CPUs that are online are not known".into()),
        }
        // The kernel keeps the mask within the CPU set, so a set that cannot be read changes little.
        let set = Groups::find(root, process, "cpuset").and_then(|groups| groups.cpuset());
        if let Ok(Some(set)) = set {
            cpus.retain(|cpu| set.contains(cpu));
        }
        match cpus.len() as u32 {
            0 => Err("affinity mask, CPU set and online CPUs have none in common".to_owned()),
            count => Ok(count),
        }
    };
    Fact::from_result(count(), origin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_masks_are_read() {
        let x86 = "processor\t: 0\ncpu family\t: 6\nmodel name\t: Intel(R) Xeon(R)\n";
        assert_eq!(model(x86).as_deref(), Ok("Intel(R) Xeon(R)"));
        let power = "processor\t: 0\ncpu\t\t: POWER9, altivec supported\n";
        assert_eq!(model(power).as_deref(), Ok("POWER9, altivec supported"));
        assert!(model("processor : 0\nCPU part : 0xd40\n").is_err());
        let status = "Name:\tx\nCpus_allowed:\t3\nCpus_allowed_list:\t0-1\n";
        assert_eq!(allowed(status), Ok(BTreeSet::from([0, 1])));
        assert!(allowed("Cpus_allowed_list:\t\n").is_err());
        assert!(allowed("").is_err());
    }

    #[test]
    fn a_part_of_a_cpu_is_one() {
        assert_eq!(whole_cpus(0.2), 1);
        assert_eq!(whole_cpus(1.5), 2);
        assert_eq!(whole_cpus(4.0), 4);
    }
}
