//! Watches the running load: second by second, until a time is over or something has happened.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use dbdyno_model::run::{Phase, Second};

use super::observed::{Arrivals, KindRecord, Observed, Record};
use super::pace::Pace;
use super::sampler::{Sampler, ServerCounters, rise, rise_s};
use super::thread::Event;
use super::{Driver, DriverError, TICK, lock};
use crate::recorder::{SECOND, Tally};

/// An observation that begins within this time of the last one's end leaves no gap to it. Within a
/// second, since the recorders then still hold what was done meanwhile.
pub const AT_ONCE: Duration = Duration::from_millis(500);

/// How late the end of what a flag tells may be seen.
const FLAG_TICK: Duration = Duration::from_millis(5);

/// When an observation ends.
#[derive(Debug, Clone, Copy)]
pub enum Until<'a> {
    Elapsed(Duration),
    /// Set by another thread, as when its CHECKPOINT has ended.
    Flag(&'a AtomicBool),
}

enum Ending {
    Done(Instant),
    Interrupted,
    Lost(DriverError),
}

/// Where the observation stood when its last second ended.
struct Mark {
    at: Instant,
    /// Of an open loop.
    arrivals: Passed,
    counters: ServerCounters,
    cpu_s: Option<f64>,
}

/// Arrivals from the start of their schedule.
#[derive(Debug, Clone, Copy, Default)]
struct Passed {
    begun: u64,
    due: u64,
}

impl Driver {
    /// Measures until the given end. An observation that follows another at once, at the same
    /// pace, begins where that one ended, so that no transaction falls between them.
    pub fn observe(
        &mut self,
        until: Until<'_>,
        sampler: &mut dyn Sampler,
        on_second: &mut dyn FnMut(&Second),
    ) -> Result<Observed, DriverError> {
        let start = self.attach();
        let before = match start > self.load_started {
            true => self.passed(start),
            false => Passed::default(),
        };
        let mut mark = Mark {
            at: start,
            arrivals: before,
            counters: sampler.sample(),
            cpu_s: self.cpu_s(),
        };
        let mut observed = self.nothing_yet(start, mark.counters);
        let phase = self.phase(until);
        let ending = loop {
            let now = Instant::now();
            let last = match until {
                Until::Elapsed(time) => now.min(start + time),
                Until::Flag(_) => now,
            };
            while mark.at + SECOND <= last {
                let at = mark.at + SECOND;
                self.end_second(&mut observed, &mut mark, at, phase, sampler, on_second);
            }
            if let Some(ending) = self.ending(until, start, mark.at) {
                break ending;
            }
        };
        let end = match ending {
            Ending::Done(end) => end,
            Ending::Interrupted | Ending::Lost(_) => Instant::now(),
        };
        // A second may have become full while the ending was told.
        while mark.at + SECOND <= end {
            let at = mark.at + SECOND;
            self.end_second(&mut observed, &mut mark, at, phase, sampler, on_second);
        }
        if mark.at < end {
            self.end_second(&mut observed, &mut mark, end, phase, sampler, on_second);
        }
        self.detach(end);
        observed.ended = end;
        observed.end_s = self.since_load(end);
        observed.open_loop = self.arrivals(before, mark.arrivals);
        match ending {
            Ending::Done(_) => Ok(observed),
            Ending::Interrupted => Err(DriverError::Interrupted {
                observed: Some(Box::new(observed)),
            }),
            Ending::Lost(DriverError::ServerGone { reason, .. }) => Err(DriverError::ServerGone {
                reason,
                observed: Some(Box::new(observed)),
            }),
            Ending::Lost(error) => Err(DriverError::Broken {
                error: Box::new(error),
                observed: Some(Box::new(observed)),
            }),
        }
    }

    /// Waits for the next thing that can happen, and says whether it ends the observation.
    fn ending(&mut self, until: Until<'_>, start: Instant, mark: Instant) -> Option<Ending> {
        let now = Instant::now();
        if self.stop.load(Ordering::Relaxed) {
            return Some(Ending::Interrupted);
        }
        if let Some(reason) = &self.gone {
            let reason = reason.clone();
            return Some(Ending::Lost(DriverError::ServerGone {
                reason,
                observed: None,
            }));
        }
        let (next, tick, done) = match until {
            Until::Elapsed(time) => {
                let end = start + time;
                // A whole number of seconds was cut exactly; any other end is now.
                let cut = if mark == end { mark } else { now };
                let done = (now >= end).then_some(Ending::Done(cut));
                ((mark + SECOND).min(end), TICK, done)
            }
            Until::Flag(flag) => {
                let done = flag.load(Ordering::Acquire).then_some(Ending::Done(now));
                (mark + SECOND, FLAG_TICK, done)
            }
        };
        // An end that is due still takes what has been told by then: whoever slept through a
        // server's death has measured nothing.
        let wait = match done {
            Some(_) => Duration::ZERO,
            None => next.saturating_duration_since(now).min(tick),
        };
        match self.events.recv_timeout(wait) {
            Ok(Event::Fatal(fatal)) => Some(Ending::Lost(self.error(fatal, None))),
            Ok(Event::Ready(_)) | Err(mpsc::RecvTimeoutError::Timeout) => {
                self.ended_thread().map(Ending::Lost).or(done)
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => Some(Ending::Lost(DriverError::Panicked)),
        }
    }

    /// Why a thread has ended, if one has: one that panicked sends nothing, any other may have told
    /// it since it was last listened to.
    fn ended_thread(&mut self) -> Option<DriverError> {
        if !self.threads.iter().any(JoinHandle::is_finished) {
            return None;
        }
        let told = self.events.try_iter().find_map(|event| match event {
            Event::Fatal(fatal) => Some(fatal),
            Event::Ready(_) => None,
        });
        Some(match told {
            Some(fatal) => self.error(fatal, None),
            None => DriverError::Panicked,
        })
    }

    /// Collects what all threads did up to `at`, a second after the mark or less, and moves the
    /// mark there.
    fn end_second(
        &mut self,
        observed: &mut Observed,
        mark: &mut Mark,
        at: Instant,
        phase: Phase,
        sampler: &mut dyn Sampler,
        on_second: &mut dyn FnMut(&Second),
    ) {
        let whole = at == mark.at + SECOND;
        let mut merged: Option<Tally> = None;
        for recorder in &self.recorders {
            let mut books = lock(recorder);
            let taken = if whole {
                books.take_second(at)
            } else {
                books.take_part(at)
            };
            drop(books);
            let Some(tally) = taken else { continue };
            match &mut merged {
                Some(merged) => {
                    merged.add(&tally);
                    lock(recorder).give_back(tally);
                }
                None => merged = Some(tally),
            }
        }
        let tally = merged.unwrap_or_else(|| Tally::new(self.transactions.len(), at));
        let now = Mark {
            at,
            // Before the server is asked, which may take its time.
            arrivals: self.passed(at),
            counters: sampler.sample(),
            cpu_s: self.cpu_s(),
        };
        let mut second = difference(mark, &now);
        second.at_s = self.since_load(at);
        second.phase = phase;
        second.cut_to_s = (!whole).then(|| (at - mark.at).as_secs_f64());
        let record = Record {
            begin_s: self.since_load(mark.at),
            end_s: second.at_s,
            kinds: KindRecord::of(&tally),
            rolled_back: tally.rolled_back,
            sent: tally.sent,
            errors: tally.errors.clone(),
            refused: tally.refused.clone(),
            driver_cpu_s: second.driver_cpu_s,
            counters: now.counters,
        };
        observed.push(&tally, record, second, whole);
        lock(&self.recorders[0]).give_back(tally);
        *mark = now;
        if let Some(second) = observed.series.last() {
            on_second(second);
        }
    }

    fn nothing_yet(&self, start: Instant, start_counters: ServerCounters) -> Observed {
        Observed {
            started: start,
            ended: start,
            start_s: self.since_load(start),
            end_s: self.since_load(start),
            counts_200ms: Vec::new(),
            series: Vec::new(),
            open_loop: None,
            threads: self.threads(),
            transactions: self.transactions.clone(),
            start_counters,
            records: Vec::new(),
        }
    }

    fn attach(&mut self) -> Instant {
        match self.cut.take().filter(|cut| cut.elapsed() < AT_ONCE) {
            Some(cut) => {
                for recorder in &self.recorders {
                    lock(recorder).reattach();
                }
                cut
            }
            None => {
                let start = Instant::now();
                for recorder in &self.recorders {
                    lock(recorder).attach(start);
                }
                start
            }
        }
    }

    fn detach(&mut self, end: Instant) {
        for recorder in &self.recorders {
            lock(recorder).detach();
        }
        self.cut = Some(end);
    }

    fn since_load(&self, at: Instant) -> f64 {
        at.saturating_duration_since(self.load_started)
            .as_secs_f64()
    }

    fn phase(&self, until: Until<'_>) -> Phase {
        match (self.paces.present(), until) {
            (Pace::Open(_), _) => Phase::OpenLoop,
            (_, Until::Flag(_)) => Phase::Checkpoint,
            _ => Phase::Closed,
        }
    }

    /// Arrivals that have been begun so far, and those that were due at `at`. Each second, so that
    /// what is left to chance is not all drawn in one go at the end, which then comes late.
    fn passed(&self, at: Instant) -> Passed {
        match self.paces.present() {
            Pace::Open(schedule) => Passed {
                begun: schedule.begun(),
                due: schedule.due(at),
            },
            _ => Passed::default(),
        }
    }

    fn arrivals(&self, before: Passed, end: Passed) -> Option<Arrivals> {
        let Pace::Open(schedule) = self.paces.present() else {
            return None;
        };
        Some(Arrivals {
            rate_tps: schedule.rate_tps(),
            spacing: schedule.spacing(),
            begun: end.begun.saturating_sub(before.begun),
            backlog: end.due.saturating_sub(end.begun),
        })
    }
}

fn difference(before: &Mark, after: &Mark) -> Second {
    let (from, to) = (&before.counters, &after.counters);
    let seconds = (after.at - before.at).as_secs_f64();
    // The counters are read a little after the second's end, so a share could pass 1.
    let share = |from, to| Some((rise(from, to)? as f64 / 1e6 / seconds).min(1.0));
    Second {
        wal_bytes: rise(from.wal_bytes, to.wal_bytes),
        full_page_images: rise(from.full_page_images, to.full_page_images),
        checkpoints_timed: rise(from.checkpoints_timed, to.checkpoints_timed),
        checkpoints_requested: rise(from.checkpoints_requested, to.checkpoints_requested),
        blocks_hit: rise(from.blocks_hit, to.blocks_hit),
        blocks_read: rise(from.blocks_read, to.blocks_read),
        dead_tuples: to.dead_tuples,
        database_bytes: to.database_bytes,
        server_cpu_s: rise_s(from.server_cpu_s, to.server_cpu_s),
        server_read_bytes: rise(from.server_read_bytes, to.server_read_bytes),
        server_write_bytes: rise(from.server_write_bytes, to.server_write_bytes),
        driver_cpu_s: rise_s(before.cpu_s, after.cpu_s),
        steal: to.steal_since(from),
        psi_cpu_some: share(from.psi_cpu_some_us, to.psi_cpu_some_us),
        psi_io_some: share(from.psi_io_some_us, to.psi_io_some_us),
        psi_memory_some: share(from.psi_memory_some_us, to.psi_memory_some_us),
        ..Second::default()
    }
}

#[cfg(test)]
#[path = "observe_tests.rs"]
mod tests;
