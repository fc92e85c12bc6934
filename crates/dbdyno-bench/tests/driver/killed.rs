//! A server that is killed under a load: it is loaded again, and what was acknowledged is there.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use dbdyno_bench::driver::{ClientTarget, Driver, NoSampler, Observed, Options, Until};
use dbdyno_bench::workload::When;
use dbdyno_bench::{Workload, tpcc};
use dbdyno_model::connection::Connection;

use super::{Fixture, SETTINGS};

const TERMINALS: u32 = 4;
const KILLS: u64 = 2;

/// With all processors busy.
const LONGEST: Duration = Duration::from_secs(60);

/// Drives TPC-C while `crash` kills the server and starts it again. `writing` tells the connections
/// that have changed something in their transactions, `ordered` the new orders that are stored.
pub(super) fn killed_under_load(
    connection: &Connection,
    writing: impl Fn() -> Vec<i64> + Sync,
    mut crash: impl FnMut() + Send,
    ordered: impl FnOnce() -> i64,
) -> Observed {
    let config = tpcc::Config {
        warehouses: 1,
        seed: 3,
        ..tpcc::Config::default()
    };
    let workload = Workload::Tpcc(config, tpcc::Mode::default());
    let loaded = workload.load(connection, 2, &|_| (), &false.into());
    loaded.unwrap_or_else(|error| panic!("{error}"));
    let options = Options {
        connections: TERMINALS,
        reconnect: true,
        ..Options::default()
    };
    let mut driver = Driver::start(connection, &workload, &options).unwrap();
    let mut second = || {
        let until = Until::Elapsed(Duration::from_secs(1));
        driver.observe(until, &mut NoSampler, &mut |_| ()).unwrap()
    };
    let mut observed = second();
    thread::scope(|scope| {
        let crashes = scope.spawn(|| {
            for _ in 0..KILLS {
                await_all(&writing);
                crash();
            }
            await_all(&writing);
        });
        while !crashes.is_finished() {
            observed.append(second());
        }
        crashes.join().unwrap();
    });
    // Whoever was seen writing may still wait for the disk.
    let begun = Instant::now();
    loop {
        let more = second();
        let again = more.totals(0.0).transactions;
        observed.append(more);
        if again > 0 {
            break;
        }
        assert!(begun.elapsed() < LONGEST, "it is not loaded again");
    }
    let stopped = driver.stop().unwrap();

    // Nobody is let in by a server that is dead: each terminal lost one connection to each kill.
    let totals = observed.totals(0.0);
    assert_eq!(stopped.errors, KILLS * u64::from(TERMINALS), "{totals:?}");
    // Between two observations nobody looks.
    let lost: u64 = totals.errors.values().sum();
    assert!(lost <= stopped.errors, "{totals:?}");
    let mut codes = totals.errors.keys();
    assert!(
        codes.all(|code| code == "08006" || code.starts_with("57P") || code == "2013"),
        "{totals:?}"
    );
    let checks = workload.check(connection, When::AfterRun).unwrap();
    assert_eq!(checks.len(), 12);
    assert!(checks.iter().all(|check| check.passed), "{checks:?}");
    // What was acknowledged is there; what was lost may be there too.
    let new_orders = observed.latency(0.0).per_transaction[0].count - totals.intended_rollbacks;
    let ordered = ordered();
    assert!(ordered as u64 >= new_orders, "{ordered} {new_orders}");
    observed
}

/// Less often than InnoDB makes its list of transactions anew: asked every 0.1 s or sooner, it repeats the old one.
const LOOK_EVERY: Duration = Duration::from_millis(150);

/// Until each terminal was seen in the middle of a transaction, its statements prepared.
fn await_all(writing: &impl Fn() -> Vec<i64>) {
    let begun = Instant::now();
    let mut seen = BTreeSet::new();
    while seen.len() < TERMINALS as usize {
        assert!(begun.elapsed() < LONGEST, "{seen:?}");
        seen.extend(writing());
        thread::sleep(LOOK_EVERY);
    }
}

#[test]
fn a_server_that_is_killed_twice_is_loaded_again_and_lost_nothing() {
    let Fixture { running, _alone } = Fixture::start();
    let connection = running.connection();
    let client = || ClientTarget::of(&connection).unwrap().open().unwrap();
    let writing = || -> Vec<i64> {
        let writers = "SELECT pid FROM pg_stat_activity
            WHERE backend_type = 'client backend' AND backend_xid IS NOT NULL";
        let rows = client().query(writers, &[]).unwrap();
        rows.iter()
            .map(|row| i64::from(row.get::<_, i32>(0)))
            .collect()
    };
    let mut running = Some(running);
    let crash = || running = running.take().map(|running| running.crash(&SETTINGS));
    killed_under_load(&connection, writing, crash, || {
        let orders = "SELECT sum(d_next_o_id - 3001)::bigint FROM district";
        client().query_one(orders, &[]).unwrap().get(0)
    });
}
