//! TPC-C under the driver: every transaction runs, and the data stays consistent.

use std::sync::atomic::AtomicBool;

use dbdyno_bench::driver::{Driver, Options};
use dbdyno_bench::workload::When;
use dbdyno_bench::{Workload, tpcc};

use super::{Fixture, observe};

#[test]
fn tpcc_runs_and_stays_consistent() {
    let fixture = Fixture::start();
    let data = tpcc::Config {
        warehouses: 1,
        seed: 7,
        ..tpcc::Config::default()
    };
    let workload = Workload::Tpcc(data, tpcc::Mode::default());
    let connection = fixture.connection();
    let options = Options {
        connections: 4,
        ..Options::default()
    };
    let error = Driver::start(&connection, &workload, &options).unwrap_err();
    assert!(
        error.hint().is_some_and(|hint| hint.contains("load")),
        "{error}"
    );

    workload
        .load(&connection, 2, &|_| (), &AtomicBool::new(false))
        .unwrap();
    let mut driver = fixture.drive_with(&workload, &options);
    let observed = observe(&mut driver, 3.0);
    let stopped = driver.stop().unwrap();
    let (totals, latency) = (observed.totals(0.0), observed.latency(0.0));
    assert!(
        totals.errors.is_empty() && totals.transactions > 50,
        "{totals:?}"
    );
    let names: Vec<&str> = latency
        .per_transaction
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    assert_eq!(names, tpcc::TRANSACTIONS);
    assert!(
        latency.per_transaction.iter().all(|one| one.count > 0),
        "{latency:?}"
    );
    // Orders are the server's own count of committed new orders, those under way at the end too.
    let orders = fixture.number("SELECT sum(d_next_o_id - 3001)::bigint FROM district");
    let new_orders = latency.per_transaction[0].count - totals.intended_rollbacks;
    let after_the_window = stopped.committed - (totals.transactions - totals.intended_rollbacks);
    assert!(
        (new_orders..=new_orders + after_the_window).contains(&(orders as u64)),
        "{orders} {new_orders} {after_the_window}"
    );
    let checks = workload.check(&connection, When::AfterRun).unwrap();
    assert!(
        !checks.is_empty() && checks.iter().all(|check| check.passed),
        "{checks:?}"
    );
}
