//! When transactions are due in an open loop.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Arrival k is due at t0 + k/rate. Free terminals take them in order, whichever thread they run
/// on: one queue, many servers.
#[derive(Debug)]
pub(crate) struct Schedule {
    t0: Instant,
    rate_tps: f64,
    taken: AtomicU64,
    begun: AtomicU64,
}

impl Schedule {
    pub(crate) fn new(t0: Instant, rate_tps: f64) -> Self {
        Self {
            t0,
            rate_tps,
            taken: AtomicU64::new(0),
            begun: AtomicU64::new(0),
        }
    }

    pub(crate) fn rate_tps(&self) -> f64 {
        self.rate_tps
    }

    /// The next arrival nobody has taken.
    pub(crate) fn take(&self) -> Instant {
        let k = self.taken.fetch_add(1, Ordering::Relaxed);
        // A rate so low that the arrival lies beyond the clock waits for ever, as it should.
        let wait = Duration::try_from_secs_f64(k as f64 / self.rate_tps).unwrap_or(Duration::MAX);
        let far = Duration::from_secs(100 * 365 * 86_400);
        self.t0 + wait.min(far)
    }

    pub(crate) fn begin(&self) {
        self.begun.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn begun(&self) -> u64 {
        self.begun.load(Ordering::Relaxed)
    }

    /// Arrivals whose moment had come at `now`, from the start of the schedule.
    pub(crate) fn due(&self, now: Instant) -> u64 {
        match now.checked_duration_since(self.t0) {
            Some(since) => (since.as_secs_f64() * self.rate_tps) as u64 + 1,
            None => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_are_evenly_spaced_and_counted() {
        let t0 = Instant::now();
        let schedule = Schedule::new(t0, 4.0);
        let due: Vec<Duration> = (0..4).map(|_| schedule.take() - t0).collect();
        assert_eq!(due, [0, 250, 500, 750].map(Duration::from_millis));
        assert_eq!(schedule.due(t0), 1);
        assert_eq!(schedule.due(t0 + Duration::from_millis(499)), 2);
        assert_eq!(schedule.due(t0 + Duration::from_secs(2)), 9);
        assert_eq!(schedule.due(t0 - Duration::from_secs(1)), 0);
        schedule.begin();
        assert_eq!(schedule.begun(), 1);
    }

    #[test]
    fn a_rate_of_nearly_nothing_does_not_overflow() {
        let schedule = Schedule::new(Instant::now(), f64::MIN_POSITIVE);
        schedule.take();
        assert!(schedule.take() > Instant::now());
    }
}
