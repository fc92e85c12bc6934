//! Isolation as it is asked for: sessions show it, and the transactions of TPC-C stay sound under it.

use std::time::Duration;

use dbdyno_bench::Workload;
use dbdyno_bench::driver::{Driver, NoSampler, Options, Until, target};
use dbdyno_bench::reactor::{Alarm, Reactor};
use dbdyno_bench::tpcc::{Config, Mode, When};
use dbdyno_bench::wire::{Isolation, Link, Session};
use dbdyno_model::connection::{Connection, Engine};
use dbdyno_testing::binaries;

use super::{load_quietly, start};

/// What a session is given that asks for nothing.
pub(super) fn own(connection: &Connection) -> Isolation {
    let mut link = Link::open(&target(connection).unwrap()).unwrap();
    Isolation::read(&mut link, connection.engine).unwrap()
}

/// What a session that asked for each level shows; the value is the last column.
pub(super) fn shows_what_was_asked(connection: &Connection, show: &str, columns_before: u32) {
    let reactor = Reactor::new(Alarm::new().unwrap()).unwrap();
    let target = target(connection).unwrap();
    let session = reactor.block_on(Session::open(&reactor, &target));
    let mut session = session.unwrap().unwrap();
    for level in Isolation::ALL {
        let mut shown = None;
        let asked = async {
            session.isolate(level).await?;
            let statement = session.prepare(show).await?;
            session.queue(&statement, |_| {})?;
            let read = session.rows(&statement, |mut row| {
                for _ in 0..columns_before {
                    row.skip()?;
                }
                shown = Isolation::named(row.text()?);
                Ok(())
            });
            read.await
        };
        reactor.block_on(asked).unwrap().unwrap();
        assert_eq!(shown, Some(level));
    }
}

/// Drives the load for a while; whatever is not committed was somebody's who came too late.
pub(super) fn stays_sound(connection: &Connection, config: &Config, level: Isolation) {
    let workload = Workload::Tpcc(*config, Mode::Pipelined);
    let options = Options {
        connections: 4,
        isolation: Some(level),
        ..Options::default()
    };
    let mut driver = Driver::start(connection, &workload, &options).unwrap();
    let until = Until::Elapsed(Duration::from_secs(2));
    let observed = driver.observe(until, &mut NoSampler, &mut |_| ()).unwrap();
    driver.stop().unwrap();
    let totals = observed.totals(0.0);
    assert!(totals.transactions > 20, "{level:?}: {totals:?}");
    let late = ["40001", "40P01", "1213", "1205", "1020"];
    let mut codes = totals.errors.keys();
    assert!(
        codes.all(|code| late.contains(&code.as_str())),
        "{totals:?}"
    );
    let given_up: u64 = totals.errors.values().sum();
    assert!(given_up * 4 < totals.transactions, "{level:?}: {totals:?}");
    let checks = workload.check(connection, When::AfterRun).unwrap();
    assert!(checks.iter().all(|check| check.passed), "{checks:?}");
}

#[test]
fn every_level_is_shown_and_keeps_the_data_sound() {
    let running = start(binaries());
    let connection = running.database("isolation");
    assert_eq!(connection.engine, Engine::Postgres);
    assert_eq!(own(&connection), Isolation::ReadCommitted);
    shows_what_was_asked(&connection, "SHOW transaction_isolation", 0);
    let config = Config {
        seed: 8,
        ..Config::default()
    };
    load_quietly(&connection, &config, 2);
    for level in [Isolation::RepeatableRead, Isolation::Serializable] {
        stays_sound(&connection, &config, level);
    }
}
