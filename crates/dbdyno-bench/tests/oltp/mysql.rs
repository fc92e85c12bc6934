//! sysbench's workloads on MySQL and MariaDB: what the other file asks of PostgreSQL, of the servers at hand.

use std::sync::atomic::AtomicBool;

use dbdyno_bench::driver::target;
use dbdyno_bench::oltp::{Config, Kind, LoadError, clean, load};
use dbdyno_bench::wire::{Engine, Link, is_read_only};
use dbdyno_model::connection::Connection;
use dbdyno_testing::{MySql, MySqlBinaries};

use super::{config, cycle, load_quietly};

pub(super) fn start(binaries: &MySqlBinaries) -> MySql {
    let settings = [
        ("innodb-doublewrite", "0"),
        ("innodb-flush-log-at-trx-commit", "0"),
        ("sync-binlog", "0"),
        ("local-infile", "1"),
    ];
    MySql::start(binaries, &settings)
}

fn open(connection: &Connection) -> Link {
    Link::open(&target(connection).unwrap()).unwrap()
}

/// A new database on the server.
pub(super) fn database(server: &MySql, name: &str) -> Connection {
    let made = open(&server.connection()).run(&format!("CREATE DATABASE {name}"));
    made.unwrap();
    Connection {
        database: name.into(),
        ..server.connection()
    }
}

fn number(link: &mut Link, sql: &str) -> i64 {
    let mut number = None;
    link.rows(&format!("SELECT CAST(({sql}) AS SIGNED)"), |mut row| {
        number = Some(row.int()?);
        Ok(())
    })
    .unwrap_or_else(|error| panic!("{sql}: {error}"));
    number.unwrap()
}

const TABLES: &str = "SELECT count(*) FROM information_schema.tables
    WHERE table_schema = database() AND table_name LIKE 'sbtest%'";

#[test]
fn needs_mysql_every_kind_loads_runs_and_is_cleaned() {
    for binaries in &MySqlBinaries::all() {
        let server = start(binaries);
        for kind in Kind::ALL {
            let connection = database(&server, &kind.name().replace('-', "_"));
            let mut link = open(&connection);
            cycle(&connection, kind, |sql| number(&mut link, sql));
            assert_eq!(number(&mut link, TABLES), 0);
        }
    }
}

#[test]
fn needs_mysql_a_seed_gives_the_same_rows_on_any_number_of_threads_and_by_insert() {
    for binaries in &MySqlBinaries::all() {
        let server = start(binaries);
        let mut loads = Vec::new();
        for (name, threads, seed, files) in [
            ("files", 1, 5, true),
            ("inserted", 3, 5, false),
            ("other", 2, 6, true),
        ] {
            let connection = database(&server, name);
            let mut link = open(&connection);
            link.run(&format!("SET GLOBAL local_infile = {files}"))
                .unwrap();
            let config = Config {
                seed,
                ..config(Kind::ReadWrite)
            };
            load_quietly(&connection, &config, threads);
            let mut sums = Vec::new();
            link.rows("CHECKSUM TABLE sbtest1, sbtest2", |mut row| {
                row.skip()?;
                sums.push(row.int()?);
                Ok(())
            })
            .unwrap();
            assert_eq!(sums.len(), 2);
            loads.push(sums);
            // Ids go on behind the load.
            link.run("INSERT INTO sbtest2 (k) VALUES (1)").unwrap();
            assert_eq!(number(&mut link, "SELECT max(id) FROM sbtest2"), 1_001);
        }
        assert_eq!(loads[0], loads[1]);
        assert_ne!(loads[0], loads[2]);
    }
}

/// On one server: both tell of their tables in the same words.
#[test]
fn needs_mysql_a_table_that_is_there_is_left_alone() {
    let all = MySqlBinaries::all();
    let server = start(&all[0]);
    let connection = database(&server, "taken");
    let mut link = open(&connection);
    link.run("CREATE TABLE sbtest2 (id int, k int, c text)")
        .unwrap();
    let config = config(Kind::ReadWrite);
    let never = AtomicBool::new(false);
    let refused = load(&connection, &config, 1, &|_| (), &never).unwrap_err();
    assert!(matches!(refused, LoadError::Exists(table) if table == "sbtest2"));
    clean(&connection, &config).unwrap();
    assert_eq!(number(&mut link, TABLES), 1);
}

#[test]
fn needs_mysql_a_server_that_takes_no_writes_is_told_with_the_next_step() {
    for binaries in &MySqlBinaries::all() {
        let server = start(binaries);
        let loaded = database(&server, "loaded");
        let config = config(Kind::ReadWrite);
        load_quietly(&loaded, &config, 1);
        let mut root = open(&loaded);
        for sql in [
            "CREATE DATABASE blank",
            "CREATE USER plain@localhost",
            "GRANT ALL ON loaded.* TO plain@localhost",
            "GRANT ALL ON blank.* TO plain@localhost",
            "SET GLOBAL read_only = ON",
        ] {
            root.run(sql)
                .unwrap_or_else(|error| panic!("{sql}: {error}"));
        }
        // Nobody but who has the privilege may write there.
        let plain = |database: &str| Connection {
            user: "plain".into(),
            database: database.into(),
            ..server.connection()
        };
        let never = AtomicBool::new(false);
        let refused = load(&plain("blank"), &config, 1, &|_| (), &never).unwrap_err();
        let told = refused.hint().unwrap_or_default();
        assert!(told.contains("primary's address"), "{refused:?}");
        let refused = clean(&plain("loaded"), &config).unwrap_err();
        let told = refused.hint().unwrap_or_default();
        assert!(told.contains("primary's address"), "{refused:?}");
        assert!(!is_read_only(&mut open(&loaded), Engine::MySql).unwrap());
        // MariaDB has no setting that binds root.
        if root.run("SET GLOBAL super_read_only = ON").is_ok() {
            let refused = clean(&loaded, &config).unwrap_err();
            let told = refused.hint().unwrap_or_default();
            assert!(told.contains("primary's address"), "{refused:?}");
            assert!(is_read_only(&mut open(&loaded), Engine::MySql).unwrap());
        }
        assert_eq!(number(&mut root, TABLES), i64::from(config.tables));
    }
}

/// MariaDB locks an empty table as a whole for its first rows: two threads that begin one together
/// run into each other.
#[test]
fn needs_mysql_threads_that_fill_one_table_do_not_fail_each_other() {
    for binaries in &MySqlBinaries::all() {
        let server = start(binaries);
        for attempt in 0..3 {
            let connection = database(&server, &format!("shared_{attempt}"));
            let config = Config {
                tables: 1,
                table_size: 300_000,
                ..config(Kind::PointSelect)
            };
            load_quietly(&connection, &config, 3);
            let rows = number(&mut open(&connection), "SELECT count(*) FROM sbtest1");
            assert_eq!(rows, 300_000);
        }
    }
}
