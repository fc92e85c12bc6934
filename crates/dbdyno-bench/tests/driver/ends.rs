//! A load ends with its server and with an interrupt: promptly, and keeping what was measured.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use dbdyno_bench::driver::{Driver, DriverError, NoSampler, Options, Until};
use dbdyno_model::run::Second;
use dbdyno_target::lab::Stop;

use super::{Fixture, TALLY, script};

#[test]
fn a_dead_server_ends_the_observation_and_keeps_it() {
    let fixture = Fixture::start();
    let workload = fixture.load(TALLY);
    let mut driver = fixture.drive(&workload, 8);
    let server = fixture.running.server;
    let killer = thread::spawn(move || {
        thread::sleep(Duration::from_millis(1500));
        server.stop(Stop::Kill);
        Instant::now()
    });
    let until = Until::Elapsed(Duration::from_secs(60));
    let mut error = driver
        .observe(until, &mut NoSampler, &mut |_| ())
        .unwrap_err();
    let ended = Instant::now();
    let killed = killer.join().unwrap();
    assert!(ended.saturating_duration_since(killed) < Duration::from_secs(20));
    assert!(matches!(error, DriverError::ServerGone { .. }), "{error}");
    assert!(
        error
            .to_string()
            .starts_with("the server closed the connection"),
        "{error}"
    );
    assert!(error.hint().is_some());
    let observed = error.take_observed().unwrap();
    assert!(observed.totals(0.0).transactions > 0 && observed.seconds() > 1.0);
    let again = driver
        .observe(until, &mut NoSampler, &mut |_| ())
        .unwrap_err();
    assert!(matches!(again, DriverError::ServerGone { .. }), "{again}");
    let before = Instant::now();
    drop(driver);
    assert!(before.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_death_that_the_observer_slept_through_is_told() {
    let fixture = Fixture::start();
    let workload = fixture.load(TALLY);
    let mut driver = fixture.drive(&workload, 2);
    let mut server = Some(fixture.running.server);
    // The end is due by the time that anybody asks for it.
    let mut kill_and_oversleep = |_: &Second| {
        if let Some(server) = server.take() {
            server.stop(Stop::Kill);
            thread::sleep(Duration::from_secs(2));
        }
    };
    let until = Until::Elapsed(Duration::from_secs(2));
    let error = driver
        .observe(until, &mut NoSampler, &mut kill_and_oversleep)
        .unwrap_err();
    assert!(matches!(error, DriverError::ServerGone { .. }), "{error}");
}

#[test]
fn an_interrupt_is_prompt_and_leaves_nothing_running() {
    let fixture = Fixture::start();
    let workload = script("SELECT pg_sleep(600)");
    let options = Options {
        connections: 3,
        ..Options::default()
    };
    let mut driver = fixture.drive_with(&workload, &options);
    let stop = Arc::clone(&options.stop);
    let thread = thread::spawn(move || {
        thread::sleep(Duration::from_millis(700));
        stop.store(true, Ordering::Relaxed);
        Instant::now()
    });
    let until = Until::Elapsed(Duration::from_secs(60));
    let error = driver
        .observe(until, &mut NoSampler, &mut |_| ())
        .unwrap_err();
    let ended = Instant::now();
    let set = thread.join().unwrap();
    assert!(ended.saturating_duration_since(set) < Duration::from_secs(10));
    assert!(
        matches!(error, DriverError::Interrupted { observed: Some(_) }),
        "{error}"
    );
    let error = driver.stop().unwrap_err();
    assert!(matches!(error, DriverError::Interrupted { .. }), "{error}");
    assert!(ended.elapsed() < Duration::from_secs(20));
    thread::sleep(Duration::from_millis(200));
    let left = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(600)%'
                AND state = 'active' AND pid <> pg_backend_pid()";
    assert_eq!(fixture.number(left), 0);
    // One that is set already keeps a load from starting.
    let error = Driver::start(&fixture.connection(), &workload, &options).unwrap_err();
    assert!(
        matches!(error, DriverError::Interrupted { observed: None }),
        "{error}"
    );
}
