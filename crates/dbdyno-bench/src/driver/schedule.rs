//! When transactions are due in an open loop.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::tpcc::random::Random;

/// First step of the path of the arrivals' random stream, none of any workload's.
const STREAM: u64 = 301;

/// How arrivals follow each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ArrivalProcess {
    /// Evenly: what waits is waiting for the server alone.
    #[default]
    Uniform,
    /// Each by chance, whatever the others do, as of many users who know nothing of each other: the
    /// gaps are negative exponential, and some of the waiting is theirs.
    Poisson,
}

impl ArrivalProcess {
    pub const ALL: [Self; 2] = [Self::Uniform, Self::Poisson];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Poisson => "poisson",
        }
    }

    /// The one of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|spacing| spacing.name() == name)
    }
}

/// Free terminals take arrivals in order, whichever thread they run on: one queue, many servers.
#[derive(Debug)]
pub(crate) struct Schedule {
    t0: Instant,
    rate_tps: f64,
    arrivals: Source,
    begun: AtomicU64,
}

#[derive(Debug)]
enum Source {
    /// Arrival k is due at t0 + k/rate; how many are taken.
    Uniform(AtomicU64),
    /// Behind what is taken, and behind what is due: the same arrivals, each drawn twice.
    Poisson {
        taken: Mutex<Walk>,
        due: Mutex<Walk>,
    },
}

/// Goes from one arrival to the next.
#[derive(Debug, Clone)]
struct Walk {
    random: Random,
    rate_tps: f64,
    passed: u64,
    /// The next one, in seconds behind t0.
    next_s: f64,
}

impl Walk {
    fn new(rate_tps: f64, seed: u64) -> Self {
        let mut walk = Self {
            random: Random::stream(seed, &[STREAM]),
            rate_tps,
            passed: 0,
            next_s: 0.0,
        };
        walk.next_s = walk.gap_s();
        walk
    }

    fn gap_s(&mut self) -> f64 {
        // 53 bits, and never zero, which has no logarithm.
        let unit = ((self.random.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
        -unit.ln() / self.rate_tps
    }

    /// Passes the next arrival, and says when it is due.
    fn step(&mut self) -> f64 {
        let due_s = self.next_s;
        self.next_s += self.gap_s();
        self.passed += 1;
        due_s
    }
}

impl Schedule {
    /// The seed decides what is left to chance.
    pub(crate) fn new(t0: Instant, rate_tps: f64, spacing: ArrivalProcess, seed: u64) -> Self {
        let arrivals = match spacing {
            ArrivalProcess::Uniform => Source::Uniform(AtomicU64::new(0)),
            ArrivalProcess::Poisson => {
                let walk = Walk::new(rate_tps, seed);
                Source::Poisson {
                    taken: Mutex::new(walk.clone()),
                    due: Mutex::new(walk),
                }
            }
        };
        Self {
            t0,
            rate_tps,
            arrivals,
            begun: AtomicU64::new(0),
        }
    }

    pub(crate) fn rate_tps(&self) -> f64 {
        self.rate_tps
    }

    pub(crate) fn spacing(&self) -> ArrivalProcess {
        match self.arrivals {
            Source::Uniform(_) => ArrivalProcess::Uniform,
            Source::Poisson { .. } => ArrivalProcess::Poisson,
        }
    }

    /// The next arrival nobody has taken.
    pub(crate) fn take(&self) -> Instant {
        let due_s = match &self.arrivals {
            Source::Uniform(taken) => taken.fetch_add(1, Ordering::Relaxed) as f64 / self.rate_tps,
            Source::Poisson { taken, .. } => lock(taken).step(),
        };
        // A rate so low that the arrival lies beyond the clock waits for ever, as it should.
        let wait = Duration::try_from_secs_f64(due_s).unwrap_or(Duration::MAX);
        let far = Duration::from_secs(100 * 365 * 86_400);
        self.t0 + wait.min(far)
    }

    pub(crate) fn begin(&self) {
        self.begun.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn begun(&self) -> u64 {
        self.begun.load(Ordering::Relaxed)
    }

    /// Arrivals whose moment had come at `now`, from the start of the schedule. What is asked of is
    /// never earlier than what was asked of before.
    pub(crate) fn due(&self, now: Instant) -> u64 {
        let Some(since) = now.checked_duration_since(self.t0) else {
            return 0;
        };
        let since_s = since.as_secs_f64();
        match &self.arrivals {
            Source::Uniform(_) => (since_s * self.rate_tps) as u64 + 1,
            Source::Poisson { due, .. } => {
                let mut walk = lock(due);
                while walk.next_s <= since_s {
                    walk.step();
                }
                walk.passed
            }
        }
    }
}

fn lock(walk: &Mutex<Walk>) -> MutexGuard<'_, Walk> {
    walk.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn uniform(t0: Instant, rate_tps: f64) -> Schedule {
        Schedule::new(t0, rate_tps, ArrivalProcess::Uniform, 1)
    }

    #[test]
    fn arrivals_are_evenly_spaced_and_counted() {
        let t0 = Instant::now();
        let schedule = uniform(t0, 4.0);
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
        for spacing in ArrivalProcess::ALL {
            let schedule = Schedule::new(Instant::now(), f64::MIN_POSITIVE, spacing, 1);
            schedule.take();
            assert!(schedule.take() > Instant::now(), "{spacing:?}");
        }
    }

    #[test]
    fn names_are_read_back() {
        for spacing in ArrivalProcess::ALL {
            assert_eq!(ArrivalProcess::named(spacing.name()), Some(spacing));
            let schedule = Schedule::new(Instant::now(), 1.0, spacing, 1);
            assert_eq!(schedule.spacing(), spacing);
        }
        assert_eq!(ArrivalProcess::named("even"), None);
    }

    /// Arrivals in each of `slices` slices that follow each other, of ten arrivals on average.
    fn counts(rate_tps: f64, seed: u64, slices: u32) -> Vec<f64> {
        let t0 = Instant::now();
        let schedule = Schedule::new(t0, rate_tps, ArrivalProcess::Poisson, seed);
        let ends = (1..=slices).map(|slice| f64::from(slice) * 10.0 / rate_tps);
        let mut before = 0;
        ends.map(|end_s| {
            let due = schedule.due(t0 + Duration::from_secs_f64(end_s));
            let count = due - before;
            before = due;
            count as f64
        })
        .collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// What tells a Poisson process: of counts in slices of time, the mean is that of the rate
        /// and the variance is the mean, and no slice knows of the one before. Bounds are of six and
        /// more standard deviations for 2,000 slices.
        #[test]
        fn arrivals_by_chance_keep_the_rate_and_slices_are_independent(
            seed: u64,
            rate_tps in 0.5..50_000.0_f64,
        ) {
            let counts = counts(rate_tps, seed, 2_000);
            let n = counts.len() as f64;
            let mean = counts.iter().sum::<f64>() / n;
            prop_assert!((mean - 10.0).abs() < 0.45, "{mean}");
            let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / n;
            prop_assert!((0.78..1.25).contains(&(variance / mean)), "{variance} {mean}");
            let pairs = counts.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean));
            let correlation = pairs.sum::<f64>() / n / variance;
            prop_assert!(correlation.abs() < 0.14, "{correlation}");
        }

        #[test]
        fn a_seed_decides_what_comes_when_and_all_of_it_is_due_in_order(
            seed: u64,
            rate_tps in 0.5..50_000.0_f64,
        ) {
            let t0 = Instant::now();
            let schedule = |seed| Schedule::new(t0, rate_tps, ArrivalProcess::Poisson, seed);
            let taken = |schedule: &Schedule| -> Vec<Instant> {
                (0..100).map(|_| schedule.take()).collect()
            };
            let first = schedule(seed);
            let due = taken(&first);
            prop_assert!(due.is_sorted() && due[0] >= t0);
            prop_assert_eq!(&due, &taken(&schedule(seed)));
            prop_assert!(due != taken(&schedule(seed.wrapping_add(1))));
            for (index, at) in due.iter().enumerate() {
                // Moments are cut to nanoseconds.
                let past = first.due(*at + Duration::from_nanos(1));
                prop_assert!(past > index as u64, "{index}: {past}");
            }
        }
    }
}
