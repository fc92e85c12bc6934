//! Observations of a driver without threads.

use std::sync::{Arc, Mutex};

use super::super::NoSampler;
use super::super::pace::Paces;
use super::super::schedule::{ArrivalProcess, Schedule};
use super::super::thread::Fatal;
use super::*;
use crate::recorder::Recorder;

/// One that drives nothing, with what its threads would tell it through.
fn driver(pace: Pace, start: Instant) -> (Driver, mpsc::Sender<Event>) {
    let (sender, events) = mpsc::channel();
    let paces = Arc::new(Paces::new());
    paces.set(pace);
    let driver = Driver {
        threads: Vec::new(),
        tids: Vec::new(),
        recorders: vec![Arc::new(Mutex::new(Recorder::new(1, start)))],
        paces,
        events,
        stop: Arc::default(),
        server: "postgres://app@host:5432/shop".into(),
        transactions: vec!["one".into()],
        spacing: ArrivalProcess::Uniform,
        seed: 1,
        load_started: start,
        cut: None,
        gone: None,
    };
    (driver, sender)
}

/// While it asks its server, ten more arrivals are begun.
struct Slow {
    schedule: Arc<Schedule>,
    asked: u64,
}

impl Sampler for Slow {
    fn sample(&mut self) -> ServerCounters {
        self.asked += 1;
        for _ in 0..10 {
            self.schedule.begin();
        }
        ServerCounters::default()
    }
}

#[test]
fn what_is_begun_while_the_server_is_asked_for_its_counters_is_behind_the_end() {
    for spacing in ArrivalProcess::ALL {
        let start = Instant::now();
        let schedule = Arc::new(Schedule::new(start, 1_000.0, spacing, 1));
        let (mut driver, _sender) = driver(Pace::Open(Arc::clone(&schedule)), start);
        let mut sampler = Slow { schedule, asked: 0 };
        let until = Until::Elapsed(Duration::from_millis(250));
        let observed = driver.observe(until, &mut sampler, &mut |_| ()).unwrap();
        let begun = 10 * (sampler.asked - 1);
        let arrivals = observed.open_loop.unwrap();
        assert_eq!(arrivals.begun, begun, "{spacing:?}");
        let due = sampler.schedule.due(observed.ended);
        assert_eq!(arrivals.backlog, due - begun, "{spacing:?}");
    }
}

#[test]
fn arrivals_are_drawn_second_by_second() {
    let start = Instant::now();
    let schedule = Arc::new(Schedule::new(start, 1_000.0, ArrivalProcess::Poisson, 1));
    let (mut driver, _sender) = driver(Pace::Open(Arc::clone(&schedule)), start);
    let mut drawn = Vec::new();
    let until = Until::Elapsed(Duration::from_millis(1_100));
    let mut on_second = |_: &Second| drawn.push(schedule.due(start));
    driver
        .observe(until, &mut NoSampler, &mut on_second)
        .unwrap();
    assert!(drawn[0] > 500 && drawn.is_sorted(), "{drawn:?}");
}

#[test]
fn a_thread_that_has_ended_is_asked_why_before_it_is_called_a_defect() {
    let (mut driver, sender) = driver(Pace::Closed, Instant::now());
    assert!(driver.ended_thread().is_none());
    let fatal = Event::Fatal(Fatal::Gone("the server is shutting down".into()));
    let thread = std::thread::spawn(move || sender.send(fatal).unwrap());
    while !thread.is_finished() {
        std::thread::yield_now();
    }
    driver.threads.push(thread);
    let told = driver.ended_thread();
    assert!(
        matches!(told, Some(DriverError::ServerGone { .. })),
        "{told:?}"
    );
    let untold = driver.ended_thread();
    assert!(matches!(untold, Some(DriverError::Panicked)), "{untold:?}");
}
