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

#[cfg(test)]
mod tests {
    use super::{full_page_image_share, max_wal_size_bytes, requested_share};

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
}
