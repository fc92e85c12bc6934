//! Loads that were cut off, and resumed: every row is there once, as if nothing had happened. Each test
//! takes one of the servers, since the ledger and what it asks are the same for both.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use dbdyno_bench::Workload;
use dbdyno_bench::tpcc::{
    Config, Layout, LoadError, Loaded, Mode, Progress, ReadBackError, When, clean, read_back,
    resume,
};
use dbdyno_model::connection::Connection;
use dbdyno_testing::{MySql, MySqlBinaries};

use super::loads::checksums;
use super::{Client, database, start};
use crate::{failing, load_quietly, one_statement_each};

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

/// Names of tables, indexes and constraints.
const SCHEMA: [&str; 3] = [
    "SELECT CAST(table_name AS char) FROM information_schema.tables
     WHERE table_schema = database() ORDER BY 1",
    "SELECT concat_ws(' ', CAST(table_name AS char), CAST(index_name AS char), seq_in_index,
        CAST(column_name AS char)) FROM information_schema.statistics
     WHERE table_schema = database() ORDER BY 1",
    "SELECT concat_ws(' ', CAST(table_name AS char), CAST(constraint_name AS char))
     FROM information_schema.table_constraints WHERE table_schema = database() ORDER BY 1",
];

/// Everything that a load leaves behind.
fn state(connection: &Connection) -> (Vec<String>, Vec<i64>) {
    let mut client = Client::open(connection);
    let schema = SCHEMA.iter().flat_map(|sql| client.texts(sql)).collect();
    let tables = client.texts(SCHEMA[0]).join(", ");
    (schema, checksums(&mut client, &tables))
}

/// What an undisturbed load leaves.
fn whole(server: &MySql, config: &Config) -> (Vec<String>, Vec<i64>) {
    let name = format!("whole_{}_{}", config.layout.name(), config.sets);
    let connection = database(server, &name);
    load_quietly(&connection, config, 2);
    let state = state(&connection);
    assert_eq!(state.1.len() as u32, 9 * config.sets + 1, "{state:?}");
    assert!(!state.0.contains(&"dbdyno_tpcc_units".to_owned()));
    state
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
fn needs_mysql_a_load_that_was_stopped_anywhere_goes_on_from_there() {
    for binaries in MySqlBinaries::all().iter().take(1) {
        let server = start(binaries);
        let whole = whole(&server, &CONFIG);
        for (name, files) in [("cut_files", true), ("cut_inserts", false)] {
            let connection = database(&server, name);
            Client::open(&connection).run(&format!("SET GLOBAL local_infile = {files}"));
            stopped_anywhere(&connection, &CONFIG);
            assert_eq!(state(&connection), whole, "{name}");
            assert_eq!(failing(&connection, When::AfterLoad), BTreeSet::new());
        }
    }
}

#[test]
fn needs_mysql_a_load_of_several_sets_goes_on_from_anywhere() {
    for binaries in MySqlBinaries::all().iter().rev().take(1) {
        let server = start(binaries);
        for (name, config) in [("cut_bare", BARE), ("cut_sysbench", SYSBENCH)] {
            let whole = whole(&server, &config);
            let connection = database(&server, name);
            stopped_anywhere(&connection, &config);
            assert_eq!(state(&connection), whole, "{name}");
            assert_eq!(failing(&connection, When::AfterLoad), BTreeSet::new());
        }
    }
}

fn stopped_anywhere(connection: &Connection, config: &Config) {
    let other = Config { seed: 6, ..*config };
    let points: [&(dyn Fn(Progress) -> bool + Sync); 5] = [
        &|_| true,
        &|at| at.phase == "rows" && at.rows > at.rows_total / 3,
        &|at| at.phase == "rows" && at.rows > at.rows_total / 2,
        &|at| at.phase == "keys",
        &|at| at.phase == "analyze",
    ];
    for (index, point) in points.iter().enumerate() {
        let stop = AtomicBool::new(false);
        let progress = |at: Progress| {
            if point(at) {
                stop.store(true, Ordering::Relaxed);
            }
        };
        // There is nothing to resume at first: it begins.
        let stopped = go_on(connection, config, &progress, &stop).unwrap_err();
        assert!(
            matches!(stopped, LoadError::Stopped),
            "{index}: {stopped:?}"
        );
        let unfinished = read_back(connection).unwrap_err();
        assert!(matches!(unfinished, ReadBackError::Unfinished));
        let refused = to_the_end(connection, &other).unwrap_err();
        let LoadError::Differs { found, wanted } = &refused else {
            panic!("{index}: {refused:?}");
        };
        assert!(found.contains("seed=5") && wanted.contains("seed=6"));
    }
    let last = to_the_end(connection, config).unwrap();
    assert_eq!(last.rows, 0, "all rows were there: {last:?}");
    // What has ended is left alone.
    assert_eq!(to_the_end(connection, config).unwrap(), Loaded::NOTHING);
    let more = Config {
        sets: config.sets + 1,
        ..*config
    };
    for other in [other, more] {
        let refused = to_the_end(connection, &other).unwrap_err();
        assert!(matches!(refused, LoadError::Differs { .. }), "{refused:?}");
    }
}

/// Ends all other connections to the database; whether there were any.
fn kill_all(connection: &Connection) -> bool {
    let mut client = Client::open(connection);
    let ids = client.texts(
        "SELECT CAST(id AS char) FROM information_schema.processlist
         WHERE db = database() AND id <> connection_id()",
    );
    for id in &ids {
        // One may have gone by itself.
        let kill = format!("KILL {id}");
        client.session.queue_text(&kill);
        let _ = client.reactor.block_on(client.session.done()).unwrap();
    }
    !ids.is_empty()
}

#[test]
fn needs_mysql_a_load_that_lost_its_connections_goes_on() {
    for binaries in MySqlBinaries::all().iter().rev().take(1) {
        let server = start(binaries);
        let whole = whole(&server, &CONFIG);
        let connection = database(&server, "cut");
        for phase in ["rows", "keys"] {
            let killed = AtomicBool::new(false);
            let progress = |at: Progress| {
                let due = at.phase == phase && (phase != "rows" || at.rows > at.rows_total / 2);
                if due && !killed.load(Ordering::Relaxed) {
                    killed.store(kill_all(&connection), Ordering::Relaxed);
                }
            };
            let outcome = go_on(&connection, &CONFIG, &progress, &AtomicBool::new(false));
            assert!(killed.into_inner(), "{phase}: {outcome:?}");
            let lost = outcome.unwrap_err();
            assert!(matches!(lost, LoadError::Sql { .. }), "{phase}: {lost:?}");
        }
        to_the_end(&connection, &CONFIG).unwrap();
        assert_eq!(state(&connection), whole);
        assert_eq!(failing(&connection, When::AfterLoad), BTreeSet::new());
    }
}

#[test]
fn needs_mysql_a_resumed_load_makes_its_routines() {
    let all = MySqlBinaries::all();
    let server = start(&all[0]);
    let connection = database(&server, "routines");
    let workload = Workload::Tpcc(BARE, Mode::Procedures);
    let stop = AtomicBool::new(true);
    let resume = || workload.resume(&connection, 2, &|_| (), &stop);
    resume().unwrap_err();
    stop.store(false, Ordering::Relaxed);
    resume().unwrap();
    one_statement_each(&connection, &BARE, 46);
    assert_eq!(failing(&connection, When::AfterRun), BTreeSet::new());
}

/// CREATE TABLE commits: a kill can leave any number of the tables.
#[test]
fn needs_mysql_a_load_that_was_cut_off_while_its_tables_were_made_goes_on() {
    let all = MySqlBinaries::all();
    let server = start(&all[0]);
    let whole = whole(&server, &BARE);
    let connection = database(&server, "cut");
    let stop = AtomicBool::new(true);
    let mut client = Client::open(&connection);
    // Before the row that says what the tables are called, and behind it.
    for gone in [
        "DELETE FROM dbdyno_tpcc; DROP TABLE warehouse1, warehouse2, district1, district2,
            customer1, customer2, history1, history2, orders1, orders2, new_order1, new_order2,
            order_line1, order_line2, item1, item2, stock1, stock2",
        "DROP TABLE item2, stock1, stock2",
    ] {
        let lost = format!("DELETE FROM dbdyno_tpcc_units WHERE entry = 'step tables'; {gone}");
        go_on(&connection, &BARE, &|_| (), &stop).unwrap_err();
        client.run(&lost);
        assert!(clean(&connection).unwrap());
        assert_eq!(client.texts(SCHEMA[0]), [""; 0], "{gone}");
        go_on(&connection, &BARE, &|_| (), &stop).unwrap_err();
        client.run(&lost);
        to_the_end(&connection, &BARE).unwrap();
        assert_eq!(state(&connection), whole, "{gone}");
        assert!(clean(&connection).unwrap());
    }

    // Of what was recorded as made, nothing is made again.
    go_on(&connection, &CONFIG, &|_| (), &stop).unwrap_err();
    client.run("DROP TABLE stock");
    let refused = to_the_end(&connection, &CONFIG).unwrap_err();
    assert!(refused.to_string().contains("stock"), "{refused}");
    assert!(refused.hint().unwrap().contains("--replace"));

    // Only what was there before all else.
    client.run("DROP TABLE dbdyno_tpcc");
    assert!(clean(&connection).unwrap());
    let left = client.texts(SCHEMA[0]);
    assert!(!left.contains(&"dbdyno_tpcc_units".to_owned()), "{left:?}");
    assert!(left.contains(&"orders".to_owned()), "{left:?}");
}
