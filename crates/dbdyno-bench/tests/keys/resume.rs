//! Loads of keys and friends that were stopped, and resumed: the same tables as of an undisturbed one.

use std::sync::atomic::{AtomicBool, Ordering};

use dbdyno_bench::Workload;
use dbdyno_bench::friends;
use dbdyno_bench::keys::{self, Key, Kind};
use dbdyno_bench::tpcc::{LoadError, When};
use dbdyno_bench::workload::{self, Loaded, Progress};
use dbdyno_model::connection::{Connection, Engine};
use dbdyno_testing::{MySqlBinaries, binaries};

use crate::cycle::{number, texts};
use crate::{mysql, start};

/// Enough that a load takes a while.
const ROWS: u64 = 200_000;

fn workloads(seed: u64) -> [Workload; 2] {
    [
        Workload::Keys(keys::Config {
            key: Key::AutoIncrement,
            rows: ROWS,
            seed,
            ..keys::Config::new(Kind::Inserts)
        }),
        Workload::Friends(friends::Config {
            rows: ROWS,
            seed,
            ..friends::Config::new(friends::Kind::Clustered)
        }),
    ]
}

/// Tables with the sums of their rows, and names of indexes.
fn state(connection: &Connection) -> Vec<String> {
    let (tables, indexes) = match connection.engine {
        Engine::Postgres => (
            "SELECT relname::text FROM pg_class WHERE relkind = 'r'
             AND relnamespace = 'public'::regnamespace ORDER BY relname",
            "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1",
        ),
        Engine::MySql => (
            "SELECT CAST(table_name AS char) FROM information_schema.tables
             WHERE table_schema = database() ORDER BY 1",
            "SELECT concat_ws(' ', CAST(table_name AS char), CAST(index_name AS char), seq_in_index,
                CAST(column_name AS char)) FROM information_schema.statistics
             WHERE table_schema = database() ORDER BY 1",
        ),
    };
    let mut state = texts(connection, indexes);
    for table in texts(connection, tables) {
        let sum = match connection.engine {
            Engine::Postgres => texts(
                connection,
                &format!(
                    "SELECT concat(count(*), ' ', sum(hashtextextended(t::text, 0)))
                     FROM {table} AS t"
                ),
            )
            .remove(0),
            Engine::MySql => mysql::checksum(connection, &table).to_string(),
        };
        state.push(format!("{table}: {sum}"));
    }
    state
}

fn go_on(
    workload: &Workload,
    connection: &Connection,
    at: &(dyn Fn(Progress) -> bool + Sync),
) -> Result<Loaded, LoadError> {
    let stop = AtomicBool::new(false);
    let progress = |progress: Progress| {
        if at(progress) {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let outcome = workload.resume(connection, 2, &progress, &stop);
    outcome.map_err(|error| match error {
        workload::LoadError::Tpcc(error) => error,
        other => panic!("{other:?}"),
    })
}

fn stopped_anywhere(whole: &Connection, cut: &Connection) {
    let never = AtomicBool::new(false);
    for (workload, other) in workloads(5).iter().zip(workloads(6)) {
        workload.load(whole, 2, &|_| (), &never).unwrap();
        let points: [&(dyn Fn(Progress) -> bool + Sync); 4] = [
            &|_| true,
            &|at| at.phase == "rows" && at.rows > at.rows_total / 2,
            &|at| at.phase == "keys",
            &|at| at.phase == "analyze",
        ];
        for (index, point) in points.into_iter().enumerate() {
            match go_on(workload, cut, point) {
                Err(LoadError::Stopped) => {}
                // There is no such phase, or it was over at the last stop.
                Ok(_) if index > 1 => break,
                ended => panic!("{index}: {ended:?}"),
            }
            let refused = go_on(&other, cut, &|_| false).unwrap_err();
            let LoadError::Differs { found, wanted } = &refused else {
                panic!("{index}: {refused:?}");
            };
            assert!(found.contains("seed=5") && wanted.contains("seed=6"));
        }
        go_on(workload, cut, &|_| false).unwrap();
        assert_eq!(state(cut), state(whole));
        let checks = workload.check(cut, When::AfterLoad).unwrap();
        assert!(checks.iter().all(|check| check.passed), "{checks:?}");

        // What has ended is left alone.
        let nothing = go_on(workload, cut, &|_| false).unwrap();
        assert_eq!(nothing, Loaded::NOTHING);
        let refused = go_on(&other, cut, &|_| false).unwrap_err();
        assert!(matches!(refused, LoadError::Differs { .. }), "{refused:?}");
        assert_eq!(state(cut), state(whole));
    }
}

#[test]
fn a_load_that_was_stopped_anywhere_goes_on_from_there() {
    let running = start(binaries());
    let cut = running.database("cut");
    stopped_anywhere(&running.database("whole"), &cut);
    // The server goes on counting behind the rows.
    let insert = "INSERT INTO dbdyno_keys (filler) VALUES ('x') RETURNING id";
    assert_eq!(number(&cut, insert) as u64, ROWS + 1);
}

#[test]
fn needs_mysql_a_load_that_was_stopped_anywhere_goes_on_from_there() {
    for binaries in &MySqlBinaries::all() {
        let server = mysql::start(binaries);
        let [whole, cut] = ["whole", "cut"].map(|name| mysql::database(&server, name));
        stopped_anywhere(&whole, &cut);
    }
}
