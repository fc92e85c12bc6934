//! What the hypervisor took of this machine's CPU time.

use dbdyno_report::number;

use super::table;

/// Above this share the hypervisor was part of what was measured.
const MUCH: f64 = 0.05;

/// Ticks of all processors since boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Times {
    all: u64,
    stolen: u64,
}

impl Times {
    pub(super) fn now() -> Result<Self, String> {
        let path = "/proc/stat";
        let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
        Self::parse(&text).ok_or_else(|| format!("{path} has no line of all processors"))
    }

    /// user, nice, system, idle, iowait, irq, softirq, steal; guests are in user and nice.
    fn parse(text: &str) -> Option<Self> {
        let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let ticks: Vec<u64> = line
            .split_ascii_whitespace()
            .take(8)
            .map(|field| field.parse().ok())
            .collect::<Option<_>>()?;
        Some(Self {
            all: ticks.iter().sum(),
            stolen: *ticks.get(7)?,
        })
    }

    pub(super) fn steal_until(&self, later: &Self) -> f64 {
        let all = later.all.saturating_sub(self.all).max(1);
        later.stolen.saturating_sub(self.stolen) as f64 / all as f64
    }
}

/// The most of all runs, and how many of them had much.
pub(super) fn shown(steal: &[f64]) -> String {
    let most = steal.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if most == f64::NEG_INFINITY {
        return table::missing();
    }
    let much = steal.iter().filter(|steal| **steal > MUCH).count();
    if much == 0 {
        return number::percent(most);
    }
    format!(
        "**{}**, {much} of {} runs over {}",
        number::percent(most),
        steal.len(),
        number::percent(MUCH)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steal_is_its_share_of_all_ticks() {
        let before = Times::parse("cpu  10 0 10 70 0 0 0 10 5 5\ncpu0 1 2 3\n").unwrap();
        assert_eq!((before.all, before.stolen), (100, 10));
        let after = Times::parse("cpu  20 0 20 120 0 0 0 40 9 9\n").unwrap();
        assert_eq!(before.steal_until(&after), 0.3);
        assert_eq!(before.steal_until(&before), 0.0);
        assert_eq!(Times::parse("cpu0 1 2 3 4 5 6 7 8\n"), None);
        assert_eq!(Times::parse("cpu  1 2 3\n"), None);
        assert!(Times::now().is_ok());
    }
}
