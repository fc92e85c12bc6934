//! Workers for asynchronous reads, and locks that need no shared table.

/// I/O worker processes for so many CPUs: a quarter of them, between the default and the most that
/// the server takes.
///
/// Source: <https://www.postgresql.org/docs/18/runtime-config-resource.html>
pub fn io_workers(cpus: u32) -> u32 {
    const DEFAULT: u32 = 3;
    const MOST: u32 = 32;
    (cpus / 4).clamp(DEFAULT, MOST)
}

/// Relations that one session can lock without the shared lock table: 16 before PostgreSQL 18;
/// since then groups of 16, as many as `max_locks_per_transaction` rounded up to a power of two
/// fills, at most 1024 of them.
///
/// Source: <https://www.postgresql.org/docs/18/release-18.html>
pub fn fast_path_slots(major: u32, max_locks_per_transaction: u64) -> u64 {
    const GROUP: u64 = 16;
    const MOST_GROUPS: u64 = 1024;
    if major < 18 {
        return GROUP;
    }
    let wanted = max_locks_per_transaction
        .min(GROUP * MOST_GROUPS)
        .next_power_of_two();
    (wanted / GROUP).clamp(1, MOST_GROUPS) * GROUP
}

#[cfg(test)]
mod tests {
    use super::{fast_path_slots, io_workers};

    #[test]
    fn a_quarter_of_the_cpus_within_what_the_server_takes() {
        assert_eq!(
            [2, 12, 16, 64, 256].map(io_workers),
            [3, 3, 4, 16, 32],
            "3 is the default, 32 the most"
        );
    }

    #[test]
    fn eighteen_takes_the_slots_from_the_setting_and_older_servers_have_sixteen() {
        assert_eq!(fast_path_slots(17, 4096), 16);
        assert_eq!(fast_path_slots(18, 10), 16);
        assert_eq!(fast_path_slots(18, 64), 64);
        assert_eq!(fast_path_slots(18, 100), 128);
        assert_eq!(fast_path_slots(18, u64::MAX), 16_384);
    }
}
