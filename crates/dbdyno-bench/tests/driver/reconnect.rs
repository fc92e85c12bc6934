//! A load that goes on: connections that are lost are made again, and the gap is seen.

use std::thread;
use std::time::Duration;

use dbdyno_bench::driver::{Driver, NoSampler, Options, Until};
use dbdyno_bench::workload::When;
use dbdyno_bench::{Workload, tpcc};

use super::{Fixture, SETTINGS};

#[test]
fn a_server_that_is_killed_twice_is_loaded_again_and_lost_nothing() {
    let Fixture {
        mut running,
        _alone,
    } = Fixture::start();
    let connection = running.connection();
    let config = tpcc::Config {
        warehouses: 1,
        seed: 3,
        ..tpcc::Config::default()
    };
    let workload = Workload::Tpcc(config, tpcc::Mode::default());
    let loaded = workload.load(&connection, 2, &|_| (), &false.into());
    loaded.unwrap_or_else(|error| panic!("{error}"));
    let options = Options {
        connections: 4,
        reconnect: true,
        ..Options::default()
    };
    let mut driver = Driver::start(&connection, &workload, &options).unwrap();
    let crashes = thread::spawn(move || {
        for _ in 0..2 {
            thread::sleep(Duration::from_secs(2));
            running = running.crash(&SETTINGS);
        }
        running
    });
    let until = Until::Elapsed(Duration::from_secs(4));
    let mut observed = driver.observe(until, &mut NoSampler, &mut |_| ()).unwrap();
    while !crashes.is_finished() {
        let more = driver.observe(until, &mut NoSampler, &mut |_| ()).unwrap();
        observed.append(more);
    }
    let running = crashes.join().unwrap();
    // The pauses between tries end at a second.
    let more = driver.observe(until, &mut NoSampler, &mut |_| ()).unwrap();
    let again = more.totals(0.0);
    assert!(again.transactions > 0, "{again:?}");
    observed.append(more);
    let stopped = driver.stop().unwrap();
    let totals = observed.totals(0.0);
    // Each connection was lost twice; one that was made to a dying server may be lost once more.
    let lost: u64 = totals.errors.values().sum();
    assert!((8..=24).contains(&lost), "{totals:?}");
    assert!(
        totals
            .errors
            .keys()
            .all(|code| code == "08006" || code.starts_with("57P")),
        "{totals:?}"
    );
    assert_eq!(stopped.errors, lost);
    let checks = workload.check(&connection, When::AfterRun).unwrap();
    assert!(checks.iter().all(|check| check.passed), "{checks:?}");
    // What was acknowledged is there; what was lost may be there too.
    let new_orders = observed.latency(0.0).per_transaction[0].count - totals.intended_rollbacks;
    let orders = "SELECT sum(d_next_o_id - 3001)::bigint FROM district";
    let orders: i64 = running.client().query_one(orders, &[]).unwrap().get(0);
    assert!(orders as u64 >= new_orders, "{orders} {new_orders}");
}
