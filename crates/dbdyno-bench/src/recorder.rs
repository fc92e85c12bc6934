//! What one driver thread measured, second by second, kept small enough to keep all of it.

mod compact;

use std::time::{Duration, Instant};

use dbdyno_model::bench::FailedReconnects;
use dbdyno_stats::new_histogram;
use hdrhistogram::Histogram;

pub(crate) use compact::Compact;

use crate::wire::Sent;

pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const SLOTS: usize = 5;
const SLOT_NANOS: u128 = 200_000_000;

/// How one transaction came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome<'a> {
    Committed,
    /// Rolled back because the workload says so.
    RolledBack,
    /// Given up: SQLSTATE and the server's primary message.
    Failed {
        code: &'a str,
        message: &'a str,
    },
}

/// One transaction as its terminal saw it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ended<'a> {
    pub(crate) kind: usize,
    pub(crate) outcome: Outcome<'a>,
    pub(crate) retries: u32,
    /// Since the terminal's last transaction.
    pub(crate) sent: Sent,
    /// Where latency counts from; none for one that began under another pace.
    pub(crate) from: Option<Instant>,
}

#[derive(Debug, Clone)]
pub(crate) struct Kind {
    pub(crate) latency: Histogram<u32>,
    pub(crate) ended: u64,
    pub(crate) retries: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ErrorCount {
    pub(crate) code: String,
    pub(crate) count: u64,
    /// The first message seen with this code.
    pub(crate) message: String,
}

/// One second, or the part of one before an observation ended.
#[derive(Debug, Clone)]
pub(crate) struct Tally {
    end: Instant,
    /// Ended transactions (committed and intended rollbacks) in each 200 ms.
    pub(crate) slots: [u64; SLOTS],
    pub(crate) kinds: Vec<Kind>,
    pub(crate) rolled_back: u64,
    pub(crate) sent: Sent,
    pub(crate) errors: Vec<ErrorCount>,
    /// Tries to connect again that failed.
    pub(crate) refused: Vec<FailedReconnects>,
}

impl Tally {
    pub(crate) fn new(kinds: usize, end: Instant) -> Self {
        let kind = Kind {
            latency: new_histogram(),
            ended: 0,
            retries: 0,
        };
        Self {
            end,
            slots: [0; SLOTS],
            kinds: vec![kind; kinds],
            rolled_back: 0,
            sent: Sent::default(),
            errors: Vec::new(),
            refused: Vec::new(),
        }
    }

    pub(crate) fn clear(&mut self) {
        self.slots = [0; SLOTS];
        for kind in &mut self.kinds {
            if kind.ended > 0 {
                kind.latency.reset();
            }
            (kind.ended, kind.retries) = (0, 0);
        }
        self.rolled_back = 0;
        self.sent = Sent::default();
        self.errors.clear();
        self.refused.clear();
    }

    fn fail(&mut self, code: &str, message: &str) {
        match self.errors.iter_mut().find(|known| known.code == code) {
            Some(known) => known.count += 1,
            None => self.errors.push(ErrorCount {
                code: code.to_owned(),
                count: 1,
                message: message.to_owned(),
            }),
        }
    }

    /// Adds another thread's same second.
    pub(crate) fn add(&mut self, other: &Tally) {
        for (slot, more) in self.slots.iter_mut().zip(other.slots) {
            *slot += more;
        }
        for (kind, more) in self.kinds.iter_mut().zip(&other.kinds) {
            if more.ended > 0 {
                // Both resize by themselves, so that only a count overflow could fail; it saturates.
                let _ = kind.latency.add(&more.latency);
            }
            kind.ended += more.ended;
            kind.retries += more.retries;
        }
        self.rolled_back += other.rolled_back;
        self.sent.add(other.sent);
        for error in &other.errors {
            match self
                .errors
                .iter_mut()
                .find(|known| known.code == error.code)
            {
                Some(known) => known.count += error.count,
                None => self.errors.push(error.clone()),
            }
        }
        for refused in &other.refused {
            refused.clone().count_into(&mut self.refused);
        }
    }
}

/// Everything since the load began, observed or not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    pub(crate) committed: u64,
    pub(crate) rolled_back: u64,
    pub(crate) errors: u64,
    pub(crate) retries: u64,
}

/// A driver thread's books. Seconds are cut by the clock of the transactions' ends, so that an
/// observer that comes late still finds every transaction in its own 200 ms.
#[derive(Debug)]
pub(crate) struct Recorder {
    current: Tally,
    started: Instant,
    finished: Vec<Tally>,
    spare: Vec<Tally>,
    /// Nobody observes: seconds are dropped as they end.
    detached: bool,
    sum: Sum,
}

impl Recorder {
    pub(crate) fn new(kinds: usize, now: Instant) -> Self {
        Self {
            current: Tally::new(kinds, now + SECOND),
            started: now,
            finished: Vec::new(),
            spare: Vec::new(),
            detached: true,
            sum: Sum::default(),
        }
    }

    /// Books one transaction at the present moment, and returns that moment.
    pub(crate) fn record(&mut self, ended: &Ended<'_>) -> Instant {
        // Read here, under the lock, so that no entry comes behind a cut that it precedes.
        let now = Instant::now();
        self.roll(now);
        self.sum.retries += u64::from(ended.retries);
        self.current.sent.add(ended.sent);
        let kind = &mut self.current.kinds[ended.kind];
        kind.retries += u64::from(ended.retries);
        if let Outcome::Failed { code, message } = ended.outcome {
            self.sum.errors += 1;
            self.current.fail(code, message);
            return now;
        }
        kind.ended += 1;
        if let Some(from) = ended.from {
            let nanos = now.saturating_duration_since(from).as_nanos();
            // Grows as needed; `saturating_record` would clamp instead.
            let _ = kind
                .latency
                .record(u64::try_from(nanos).unwrap_or(u64::MAX).max(1));
        }
        let slot = now.saturating_duration_since(self.started).as_nanos() / SLOT_NANOS;
        self.current.slots[(slot as usize).min(SLOTS - 1)] += 1;
        if ended.outcome == Outcome::RolledBack {
            self.current.rolled_back += 1;
            self.sum.rolled_back += 1;
        } else {
            self.sum.committed += 1;
        }
        now
    }

    /// Books a try to connect again that failed.
    pub(crate) fn refuse(&mut self, refused: FailedReconnects) {
        self.roll(Instant::now());
        refused.count_into(&mut self.current.refused);
    }

    fn roll(&mut self, now: Instant) {
        while now >= self.current.end {
            let end = self.current.end;
            self.cut(end);
        }
    }

    /// Ends the present second at `at` and opens the next one there.
    fn cut(&mut self, at: Instant) {
        self.started = at;
        if self.detached {
            self.current.clear();
            self.current.end = at + SECOND;
            return;
        }
        let mut next = self
            .spare
            .pop()
            .unwrap_or_else(|| Tally::new(self.current.kinds.len(), at));
        next.end = at + SECOND;
        let mut done = std::mem::replace(&mut self.current, next);
        done.end = at;
        self.finished.push(done);
    }

    /// Starts to keep seconds, the first of them from `at`.
    pub(crate) fn attach(&mut self, at: Instant) {
        self.roll(at);
        self.detached = true;
        self.cut(at);
        self.finished.clear();
        self.detached = false;
    }

    /// Goes on from where the last [`Recorder::detach`] cut, with nothing lost in between.
    pub(crate) fn reattach(&mut self) {
        self.detached = false;
    }

    pub(crate) fn detach(&mut self) {
        self.finished.clear();
        self.detached = true;
    }

    /// The second that ended at `at`, where `at` is a full second after the last cut.
    pub(crate) fn take_second(&mut self, at: Instant) -> Option<Tally> {
        self.roll(at);
        (self.finished.first()?.end <= at).then(|| self.finished.remove(0))
    }

    /// The part of a second up to `at`; none where a cut already lies there.
    pub(crate) fn take_part(&mut self, at: Instant) -> Option<Tally> {
        self.roll(at);
        if self.started < at {
            self.cut(at);
        }
        (!self.finished.is_empty()).then(|| self.finished.remove(0))
    }

    pub(crate) fn give_back(&mut self, mut tally: Tally) {
        tally.clear();
        self.spare.push(tally);
    }

    pub(crate) fn sum(&self) -> Sum {
        self.sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commit(kind: usize, from: Instant) -> Ended<'static> {
        Ended {
            kind,
            outcome: Outcome::Committed,
            retries: 0,
            sent: Sent::default(),
            from: Some(from),
        }
    }

    #[test]
    fn a_late_observer_finds_each_second_by_itself() {
        // Two and a half seconds ago, so that the clock itself rolls the seconds over.
        let base = Instant::now() - Duration::from_millis(2500);
        let mut recorder = Recorder::new(2, base);
        recorder.attach(base);
        recorder.record(&commit(1, base));
        assert_eq!(recorder.take_second(base + SECOND).unwrap().slots, [0; 5]);
        assert_eq!(
            recorder.take_second(base + 2 * SECOND).unwrap().slots,
            [0; 5]
        );
        assert!(recorder.take_second(base + 2 * SECOND).is_none());
        let part = recorder.take_part(Instant::now()).unwrap();
        assert_eq!(part.slots, [0, 0, 1, 0, 0]);
        assert_eq!((part.kinds[0].ended, part.kinds[1].ended), (0, 1));
        let latency = part.kinds[1].latency.max();
        assert!(
            (2_400_000_000..2_700_000_000).contains(&latency),
            "{latency}"
        );
    }

    #[test]
    fn a_full_second_leaves_no_part() {
        let base = Instant::now() - Duration::from_millis(1500);
        let mut recorder = Recorder::new(1, base);
        recorder.attach(base);
        let end = base + SECOND;
        assert!(recorder.take_second(end).is_some());
        assert!(recorder.take_part(end).is_none());
        recorder.detach();
        recorder.record(&commit(0, base));
        recorder.reattach();
        assert_eq!(
            recorder.take_part(Instant::now()).unwrap().kinds[0].ended,
            1,
            "no gap"
        );
    }

    #[test]
    fn unobserved_seconds_only_sum_up() {
        let base = Instant::now() - Duration::from_secs(3600);
        let mut recorder = Recorder::new(1, base);
        for outcome in [
            Outcome::Committed,
            Outcome::RolledBack,
            Outcome::Failed {
                code: "23505",
                message: "",
            },
        ] {
            recorder.record(&Ended {
                kind: 0,
                outcome,
                sent: Sent::default(),
                retries: 2,
                from: None,
            });
        }
        assert!(recorder.finished.is_empty());
        assert_eq!(
            recorder.sum(),
            Sum {
                committed: 1,
                rolled_back: 1,
                errors: 1,
                retries: 6
            }
        );
    }

    #[test]
    fn tries_to_connect_again_are_kept_apart_from_errors() {
        let now = Instant::now();
        let mut recorder = Recorder::new(1, now);
        recorder.attach(now);
        let refused = FailedReconnects {
            code: Some("1045".to_owned()),
            message: "Access denied".to_owned(),
            count: 1,
        };
        recorder.refuse(refused.clone());
        recorder.refuse(refused.clone());
        let mut part = recorder.take_part(Instant::now()).unwrap();
        assert_eq!(part.errors, []);
        let twice = FailedReconnects {
            count: 2,
            ..refused
        };
        assert_eq!(part.refused, [twice]);
        let other = part.clone();
        part.add(&other);
        assert_eq!((part.refused.len(), part.refused[0].count), (1, 4));
        part.clear();
        assert_eq!((part.refused.len(), recorder.sum().errors), (0, 0));
    }

    #[test]
    fn failures_are_counted_by_code_and_not_as_ended() {
        let now = Instant::now();
        let mut recorder = Recorder::new(1, now);
        recorder.attach(now);
        for (code, message) in [("23505", "first"), ("23505", "second"), ("57014", "x")] {
            let outcome = Outcome::Failed { code, message };
            recorder.record(&Ended {
                kind: 0,
                outcome,
                sent: Sent::default(),
                retries: 0,
                from: Some(now),
            });
        }
        let part = recorder.take_part(Instant::now()).unwrap();
        assert_eq!((part.kinds[0].ended, part.kinds[0].latency.len()), (0, 0));
        assert_eq!(
            (
                part.errors[0].count,
                part.errors[0].message.as_str(),
                part.errors[1].count
            ),
            (2, "first", 1)
        );
    }
}
