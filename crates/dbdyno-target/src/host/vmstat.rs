//! Counters of the memory subsystem, /proc/vmstat.

use dbdyno_model::Fact;
use dbdyno_model::host::VmStat;

use super::cgroup::counter;
use super::root::Root;

/// The counters that rules use; one that the kernel does not keep stays unknown.
pub fn vmstat(text: &str) -> Result<VmStat, String> {
    let counters = VmStat {
        pswpin: counter(text, "pswpin"),
        pswpout: counter(text, "pswpout"),
        compact_stall: counter(text, "compact_stall"),
        oom_kill: counter(text, "oom_kill"),
        numa_hit: counter(text, "numa_hit"),
        numa_miss: counter(text, "numa_miss"),
        nr_dirty: counter(text, "nr_dirty"),
        nr_writeback: counter(text, "nr_writeback"),
        nr_dirty_threshold: counter(text, "nr_dirty_threshold"),
    };
    if counters == VmStat::default() {
        return Err("none of the counters is there".into());
    }
    Ok(counters)
}

pub(super) fn sample(root: &Root) -> Fact<VmStat> {
    root.fact("/proc/vmstat", vmstat)
}

#[cfg(test)]
mod tests {
    use super::vmstat;

    #[test]
    fn counters_are_read() {
        let read = vmstat("pswpin 4\npswpout 0\noom_kill x\n").unwrap();
        assert_eq!(read.pswpin, Some(4));
        assert_eq!(read.pswpout, Some(0));
        assert_eq!((read.compact_stall, read.oom_kill), (None, None));
        assert!(vmstat("nr_free_pages 1\n").is_err());
    }
}
