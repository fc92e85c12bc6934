//! Loads that were cut off, and resumed: every row is there once, as if nothing had happened.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use dbdyno_bench::tpcc::{Config, LoadError, Loaded, Progress, ReadBackError, read_back, resume};
use dbdyno_bench::tpcc::{When, clean};
use dbdyno_model::connection::Connection;
use dbdyno_testing::{MySql, MySqlBinaries};

use super::loads::{TABLES, checksums};
use super::{Client, database, start};
use crate::{failing, load_quietly};

const CONFIG: Config = Config {
    warehouses: 2,
    seed: 5,
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
    let tables = format!("{TABLES}, dbdyno_tpcc");
    (schema, checksums(&mut client, &tables))
}

/// What an undisturbed load leaves.
fn whole(server: &MySql) -> (Vec<String>, Vec<i64>) {
    let connection = database(server, "whole");
    load_quietly(&connection, &CONFIG, 2);
    let state = state(&connection);
    assert!(state.0.contains(&"stock".to_owned()), "{state:?}");
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
    for binaries in &MySqlBinaries::all() {
        let server = start(binaries);
        let whole = whole(&server);
        for (name, files) in [("cut_files", true), ("cut_inserts", false)] {
            let connection = database(&server, name);
            Client::open(&connection).run(&format!("SET GLOBAL local_infile = {files}"));
            stopped_anywhere(&connection);
            assert_eq!(state(&connection), whole, "{name}");
            assert_eq!(failing(&connection, When::AfterLoad), BTreeSet::new());
        }
    }
}

fn stopped_anywhere(connection: &Connection) {
    let other = Config { seed: 6, ..CONFIG };
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
        let stopped = go_on(connection, &CONFIG, &progress, &stop).unwrap_err();
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
    let last = to_the_end(connection, &CONFIG).unwrap();
    assert_eq!(last.rows, 0, "all rows were there: {last:?}");
    // What has ended is left alone.
    assert_eq!(to_the_end(connection, &CONFIG).unwrap(), Loaded::NOTHING);
    let refused = to_the_end(connection, &other).unwrap_err();
    assert!(matches!(refused, LoadError::Differs { .. }), "{refused:?}");
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
    for binaries in &MySqlBinaries::all() {
        let server = start(binaries);
        let whole = whole(&server);
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

/// CREATE TABLE commits: a kill can leave any number of the tables.
#[test]
fn needs_mysql_a_load_that_was_cut_off_while_its_tables_were_made_goes_on() {
    let all = MySqlBinaries::all();
    let server = start(&all[0]);
    let whole = whole(&server);
    let connection = database(&server, "cut");
    let stop = AtomicBool::new(true);
    go_on(&connection, &CONFIG, &|_| (), &stop).unwrap_err();
    let mut client = Client::open(&connection);
    client.run(
        "DELETE FROM dbdyno_tpcc_units WHERE entry = 'step tables'; DELETE FROM dbdyno_tpcc;
         DROP TABLE stock, item",
    );
    to_the_end(&connection, &CONFIG).unwrap();
    assert_eq!(state(&connection), whole);

    // Of what was recorded as made, nothing is made again.
    assert!(clean(&connection).unwrap());
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
