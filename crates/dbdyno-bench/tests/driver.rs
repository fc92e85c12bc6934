//! The driver against a real PostgreSQL: its counts are the server's, its clocks tell the truth, and
//! it ends when it should.

#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use dbdyno_bench::Workload;
use dbdyno_bench::driver::{
    Driver, DriverError, NoSampler, Observed, Options, Sampler, ServerCounters, Until,
};
use dbdyno_bench::script::Script;
use dbdyno_bench::tpcc;
use dbdyno_bench::workload::{LoadError, When};
use dbdyno_model::connection::{Address, Connection};
use dbdyno_model::run::Phase;
use dbdyno_target::lab::{Binaries, Home, Lab, LabOptions, Server, Stop, Wanted};
use postgres::NoTls;

/// A running server with everything that has to outlive it; one at a time, since times are tested.
struct Fixture {
    server: Option<Server>,
    _lab: Lab,
    _directory: tempfile::TempDir,
    _alone: MutexGuard<'static, ()>,
}

impl Fixture {
    fn start() -> Self {
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let directory = tempfile::tempdir().unwrap();
        // The server's account has to pass through.
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(directory.path(), mode).unwrap();
        let root = directory.path().display().to_string();
        let home = Home::find(&|name| (name == "DBDYNO_DATA_DIR").then(|| root.clone())).unwrap();
        let binaries = Binaries::find(&Wanted::default(), &home, &|_| ()).unwrap();
        let lab = Lab::create(&home, binaries, &LabOptions::default()).unwrap();
        let settings = [("deadlock_timeout", "10ms"), ("max_connections", "20")];
        let settings: BTreeMap<String, String> = settings
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .collect();
        let server = lab.start_empty(&settings).unwrap();
        Self {
            server: Some(server),
            _lab: lab,
            _directory: directory,
            _alone: alone,
        }
    }

    fn connection(&self) -> Connection {
        self.server.as_ref().unwrap().connection()
    }

    fn client(&self) -> postgres::Client {
        let connection = self.connection();
        let Address::Socket(directory) = &connection.address else {
            panic!("not a socket")
        };
        postgres::Config::new()
            .host_path(directory)
            .port(connection.port)
            .user(&connection.user)
            .dbname(&connection.database)
            .connect(NoTls)
            .unwrap()
    }

    fn number(&self, sql: &str) -> i64 {
        self.client().query_one(sql, &[]).unwrap().get(0)
    }

    /// Reads a script and runs its setup.
    fn load(&self, text: &str) -> Workload {
        let workload = script(text);
        let loaded = workload.load(&self.connection(), 1, &|_| (), &AtomicBool::new(false));
        loaded.unwrap_or_else(|error| panic!("{error}"));
        workload
    }

    fn drive(&self, workload: &Workload, connections: u32) -> Driver {
        self.drive_with(
            workload,
            &Options {
                connections,
                ..Options::default()
            },
        )
    }

    fn drive_with(&self, workload: &Workload, options: &Options) -> Driver {
        let started = Driver::start(&self.connection(), workload, options);
        started.unwrap_or_else(|error| panic!("{error}"))
    }
}

fn script(text: &str) -> Workload {
    Workload::Script(Arc::new(Script::parse("load.sql", text).unwrap()))
}

fn observe(driver: &mut Driver, seconds: f64) -> Observed {
    let until = Until::Elapsed(Duration::from_secs_f64(seconds));
    driver
        .observe(until, &mut NoSampler, &mut |_| ())
        .unwrap_or_else(|error| panic!("{error}"))
}

const TALLY: &str = "\
-- dbdyno: setup
CREATE TABLE tally (id int PRIMARY KEY, n bigint NOT NULL);
INSERT INTO tally SELECT i, 0 FROM generate_series(0, 19) i;
-- dbdyno: transaction count weight=4
UPDATE tally SET n = n + 1 WHERE id = :client_id;
SELECT n FROM tally WHERE id = :client_id;
-- dbdyno: transaction undo
BEGIN;
UPDATE tally SET n = n + 1000000 WHERE id = :client_id;
ROLLBACK;
-- dbdyno: check sane
SELECT id, n FROM tally WHERE n >= 1000000;
";

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
    assert_eq!(second.start_s, first.end_s);
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
    // What is due is a matter of the schedule; how much of it was begun in time, of the machine.
    let due = arrivals.begun + arrivals.backlog;
    assert!((595..=605).contains(&due), "{arrivals:?}");
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
fn a_dead_server_ends_the_observation_and_keeps_it() {
    let mut fixture = Fixture::start();
    let workload = fixture.load(TALLY);
    let mut driver = fixture.drive(&workload, 8);
    let server = fixture.server.take().unwrap();
    let killer = thread::spawn(move || {
        thread::sleep(Duration::from_millis(1500));
        server.stop(Stop::Kill);
        Instant::now()
    });
    let until = Until::Elapsed(Duration::from_secs(60));
    let error = driver
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
    let observed = error.observed().unwrap();
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

#[test]
fn errors_are_counted_and_deadlocks_tried_again() {
    let fixture = Fixture::start();
    let locks = fixture.load(
        "-- dbdyno: setup
CREATE TABLE two (id int PRIMARY KEY, n bigint);
INSERT INTO two VALUES (0, 0), (1, 0);
-- dbdyno: transaction cross
\\set first random(0, 1)
\\set second 1 - :first
UPDATE two SET n = n + 1 WHERE id = :first;
UPDATE two SET n = n + 1 WHERE id = :second;
",
    );
    let mut driver = fixture.drive(&locks, 4);
    let crossed = observe(&mut driver, 2.0).totals(0.0);
    let stopped = driver.stop().unwrap();
    assert!(crossed.retries > 0, "{crossed:?}");
    assert_eq!(
        2 * stopped.committed,
        fixture.number("SELECT sum(n)::bigint FROM two") as u64
    );

    let twice = fixture.load(
        "-- dbdyno: setup
CREATE TABLE once (id int PRIMARY KEY);
INSERT INTO once VALUES (1);
-- dbdyno: transaction again
INSERT INTO once VALUES (1);
",
    );
    let mut driver = fixture.drive(&twice, 2);
    let failed = observe(&mut driver, 0.5);
    let totals = failed.totals(0.0);
    driver.stop().unwrap();
    assert_eq!(
        (totals.transactions, failed.latency(0.0).overall),
        (0, None)
    );
    assert!(totals.errors["23505"] > 0 && totals.too_many_errors());
    assert!(
        totals.error_messages["23505"].contains("once_pkey"),
        "{totals:?}"
    );
}

#[test]
fn a_script_reaches_every_type_and_says_what_it_cannot() {
    let fixture = Fixture::start();
    let types = fixture.load(
        "-- dbdyno: setup
CREATE TABLE typed (a smallint, b int, c bigint, d real, e float8, f numeric, g text, h varchar, i bool, o oid);
-- dbdyno: transaction all
\\set n random(-9999, 32000)
\\set f :n / 8.0
\\set big :n * 1000000000000
\\set one 1
INSERT INTO typed VALUES (:n, :n, :n, :f, :f, :f, :n, :f, :one, :one);
INSERT INTO typed (c, f) VALUES (:big, :big);
-- dbdyno: check same
SELECT * FROM typed WHERE a <> b OR b <> c OR d <> e OR f <> e::numeric OR g <> a::text OR h::numeric <> f
    OR NOT i OR o <> 1 OR (a IS NULL AND c <> f) LIMIT 1;
",
    );
    let mut driver = fixture.drive(&types, 2);
    let observed = observe(&mut driver, 1.0).totals(0.0);
    driver.stop().unwrap();
    assert!(
        observed.transactions > 10 && observed.errors.is_empty(),
        "{observed:?}"
    );
    let checks = types.check(&fixture.connection(), When::AfterRun).unwrap();
    assert!(checks[0].passed, "{checks:?}");

    let options = Options::default();
    for (text, message, hint) in [
        (
            "SELECT 1;\nSELEC 2;",
            "load.sql:2: syntax error at or near \"SELEC\" (42601)",
            "",
        ),
        (
            "SELECT * FROM nowhere",
            "load.sql:1: relation \"nowhere\" does not exist (42P01)",
            "setup",
        ),
        (
            "\\set x 1\nSELECT date '2020-01-01' WHERE now()::date > :x",
            "expects a date",
            "compute it",
        ),
    ] {
        let error = Driver::start(&fixture.connection(), &script(text), &options).unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
        assert!(
            hint.is_empty() || error.hint().unwrap().contains(hint),
            "{:?}",
            error.hint()
        );
    }
    let text = "\\set x random(70000, 80000)\nSELECT :x::smallint";
    let mut driver = fixture.drive(&script(text), 1);
    let until = Until::Elapsed(Duration::from_secs(5));
    let error = driver
        .observe(until, &mut NoSampler, &mut |_| ())
        .unwrap_err();
    assert!(
        error.to_string().contains("load.sql:2: ") && error.to_string().contains("int2"),
        "{error}"
    );

    let setup =
        script("-- dbdyno: setup\nCREATE TABLE typed ();\n-- dbdyno: transaction a\nSELECT 1");
    let error = setup
        .load(&fixture.connection(), 1, &|_| (), &AtomicBool::new(false))
        .unwrap_err();
    assert!(matches!(error, LoadError::Script(_)), "{error}");
    assert!(
        error
            .to_string()
            .contains("load.sql:2: relation \"typed\" already exists"),
        "{error}"
    );

    let many = Options {
        connections: 50,
        ..Options::default()
    };
    let error = Driver::start(&fixture.connection(), &script("SELECT 1"), &many).unwrap_err();
    assert!(error.hint().unwrap().contains("max_connections"), "{error}");
}

#[test]
fn tpcc_runs_and_stays_consistent() {
    let fixture = Fixture::start();
    let workload = Workload::Tpcc(tpcc::Config {
        warehouses: 1,
        seed: 7,
    });
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
