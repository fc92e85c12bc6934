//! Counters of disks and listening sockets, for a reading at both ends of a window.

use dbdyno_model::Fact;
use dbdyno_model::host::{DiskCounters, ListenCounters, Traffic};

use super::pressure;
use super::root::Root;
use super::text;

const DISKS: &str = "/proc/diskstats";
/// More devices are paths to the same few, and the first ones show enough.
const MOST_DISKS: usize = 1024;

/// /proc/diskstats; devices that never did anything are left out.
pub fn diskstats(text: &str) -> Result<Vec<DiskCounters>, String> {
    let disks: Vec<DiskCounters> = text.lines().filter_map(disk).collect();
    if disks.is_empty() && !text.lines().any(is_disk) {
        return Err(format!("it names no disk: {}", text::quoted(text)));
    }
    Ok(disks
        .into_iter()
        .filter(|disk| disk.reads > 0 || disk.writes > 0)
        .take(MOST_DISKS)
        .collect())
}

fn is_disk(line: &str) -> bool {
    disk(line).is_some()
}

fn disk(line: &str) -> Option<DiskCounters> {
    let mut words = line.split_whitespace().skip(2);
    let name = words.next()?.to_owned();
    let figures: Vec<u64> = words
        .take(10)
        .map(|word| word.parse().ok())
        .collect::<Option<_>>()?;
    let [
        reads,
        _,
        sectors_read,
        _,
        writes,
        _,
        sectors_written,
        _,
        _,
        busy_ms,
    ] = figures[..]
    else {
        return None;
    };
    Some(DiskCounters {
        name,
        reads,
        writes,
        sectors_read,
        sectors_written,
        busy_ms,
    })
}

/// The two counters of /proc/net/netstat that tell of full queues: a line of names, a line of figures.
pub fn listening(text: &str) -> Result<ListenCounters, String> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("TcpExt:"));
    let (Some(names), Some(figures)) = (lines.next(), lines.next()) else {
        return Err("it has no lines `TcpExt`".to_owned());
    };
    let figure = |name: &str| {
        let at = names.split_whitespace().position(|known| known == name);
        let word = at.and_then(|at| figures.split_whitespace().nth(at));
        word.ok_or_else(|| format!("no counter `{name}`"))
            .and_then(text::number)
    };
    Ok(ListenCounters {
        overflows: figure("ListenOverflows")?,
        drops: figure("ListenDrops")?,
    })
}

/// `process` is `self` or the server's number, whose network then counts.
pub(super) fn sample(root: &Root, process: &str) -> Fact<Traffic> {
    let network = format!("/proc/{process}/net/netstat");
    let traffic = Traffic {
        disks: root.fact(DISKS, diskstats),
        listening: root.fact(&network, listening),
        pressure: pressure::collect(root),
    };
    Fact::known(traffic, format!("{DISKS}, {network}, /proc/pressure"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disks_that_worked_are_read() {
        let text = " 7 0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n\
                    254 0 vda 10 1 80 5 20 2 160 7 0 9 12 0 0 0 0 3 4\n\
                    8 1 sda1 1 2\n";
        let read = diskstats(text).unwrap();
        assert_eq!(read.len(), 1);
        let disk = &read[0];
        assert_eq!((disk.name.as_str(), disk.busy_ms), ("vda", 9));
        assert_eq!((disk.reads, disk.sectors_read), (10, 80));
        assert_eq!((disk.writes, disk.sectors_written), (20, 160));
        assert_eq!(diskstats("7 0 loop0 0 0 0 0 0 0 0 0 0 0\n"), Ok(vec![]));
        assert!(diskstats("nonsense").is_err());
    }

    #[test]
    fn full_queues_are_read() {
        let text = "TcpExt: SyncookiesSent ListenOverflows ListenDrops\nTcpExt: 1 2 3\nIpExt: A\nIpExt: 9\n";
        let read = listening(text).unwrap();
        assert_eq!((read.overflows, read.drops), (2, 3));
        assert!(listening("TcpExt: ListenOverflows\n").is_err());
        assert!(
            listening("TcpExt: A\nTcpExt: 1\n")
                .unwrap_err()
                .contains("Listen")
        );
    }
}
