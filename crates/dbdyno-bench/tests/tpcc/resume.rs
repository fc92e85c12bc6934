//! Loads that were cut off, and resumed: every row is there once, as if nothing had happened.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dbdyno_bench::Workload;
use dbdyno_bench::tpcc::{
    Layout, LoadError, Loaded, Progress, ReadBackError, clean, read_back, resume,
};
use dbdyno_testing::binaries;

use super::*;

const CONFIG: Config = Config {
    warehouses: 2,
    seed: 5,
    sets: 1,
    layout: Layout::Own,
    foreign_keys: true,
};
/// Two sets each, of as many rows together.
const BARE: Config = Config {
    warehouses: 1,
    sets: 2,
    foreign_keys: false,
    ..CONFIG
};
const SYSBENCH: Config = Config {
    layout: Layout::Sysbench,
    foreign_keys: true,
    ..BARE
};
const SETTINGS: [(&str, &str); 1] = [("fsync", "off")];

/// Tables, indexes and constraints with their state.
const SCHEMA: &str = "SELECT string_agg(line, E'\\n' ORDER BY line) FROM (
    SELECT format('%s %s %s', c.relkind, c.relname, coalesce(x.indisvalid, true)) AS line
    FROM pg_class c LEFT JOIN pg_index x ON x.indexrelid = c.oid
    WHERE c.relnamespace = 'public'::regnamespace
    UNION ALL
    SELECT format('%s %s %s', contype, conname, convalidated) FROM pg_constraint
    WHERE connamespace = 'public'::regnamespace) AS lines";

const FOREIGN_KEYS: &str = "SELECT count(*) FROM pg_constraint WHERE contype = 'f'";

/// Everything that a load leaves behind, as texts.
fn state(connection: &Connection) -> Vec<String> {
    const TABLES: &str = "SELECT relname::text FROM pg_class
        WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY relname";
    let mut client = client(connection);
    let mut text = |sql: &str| client.query_one(sql, &[]).unwrap().get::<_, String>(0);
    let mut state = vec![text(SCHEMA)];
    let tables = super::client(connection).query(TABLES, &[]).unwrap();
    for table in tables.iter().map(|row| row.get::<_, String>(0)) {
        let sums = text(&format!(
            "SELECT format('%s: %s rows, %s', '{table}', count(*),
                sum(hashtextextended(t::text, 0))) FROM {table} AS t"
        ));
        state.push(sums);
    }
    state
}

/// What an undisturbed load leaves.
fn whole(running: &Running, config: &Config) -> Vec<String> {
    let connection = running.database("whole");
    load_quietly(&connection, config, 2);
    let state = state(&connection);
    assert_eq!(state.len() as u32, 1 + 9 * config.sets + 1, "{state:?}");
    state
}

/// The same of [`CONFIG`]: rows follow from the seed on any server, so that one load is enough for all
/// tests here.
fn whole_config() -> &'static [String] {
    static WHOLE: OnceLock<Vec<String>> = OnceLock::new();
    WHOLE.get_or_init(|| whole(&start(binaries()), &CONFIG))
}

/// Loads that are none of this one, each with what tells it apart.
fn others(config: Config) -> [(Config, &'static str); 4] {
    let layout = match config.layout {
        Layout::Own => Layout::Sysbench,
        Layout::Sysbench => Layout::Own,
    };
    let sets = config.sets + 7;
    let foreign_keys = !config.foreign_keys;
    [
        (Config { seed: 6, ..config }, "seed="),
        (Config { sets, ..config }, "sets="),
        (Config { layout, ..config }, "layout="),
        (
            Config {
                foreign_keys,
                ..config
            },
            "foreign_keys=",
        ),
    ]
}

/// What is another load is not gone on with, and both are named.
fn others_are_refused(connection: &Connection, config: &Config) {
    for (other, field) in others(*config) {
        let refused = to_the_end(connection, &other).unwrap_err();
        let LoadError::Differs { found, wanted } = &refused else {
            panic!("{field}: {refused:?}");
        };
        let of = |identity: &str| {
            let words = identity.split(' ').map(str::to_owned);
            words.partition::<Vec<String>, _>(|word| word.starts_with(field))
        };
        let ((found, same), (wanted, as_well)) = (of(found), of(wanted));
        assert_eq!((found.len(), wanted.len()), (1, 1), "{refused}");
        assert_ne!(found, wanted);
        assert_eq!(same, as_well);
    }
}

fn go_on(
    connection: &Connection,
    config: &Config,
    progress: &(dyn Fn(Progress) + Sync),
    stop: &AtomicBool,
) -> Result<Loaded, LoadError> {
    resume(connection, config, 2, progress, stop)
}

fn to_the_end(connection: &Connection, config: &Config) -> Result<Loaded, LoadError> {
    go_on(connection, config, &|_| (), &AtomicBool::new(false))
}

#[test]
fn a_load_that_was_stopped_anywhere_goes_on_from_there() {
    stopped_anywhere(&CONFIG);
}

#[test]
fn a_load_of_several_sets_without_foreign_keys_goes_on_from_anywhere() {
    stopped_anywhere(&BARE);
}

#[test]
fn a_load_of_the_tables_of_sysbench_goes_on_from_anywhere() {
    stopped_anywhere(&SYSBENCH);
}

fn stopped_anywhere(config: &Config) {
    let running = start(binaries());
    let whole = match *config == CONFIG {
        true => whole_config().to_vec(),
        false => whole(&running, config),
    };
    let connection = running.database("cut");
    let foreign_keys = i64::from(10 * config.sets);
    let points: [&(dyn Fn(Progress) -> bool + Sync); 6] = [
        &|_| true,
        &|at| at.phase == "rows" && at.rows > at.rows_total / 3,
        &|at| at.phase == "rows" && at.rows > at.rows_total / 2,
        &|at| at.phase == "analyze",
        &|at| at.phase == "keys",
        &|at| at.phase == "keys" && number(&connection, FOREIGN_KEYS) == foreign_keys,
    ];
    let points = &points[..if config.foreign_keys { 6 } else { 5 }];
    for (index, point) in points.iter().enumerate() {
        let stop = AtomicBool::new(false);
        let progress = |at: Progress| {
            assert!(at.rows <= at.rows_total);
            if point(at) {
                stop.store(true, Ordering::Relaxed);
            }
        };
        // There is nothing to resume at first: it begins.
        let stopped = go_on(&connection, config, &progress, &stop).unwrap_err();
        assert!(
            matches!(stopped, LoadError::Stopped),
            "{index}: {stopped:?}"
        );
        assert!(stopped.hint().unwrap().contains("--resume"));
        let unfinished = read_back(&connection).unwrap_err();
        assert!(matches!(unfinished, ReadBackError::Unfinished));
        others_are_refused(&connection, config);
    }
    let last = to_the_end(&connection, config).unwrap();
    assert_eq!(last.rows, 0, "all rows were there: {last:?}");
    assert_eq!(state(&connection), whole);
    assert_eq!(failing(&connection, When::AfterLoad), BTreeSet::new());

    // What has ended is left alone.
    let nothing = to_the_end(&connection, config).unwrap();
    assert_eq!(nothing, Loaded::NOTHING);
    others_are_refused(&connection, config);
    assert_eq!(state(&connection), whole);
}

#[test]
fn what_is_left_of_several_sets_is_cleaned_and_routines_are_made_in_the_end() {
    let running = start(binaries());
    let connection = running.database("cut");
    let workload = Workload::Tpcc(BARE, Mode::Procedures);
    let stop = AtomicBool::new(true);
    let resume = || workload.resume(&connection, 2, &|_| (), &stop);
    resume().unwrap_err();
    assert!(clean(&connection).unwrap());
    let left = "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace";
    assert_eq!(number(&connection, left), 0);

    resume().unwrap_err();
    stop.store(false, Ordering::Relaxed);
    resume().unwrap();
    one_statement_each(&connection, &BARE, 46);
    assert_eq!(failing(&connection, When::AfterRun), BTreeSet::new());
}

#[test]
fn a_load_that_lost_its_backends_goes_on() {
    let running = start(binaries());
    let connection = running.database("cut");
    for (kind, phase) in [("COPY%", "rows"), ("CREATE%", "keys")] {
        // A statement may be quicker than its end.
        let lost = (0..10).find_map(|_| {
            let lost = lose_backends(&connection, kind, phase);
            if lost.is_none() {
                assert!(clean(&connection).unwrap());
            }
            lost
        });
        assert!(
            matches!(lost, Some(LoadError::Sql { .. })),
            "{phase}: {lost:?}"
        );
    }
    to_the_end(&connection, &CONFIG).unwrap();
    assert_eq!(state(&connection), whole_config());
    assert_eq!(failing(&connection, When::AfterLoad), BTreeSet::new());
}

/// Goes on with a load and ends the backends that do such a thing in this phase; none where it came to
/// its end all the same.
fn lose_backends(connection: &Connection, kind: &str, phase: &str) -> Option<LoadError> {
    let end = format!(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
         WHERE datname = current_database() AND query LIKE '{kind}' AND state = 'active'"
    );
    let ended = AtomicBool::new(false);
    let progress = |at: Progress| {
        let due = at.phase == phase && (phase != "rows" || at.rows > at.rows_total / 2);
        if due && !ended.load(Ordering::Relaxed) {
            let backends = number(connection, &end);
            ended.store(backends > 0, Ordering::Relaxed);
        }
    };
    let outcome = go_on(connection, &CONFIG, &progress, &AtomicBool::new(false));
    if !ended.into_inner() {
        outcome.unwrap();
        return None;
    }
    outcome.err()
}

#[test]
fn a_load_whose_server_was_killed_goes_on() {
    let mut running = start(binaries());
    let mut connection = running.database("cut");
    for share in [4, 2] {
        let due = AtomicBool::new(false);
        let (outcome, again) = std::thread::scope(|scope| {
            let (due, connection) = (&due, &connection);
            let loader = scope.spawn(move || {
                let progress = |at: Progress| {
                    let is_due = at.phase != "rows" || at.rows > at.rows_total / share;
                    due.fetch_or(is_due, Ordering::Relaxed);
                };
                go_on(connection, &CONFIG, &progress, &AtomicBool::new(false))
            });
            while !due.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(1));
            }
            let again = running.crash(&SETTINGS);
            (loader.join().unwrap(), again)
        });
        let lost = outcome.unwrap_err();
        assert!(matches!(lost, LoadError::Sql { .. }), "{lost:?}");
        running = again;
        connection = Connection {
            database: "cut".into(),
            ..running.connection()
        };
    }
    to_the_end(&connection, &CONFIG).unwrap();
    assert_eq!(state(&connection), whole_config());
    assert_eq!(failing(&connection, When::AfterLoad), BTreeSet::new());
}

#[test]
fn two_loads_at_once_load_no_row_twice() {
    let running = start(binaries());
    let connection = running.database("cut");
    let begun = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (connection, begun) = (&connection, &begun);
        let progress = |at: Progress| {
            let due = at.phase == "rows" && at.rows > at.rows_total / 4;
            if due && !begun.swap(true, Ordering::Relaxed) {
                scope.spawn(move || to_the_end(connection, &CONFIG));
            }
        };
        // Either may fail by what the other has done.
        let _ = go_on(connection, &CONFIG, &progress, &AtomicBool::new(false));
    });
    assert!(begun.into_inner());
    let mut last = to_the_end(&connection, &CONFIG);
    for _ in 0..3 {
        if last.is_ok() {
            break;
        }
        last = to_the_end(&connection, &CONFIG);
    }
    last.unwrap();
    assert_eq!(state(&connection), whole_config());
}

#[test]
fn what_cannot_be_resumed_is_refused_by_name() {
    let running = start(binaries());
    let connection = running.database("refused");
    let stop = AtomicBool::new(true);
    let stopped = go_on(&connection, &CONFIG, &|_| (), &stop).unwrap_err();
    assert!(matches!(stopped, LoadError::Stopped), "{stopped:?}");
    let mut client = client(&connection);
    client.batch_execute("DROP TABLE stock").unwrap();
    let refused = to_the_end(&connection, &CONFIG).unwrap_err();
    assert!(refused.to_string().contains("stock"), "{refused}");
    assert!(refused.hint().unwrap().contains("--replace"));

    client
        .batch_execute("DROP TABLE dbdyno_tpcc_units")
        .unwrap();
    let refused = to_the_end(&connection, &CONFIG).unwrap_err();
    assert!(refused.to_string().contains("no record"), "{refused}");
    assert!(clean(&connection).unwrap());

    // A table of the user's own is not what could be resumed.
    client
        .batch_execute("CREATE TABLE orders (x integer)")
        .unwrap();
    let refused = to_the_end(&connection, &CONFIG).unwrap_err();
    let taken = matches!(&refused, LoadError::Exists { table, .. } if table == "orders");
    assert!(taken, "{refused:?}");
    assert_eq!(number(&connection, "SELECT count(*) FROM orders"), 0);
}
