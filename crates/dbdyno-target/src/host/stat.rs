//! CPU time, /proc/stat.

use std::collections::BTreeSet;

use dbdyno_model::Fact;
use dbdyno_model::host::CpuTime;

use super::root::Root;
use super::text;

/// The first line: all CPUs together, in clock ticks.
pub fn cpu_time(text: &str) -> Result<CpuTime, String> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("cpu "))
        .ok_or_else(|| format!("no line `cpu`: {}", text::quoted(text)))?;
    let ticks: Vec<u64> = line
        .split_whitespace()
        .take(8)
        .map(text::number)
        .collect::<Result<_, _>>()?;
    let [user, nice, system, idle, iowait, irq, softirq, steal] = ticks[..] else {
        return Err(format!("the line `cpu` has {} numbers, not 8", ticks.len()));
    };
    // A sum that overflows would end the program; no machine has run that long.
    if ticks.iter().any(|ticks| *ticks > u64::MAX / 8) {
        return Err("the counters are beyond belief".into());
    }
    Ok(CpuTime {
        user,
        nice,
        system,
        idle,
        iowait,
        irq,
        softirq,
        steal,
    })
}

/// The CPUs that have a line of their own, which are those online.
pub fn cpus(text: &str) -> BTreeSet<u32> {
    text.lines()
        .filter_map(|line| line.strip_prefix("cpu")?.split(' ').next()?.parse().ok())
        .collect()
}

pub(super) fn sample(root: &Root) -> Fact<CpuTime> {
    let result = root
        .head("/proc/stat")
        .map_err(|error| error.to_string())
        .and_then(|text| cpu_time(&text));
    Fact::from_result(result, "/proc/stat cpu")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_and_cpus_are_read() {
        let text = "cpu  1 2 3 4 5 6 7 8 9 0\ncpu0 1 2 3 4 5 6 7 8 0 0\ncpu3 0 0 0 0 0 0 0 0 0 0\nintr 5\n";
        let time = cpu_time(text).unwrap();
        assert_eq!((time.user, time.steal, time.total()), (1, 8, 36));
        assert_eq!(cpus(text), BTreeSet::from([0, 3]));
        assert!(cpu_time("cpu  1 2 3\n").is_err());
        assert!(cpu_time("cpu  1 2 3 4 5 6 7 18446744073709551615\n").is_err());
        assert!(cpu_time("").is_err());
    }
}
