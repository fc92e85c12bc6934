//! Loads that were stopped, and resumed: the same tables as of an undisturbed one.

use dbdyno_bench::Workload;
use dbdyno_bench::generate::TableBytes;
use dbdyno_bench::oltp::resume;
use dbdyno_bench::tpcc::{self, Loaded, Progress};
use dbdyno_bench::wire::Link;
use dbdyno_model::connection::Engine;
use dbdyno_testing::MySqlBinaries;

use super::*;

/// Tables of more than one part each.
fn large(seed: u64) -> Config {
    Config {
        tables: 2,
        table_size: 150_000,
        seed,
        ..config(Kind::ReadWrite)
    }
}

fn texts(link: &mut Link, sql: &str) -> Vec<String> {
    let mut texts = Vec::new();
    link.rows(sql, |mut row| {
        texts.push(row.text()?.to_owned());
        Ok(())
    })
    .unwrap_or_else(|error| panic!("{sql}: {error}"));
    texts
}

/// The tables of the database, their indexes, and the sums of sysbench's.
fn state(connection: &Connection) -> Vec<String> {
    let mut link = Link::open(&target(connection).unwrap()).unwrap();
    let all: &[&str] = match connection.engine {
        Engine::Postgres => &[
            "SELECT relname::text FROM pg_class WHERE relkind IN ('r', 'S')
             AND relnamespace = 'public'::regnamespace ORDER BY relname",
            "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1",
            "SELECT concat(count(*), ' ', sum(hashtextextended(t::text, 0))) FROM sbtest1 AS t",
            "SELECT concat(count(*), ' ', sum(hashtextextended(t::text, 0))) FROM sbtest2 AS t",
            "SELECT concat(last_value, is_called) FROM sbtest2_id_seq",
        ],
        Engine::MySql => &[
            "SELECT CAST(table_name AS char) FROM information_schema.tables
             WHERE table_schema = database() ORDER BY 1",
            "SELECT concat_ws(' ', CAST(table_name AS char), CAST(index_name AS char), seq_in_index,
                CAST(column_name AS char)) FROM information_schema.statistics
             WHERE table_schema = database() ORDER BY 1",
        ],
    };
    let mut state: Vec<String> = all.iter().flat_map(|sql| texts(&mut link, sql)).collect();
    if connection.engine == Engine::MySql {
        link.rows("CHECKSUM TABLE sbtest1, sbtest2", |mut row| {
            row.skip()?;
            state.push(row.int()?.to_string());
            Ok(())
        })
        .unwrap();
    }
    state
}

fn go_on(
    connection: &Connection,
    config: &Config,
    at: &(dyn Fn(Progress) -> bool + Sync),
) -> Result<Loaded, LoadError> {
    let stop = AtomicBool::new(false);
    let progress = |progress: Progress| {
        if at(progress) {
            stop.store(true, Ordering::Relaxed);
        }
    };
    resume(connection, config, 2, &progress, &stop)
}

fn stopped_anywhere(whole: &Connection, cut: &Connection) {
    let (config, other) = (large(5), large(6));
    load_quietly(whole, &config, 2);
    let points: [&(dyn Fn(Progress) -> bool + Sync); 4] = [
        &|_| true,
        &|at| at.phase == "rows" && at.rows > at.rows_total / 2,
        &|at| at.phase == "keys",
        &|at| at.phase == "analyze",
    ];
    for (index, point) in points.into_iter().enumerate() {
        match go_on(cut, &config, point) {
            Err(LoadError::Load(tpcc::LoadError::Stopped)) => {}
            // It was over at the last stop.
            Ok(_) if index > 1 => break,
            ended => panic!("{index}: {ended:?}"),
        }
        let refused = go_on(cut, &other, &|_| false).unwrap_err();
        let LoadError::Load(tpcc::LoadError::Differs { found, wanted }) = &refused else {
            panic!("{index}: {refused:?}");
        };
        assert!(found.contains("seed=5") && wanted.contains("seed=6"));
    }
    // It may have ended above.
    match go_on(cut, &config, &|_| false) {
        Ok(_) | Err(LoadError::Exists(_)) => {}
        Err(error) => panic!("{error:?}"),
    }
    assert_eq!(state(cut), state(whole));
    assert_eq!(failing(cut, &config, When::AfterLoad), BTreeSet::new());

    // sysbench's tables say nothing of a load that has ended.
    let refused = go_on(cut, &config, &|_| false).unwrap_err();
    assert!(
        matches!(&refused, LoadError::Exists(table) if table == "sbtest1"),
        "{refused:?}"
    );
    assert!(clean(cut, &config).unwrap());
    // A record without any of the tables is removed too.
    go_on(cut, &config, &|_| true).unwrap_err();
    let mut link = Link::open(&target(cut).unwrap()).unwrap();
    link.run("DROP TABLE sbtest1, sbtest2").unwrap();
    let gone = go_on(cut, &config, &|_| false).unwrap_err();
    assert!(gone.to_string().contains("sbtest1 is gone"), "{gone}");
    assert!(clean(cut, &config).unwrap());
    assert!(!clean(cut, &config).unwrap());
}

#[test]
fn a_load_that_was_stopped_anywhere_goes_on_from_there() {
    let running = start(binaries());
    stopped_anywhere(&running.database("whole"), &running.database("cut"));
}

#[test]
fn needs_mysql_a_load_that_was_stopped_anywhere_goes_on_from_there() {
    for binaries in &MySqlBinaries::all() {
        let server = mysql::start(binaries);
        let [whole, cut] = ["whole", "cut"].map(|name| mysql::database(&server, name));
        stopped_anywhere(&whole, &cut);
    }
}

#[test]
fn rows_are_generated_without_a_server() {
    let workload = Workload::Oltp(config(Kind::PointSelect));
    let never = AtomicBool::new(false);
    let generate = |engine, threads| {
        let generated = workload.generate(engine, threads, &|_| (), &never);
        generated.unwrap().tables
    };
    // Header and trailer of a COPY for each table; two fields of four bytes and the two texts.
    let copy = 2 * (19 + 2) + 2_000 * (2 + 4 * 4 + 4 + 4 + 119 + 59);
    let expected = TableBytes {
        table: "sbtest".to_owned(),
        rows: 2_000,
        bytes: copy,
    };
    assert_eq!(generate(Engine::Postgres, 1), [expected]);
    let lines = generate(Engine::MySql, 1);
    assert_eq!(lines, generate(Engine::MySql, 3));
    // Four digits and three tabs at least, and a line feed.
    let least = 2_000 * (119 + 59 + 4);
    let bytes = lines[0].bytes;
    assert!((least..least + 2_000 * 9).contains(&bytes), "{bytes}");
}
