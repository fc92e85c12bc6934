//! How much write-ahead log a server needs room for.

/// `max_wal_size` in bytes that lets `checkpoint_timeout`, not volume, start every checkpoint: while
/// one is being spread over `completion_target` of the interval, the log of the next already grows.
///
/// Source: <https://www.postgresql.org/docs/current/wal-configuration.html>
pub fn max_wal_size_bytes(
    wal_bytes_per_s: f64,
    checkpoint_timeout_s: f64,
    completion_target: f64,
) -> u64 {
    (wal_bytes_per_s * checkpoint_timeout_s * (1.0 + completion_target)) as u64
}

/// Share of requested checkpoints among all; none before the first.
///
/// Source: <https://www.postgresql.org/docs/current/wal-configuration.html>
pub fn requested_share(timed: f64, requested: f64) -> Option<f64> {
    let all = timed + requested;
    (all > 0.0).then(|| requested / all)
}

/// Upper bound of the share of full-page images in the log: an image holds at most a page, less
/// where the page has a hole.
///
/// Source: <https://www.postgresql.org/docs/current/monitoring-stats.html> (`pg_stat_wal`)
pub fn full_page_image_share(images: f64, wal_bytes: f64) -> Option<f64> {
    (wal_bytes > 0.0).then(|| (images * super::PAGE_BYTES as f64 / wal_bytes).min(1.0))
}

/// Checkpoints an hour, whether time or volume starts them: one begins where the log since the
/// last one reaches `max_wal_size / (1 + completion_target)`.
///
/// Source: <https://www.postgresql.org/docs/current/wal-configuration.html>
pub fn checkpoints_per_hour(
    wal_bytes_per_s: f64,
    max_wal_size: f64,
    checkpoint_timeout_s: f64,
    completion_target: f64,
) -> f64 {
    let by_volume = wal_bytes_per_s * 3600.0 * (1.0 + completion_target) / max_wal_size.max(1.0);
    by_volume.max(3600.0 / checkpoint_timeout_s.max(1.0))
}

/// A position in the log in bytes, from how the server writes it: `2C/860000D0`.
///
/// Source: <https://www.postgresql.org/docs/current/datatype-pg-lsn.html>
pub fn position_bytes(lsn: &str) -> Option<u64> {
    let (high, low) = lsn.split_once('/')?;
    let part = |text: &str| {
        let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
        u32::from_str_radix(text, 16).ok().filter(|_| is_hex)
    };
    Some((u64::from(part(high)?) << 32) | u64::from(part(low)?))
}

/// Share of the log that compressing full-page images saved.
pub fn saved_share(bytes_plain: f64, bytes_compressed: f64) -> Option<f64> {
    (bytes_plain > 0.0).then(|| 1.0 - bytes_compressed / bytes_plain)
}

/// Seconds that a crash takes to recover from: the log since the last checkpoint, replayed.
///
/// Source: <https://www.postgresql.org/docs/current/wal-configuration.html>
pub fn recovery_s(wal_bytes: f64, replay_bytes_per_s: f64) -> Option<f64> {
    (replay_bytes_per_s > 0.0).then(|| wal_bytes / replay_bytes_per_s)
}

/// Seconds until the log, if nothing of it is removed, has filled what is free.
pub fn fills_in_s(free_bytes: f64, wal_bytes_per_s: f64) -> Option<f64> {
    (wal_bytes_per_s > 0.0).then(|| free_bytes / wal_bytes_per_s)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formulas::GIB;

    #[test]
    fn fifty_megabytes_a_second_over_a_quarter_of_an_hour_need_85_gigabytes() {
        assert_eq!(max_wal_size_bytes(50e6, 900.0, 0.9), 85_500_000_000);
    }

    #[test]
    fn a_share_of_no_checkpoints_is_unknown() {
        assert_eq!(requested_share(0.0, 0.0), None);
        assert_eq!(requested_share(3.0, 1.0), Some(0.25));
    }

    #[test]
    fn images_never_exceed_the_log_that_holds_them() {
        assert_eq!(full_page_image_share(10.0, 81_920.0 * 4.0), Some(0.25));
        assert_eq!(full_page_image_share(10.0, 100.0), Some(1.0));
        assert_eq!(full_page_image_share(10.0, 0.0), None);
    }

    /// A published TPC-C run of ten hours: between these two positions lie 1962 GB.
    const BEFORE: &str = "2C/860000D0";
    const AFTER: &str = "217/14A49C50";

    fn published_bytes() -> u64 {
        position_bytes(AFTER).unwrap() - position_bytes(BEFORE).unwrap()
    }

    #[test]
    fn the_published_positions_are_1962_gigabytes_apart() {
        assert_eq!(published_bytes() / GIB, 1962);
        for broken in ["", "2C", "2C/", "/1", "+1/0", "2C/860000D0F", "x/y"] {
            assert_eq!(position_bytes(broken), None, "{broken}");
        }
    }

    #[test]
    fn the_published_run_has_three_to_four_checkpoints_an_hour() {
        let rate = published_bytes() as f64 / 36_000.0;
        let hourly = checkpoints_per_hour(rate, 100.0 * GIB as f64, 3600.0, 0.9);
        assert!((3.0..4.0).contains(&hourly), "{hourly}");
        // Without volume, time starts them.
        assert_eq!(checkpoints_per_hour(0.0, 1e9, 300.0, 0.9), 12.0);
    }

    #[test]
    fn compressing_saved_two_fifths_of_the_published_log() {
        let saved = saved_share(3359.0, 1962.0).unwrap();
        assert!((saved - 0.416).abs() < 0.001, "{saved}");
        assert_eq!(saved_share(0.0, 1.0), None);
    }

    #[test]
    fn recovery_and_a_full_disk_take_as_long_as_their_rate_says() {
        assert_eq!(recovery_s(16e9, 80e6), Some(200.0));
        assert_eq!(recovery_s(1.0, 0.0), None);
        assert_eq!(fills_in_s(36e9, 10e6), Some(3600.0));
        assert_eq!(fills_in_s(36e9, 0.0), None);
    }
}
