//! Users at the terminals: they stay at home, take their time, and cost nothing meanwhile.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use dbdyno_bench::driver::{Driver, DriverError, Options};
use dbdyno_bench::reactor::{Alarm, Reactor};
use dbdyno_bench::tpcc::Think;
use dbdyno_bench::workload::When;
use dbdyno_bench::{Workload, tpcc};
use dbdyno_testing::{Running, binaries};

use super::{Fixture, TALLY, alone, observe, script};

const WAREHOUSES: u32 = 2;
const TERMINALS: u32 = 20;

/// From one transaction of a user to the next, without response times: the 23 cards of a deck take
/// 476 s.
const CYCLE_S: f64 = 476.0 / 23.0;

fn users(factor: f64) -> Options {
    Options {
        connections: TERMINALS,
        threads: Some(2),
        think: Think::scaled(factor),
        ..Options::default()
    }
}

fn two_warehouses() -> (Fixture, Workload) {
    let alone = alone();
    let fixture = Fixture {
        running: Running::start(binaries(), &[("max_connections", "60")]),
        _alone: alone,
    };
    let data = tpcc::Config {
        warehouses: WAREHOUSES,
        seed: 7,
        ..tpcc::Config::default()
    };
    let workload = Workload::Tpcc(data, tpcc::Mode::default());
    workload
        .load(&fixture.connection(), 2, &|_| (), &AtomicBool::new(false))
        .unwrap();
    (fixture, workload)
}

#[test]
fn users_stay_at_home_take_their_time_and_come_without_a_wave() {
    let (fixture, workload) = two_warehouses();
    they_stay_at_home_and_take_their_time(&fixture, &workload);
    they_come_without_a_wave_and_leave_without_waiting(&fixture, &workload);
}

fn they_stay_at_home_and_take_their_time(fixture: &Fixture, workload: &Workload) {
    // Each new order tells by which connection it came.
    fixture
        .client()
        .batch_execute(
            "ALTER TABLE orders ADD COLUMN backend int; \
             ALTER TABLE orders ALTER COLUMN backend SET DEFAULT pg_backend_pid()",
        )
        .unwrap();
    let mut driver = fixture.drive_with(workload, &users(0.01));
    let observed = observe(&mut driver, 6.0);
    driver.stop().unwrap();
    let (totals, latency) = (observed.totals(0.0), observed.latency(0.0));
    assert!(totals.errors.is_empty(), "{totals:?}");

    // A few percent more are chance; how many fewer is a matter of response times.
    let ceiling = f64::from(TERMINALS) / (0.01 * CYCLE_S) * totals.seconds;
    let done = totals.transactions as f64 / ceiling;
    assert!((0.4..1.12).contains(&done), "{done} of {ceiling}");
    for kind in &latency.per_transaction[..2] {
        let share = kind.count as f64 / totals.transactions as f64;
        assert!((share - 10.0 / 23.0).abs() < 0.06, "{}: {share}", kind.name);
        assert!(kind.latency_ms.unwrap().p90.is_some());
    }

    let made = |w: &str| format!("SELECT count(DISTINCT backend) FROM orders WHERE o_w_id = {w}");
    assert_eq!(fixture.number(&made("1")), 10);
    assert_eq!(fixture.number(&made("2")), 10);
    let away = "SELECT count(*) FROM (SELECT backend FROM orders WHERE backend IS NOT NULL \
                GROUP BY backend HAVING count(DISTINCT o_w_id) > 1) AS away";
    assert_eq!(fixture.number(away), 0);
    let checks = workload.check(&fixture.connection(), When::AfterRun);
    let checks = checks.unwrap();
    assert!(checks.iter().all(|check| check.passed), "{checks:?}");
}

fn they_come_without_a_wave_and_leave_without_waiting(fixture: &Fixture, workload: &Workload) {
    let mut driver = fixture.drive_with(workload, &users(1.0));
    // Two are to be expected.
    let calm = observe(&mut driver, 2.0).totals(0.0);
    assert!(calm.transactions <= 10, "{calm:?}");
    let asked = Instant::now();
    driver.stop().unwrap();
    assert!(asked.elapsed() < Duration::from_secs(5));

    let too_few = Options {
        connections: 8,
        ..users(1.0)
    };
    let error = Driver::start(&fixture.connection(), workload, &too_few).unwrap_err();
    assert!(error.to_string().contains("20 terminals"), "{error}");
    let error = Driver::start(&fixture.connection(), &script(TALLY), &users(1.0)).unwrap_err();
    assert!(matches!(error, DriverError::NoUsers(_)), "{error}");
    assert!(error.hint().is_some());
}

#[test]
fn ten_thousand_sleepers_are_woken_once_each() {
    const SLEEPERS: u32 = 10_000;
    let _alone = alone();
    let reactor = Reactor::new(Alarm::new().unwrap()).unwrap();
    let (slept, woken) = (Cell::new(0_u32), Cell::new(0_u32));
    let first = Instant::now() + Duration::from_millis(300);
    let sleep = async |index: u32| {
        let due = first + Duration::from_micros(20) * index;
        reactor.wake_at(due);
        // A machine that stood still may be past it.
        let mut sleeps = Instant::now() < due;
        slept.set(slept.get() + u32::from(sleeps));
        while sleeps {
            reactor.pause().await;
            woken.set(woken.get() + 1);
            sleeps = Instant::now() < due;
        }
    };
    let go_on = |()| ControlFlow::Continue(());
    reactor
        .run(
            (0..SLEEPERS).map(sleep),
            go_on,
            || ControlFlow::Continue(()),
        )
        .unwrap();
    assert!(slept.get() > 0);
    assert_eq!(woken.get(), slept.get());
}
