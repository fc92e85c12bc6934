//! Isolation that was asked for is asked for again by every connection that is made.

use std::thread;
use std::time::Duration;

use dbdyno_bench::driver::{ClientTarget, Options};
use dbdyno_bench::wire::Isolation;

use super::{Fixture, observe};

const TELL: &str = "\
-- dbdyno: setup
CREATE TABLE told (level text NOT NULL, pid int NOT NULL);
-- dbdyno: transaction tell
INSERT INTO told SELECT current_setting('transaction_isolation'), pg_backend_pid();
";

#[test]
fn lost_connections_are_isolated_as_those_before() {
    let fixture = Fixture::start();
    let workload = fixture.load(TELL);
    let options = Options {
        connections: 2,
        reconnect: true,
        isolation: Some(Isolation::Serializable),
        ..Options::default()
    };
    let mut driver = fixture.drive_with(&workload, &options);
    let connection = fixture.connection();
    let kills = thread::spawn(move || {
        thread::sleep(Duration::from_secs(1));
        let kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE pid IN (SELECT pid FROM told)";
        let mut client = ClientTarget::of(&connection).unwrap().open().unwrap();
        client.execute(kill, &[]).unwrap()
    });
    observe(&mut driver, 3.0);
    assert_eq!(kills.join().unwrap(), 2);
    driver.stop().unwrap();
    let pids = fixture.number("SELECT count(DISTINCT pid) FROM told");
    assert!(pids >= 4, "{pids}");
    let others = fixture.number("SELECT count(*) FROM told WHERE level <> 'serializable'");
    assert_eq!(others, 0);
}

#[test]
fn nothing_is_asked_where_nothing_was_asked_for() {
    let fixture = Fixture::start();
    let set = format!(
        "ALTER DATABASE {} SET default_transaction_isolation = 'repeatable read'",
        fixture.connection().database
    );
    fixture.client().batch_execute(&set).unwrap();
    let workload = fixture.load(TELL);
    let mut driver = fixture.drive(&workload, 2);
    observe(&mut driver, 1.0);
    driver.stop().unwrap();
    let others = fixture.number("SELECT count(*) FROM told WHERE level <> 'repeatable read'");
    assert_eq!(others, 0);
    assert!(fixture.number("SELECT count(*) FROM told") > 0);
}
