//! A load that ends other than meant keeps what was measured, and one that does not end is ended.

use std::time::{Duration, Instant};

use dbdyno_bench::driver::{DriverError, NoSampler, Options, Until};

use super::{Fixture, TALLY, observe, script};

#[test]
fn an_error_of_the_script_keeps_what_was_measured() {
    let fixture = Fixture::start();
    // One in 140 is beyond a smallint.
    let workload = script("\\set x random(0, 33000)\nSELECT :x::smallint, pg_sleep(0.01)");
    let mut driver = fixture.drive(&workload, 1);
    let until = Until::Elapsed(Duration::from_secs(60));
    let mut error = driver
        .observe(until, &mut NoSampler, &mut |_| ())
        .unwrap_err();
    assert!(error.to_string().contains("smallint"), "{error}");
    let DriverError::Broken { error: inner, .. } = &error else {
        panic!("{error:?}");
    };
    assert!(matches!(**inner, DriverError::Script(_)), "{inner}");
    let observed = error.take_observed().unwrap();
    assert!(observed.totals(0.0).transactions > 0 && observed.seconds() < 60.0);
    assert!(error.take_observed().is_none());
}

#[test]
fn what_does_not_end_is_cancelled_and_what_does_is_waited_for() {
    let fixture = Fixture::start();
    let options = Options {
        connections: 3,
        ..Options::default()
    };
    let mut driver = fixture.drive_with(&script("SELECT pg_sleep(600)"), &options);
    observe(&mut driver, 0.5);
    let begun = Instant::now();
    let stopped = driver.stop_within(Duration::from_millis(500)).unwrap();
    assert_eq!(stopped, None);
    assert!(begun.elapsed() < Duration::from_secs(20));
    let left = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(600)%'
                AND state = 'active' AND pid <> pg_backend_pid()";
    while fixture.number(left) > 0 {
        assert!(begun.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(20));
    }

    let workload = fixture.load(TALLY);
    let mut driver = fixture.drive(&workload, 2);
    observe(&mut driver, 0.5);
    let stopped = driver.stop_within(Duration::from_secs(60)).unwrap();
    let committed = stopped.unwrap().committed;
    let stored = fixture.number("SELECT sum(n)::bigint FROM tally");
    assert_eq!(committed, stored as u64);
}
