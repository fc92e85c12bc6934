//! Closed loop and open loop: counts are the server's, and waiting is counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use dbdyno_bench::driver::{
    AT_ONCE, Driver, DriverError, NoSampler, Options, Sampler, ServerCounters, Until,
};
use dbdyno_bench::workload::When;
use dbdyno_model::run::Phase;

use super::{Fixture, TALLY, observe};

/// Rises by 10 with each look.
struct Ten(u64);

impl Sampler for Ten {
    fn sample(&mut self) -> ServerCounters {
        self.0 += 10;
        ServerCounters {
            wal_bytes: Some(self.0),
            ..ServerCounters::default()
        }
    }
}

#[test]
fn closed_loop_counts_are_the_servers() {
    let fixture = Fixture::start();
    let workload = fixture.load(TALLY);
    let options = Options {
        connections: 5,
        threads: Some(2),
        ..Options::default()
    };
    let mut driver = fixture.drive_with(&workload, &options);
    let mut told = Vec::new();
    let until = Until::Elapsed(Duration::from_secs(2));
    let mut first = driver
        .observe(until, &mut Ten(0), &mut |second| told.push(second.clone()))
        .unwrap();
    assert_eq!(told, first.series);
    assert_eq!((first.counts_200ms.len(), first.series.len()), (10, 2));
    assert_eq!(first.series[1].wal_bytes, Some(10));
    assert_eq!((first.threads, first.start_s), (2, 0.0));
    assert!((first.end_s - 2.0).abs() < 1e-6 && first.series[0].phase == Phase::Closed);

    // A flag that another thread sets ends the second part, with no gap to the first.
    let flag = Arc::new(AtomicBool::new(false));
    let setter = Arc::clone(&flag);
    let thread = thread::spawn(move || {
        thread::sleep(Duration::from_millis(1300));
        setter.store(true, Ordering::Release);
    });
    let second = driver
        .observe(Until::Flag(&flag), &mut NoSampler, &mut |_| ())
        .unwrap();
    thread.join().unwrap();
    // A machine that stalls between the two lines above may be late for it.
    let gap = second.start_s - first.end_s;
    assert!(gap == 0.0 || gap >= AT_ONCE.as_secs_f64(), "{gap}");
    assert!(
        (1.25..10.0).contains(&second.seconds()),
        "{}",
        second.seconds()
    );
    assert!(
        second
            .series
            .iter()
            .all(|second| second.phase == Phase::Checkpoint)
    );
    first.append(second);

    let all = observe(&mut driver, 0.3);
    first.append(all);
    let stopped = driver.stop().unwrap();
    let totals = first.totals(0.0);
    assert_eq!(
        stopped.committed,
        fixture.number("SELECT sum(n)::bigint FROM tally") as u64
    );
    let unobserved = stopped.committed + stopped.intended_rollbacks - totals.transactions;
    assert!(unobserved < 2_000, "{unobserved}");
    assert_eq!((stopped.errors, stopped.retries), (0, 0));
    let share = totals.intended_rollbacks as f64 / totals.transactions as f64;
    assert!((share - 0.2).abs() < 0.05, "{share}");

    let latency = first.latency(0.0);
    let overall = latency.overall.unwrap();
    assert_eq!(overall.count, totals.transactions);
    assert_eq!(
        latency
            .per_transaction
            .iter()
            .map(|one| one.count)
            .sum::<u64>(),
        overall.count
    );
    assert!(overall.p50 > 0.0 && overall.p50 <= overall.p99 && overall.p99 <= overall.max);
    let warm = first.totals(1.0);
    assert_eq!(
        totals.transactions - warm.transactions,
        first.series[0].transactions
    );
    assert_eq!(
        first.counts_200ms[..5].iter().sum::<u64>(),
        first.series[0].transactions
    );
    assert!(
        totals
            .driver_cpu_s
            .is_some_and(|cpu| cpu > 0.0 && cpu < 2.0 * totals.seconds)
    );
    let checks = workload
        .check(&fixture.connection(), When::AfterRun)
        .unwrap();
    assert!(checks.len() == 1 && checks[0].passed, "{checks:?}");
    fixture
        .client()
        .execute("UPDATE tally SET n = 1000000 WHERE id = 3", &[])
        .unwrap();
    let broken = workload
        .check(&fixture.connection(), When::AfterRun)
        .unwrap();
    assert_eq!(broken[0].detail.as_deref(), Some("first row: 3, 1000000"));
}

#[test]
fn open_loop_keeps_its_rate_and_counts_waiting() {
    let fixture = Fixture::start();
    let workload = fixture.load(TALLY);
    let mut driver = fixture.drive(&workload, 4);
    observe(&mut driver, 0.5);
    driver.set_open_loop(200.0).unwrap();
    let calm = observe(&mut driver, 3.0);
    let arrivals = calm.open_loop.unwrap();
    // What is due is a matter of the schedule, but for a machine that stands still at either end; how
    // much of it was begun in time, of the machine.
    let due = arrivals.begun + arrivals.backlog;
    assert!(due.abs_diff(600) <= 60, "{arrivals:?}");
    assert!(arrivals.backlog <= 100, "{arrivals:?}");
    assert!(calm.totals(0.0).transactions.abs_diff(arrivals.begun) <= 100);
    assert_eq!(calm.series[0].phase, Phase::OpenLoop);
    let calm = calm.latency(1.0).overall.unwrap();

    // Everything that comes due while the table is locked waits for the rest of the second.
    let stall = |fixture: &Fixture| {
        let mut client = fixture.client();
        thread::spawn(move || {
            thread::sleep(Duration::from_millis(500));
            client
                .batch_execute("BEGIN; LOCK TABLE tally; SELECT pg_sleep(1); COMMIT")
                .unwrap();
        })
    };
    let thread = stall(&fixture);
    let open = observe(&mut driver, 3.0).latency(0.0).overall.unwrap();
    thread.join().unwrap();
    assert!(open.p99 > 500.0, "open loop: {open:?}, calm: {calm:?}");
    assert!(calm.p50 < open.p99, "{calm:?}");

    driver.set_closed_loop();
    let thread = stall(&fixture);
    let closed = observe(&mut driver, 3.0).latency(0.0).overall.unwrap();
    thread.join().unwrap();
    assert!(
        closed.max > 900.0 && closed.p99 < open.p99,
        "closed loop: {closed:?}"
    );

    // More than the server can do: the backlog says so.
    driver.set_open_loop(1e6).unwrap();
    let flooded = observe(&mut driver, 1.0).open_loop.unwrap();
    assert!(flooded.backlog > 500_000, "{flooded:?}");
    assert!(matches!(
        driver.set_open_loop(0.0),
        Err(DriverError::Rate(_))
    ));
    driver.stop().unwrap();
}

#[test]
fn a_rate_holds_from_the_first_transaction() {
    const RATE: f64 = 50.0;
    let fixture = Fixture::start();
    let workload = fixture.load(TALLY);
    let at = |rate| Options {
        connections: 4,
        rate: Some(rate),
        ..Options::default()
    };
    let mut driver = fixture.drive_with(&workload, &at(RATE));
    // Nobody looks yet, as while a command reads the server's counters.
    thread::sleep(Duration::from_secs(1));
    let observed = observe(&mut driver, 1.0);
    assert_eq!(observed.series[0].phase, Phase::OpenLoop);
    let stopped = driver.stop().unwrap();
    let ended = (stopped.committed + stopped.intended_rollbacks) as f64;
    let due = RATE * stopped.seconds + 1.0;
    assert!((due / 2.0..=due).contains(&ended), "{ended} of {due}");

    let error = Driver::start(&fixture.connection(), &workload, &at(-1.0)).unwrap_err();
    assert!(matches!(error, DriverError::Rate(_)), "{error}");
}
