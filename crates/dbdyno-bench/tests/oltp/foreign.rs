//! Tables that sysbench has made, or as good as: its columns, keys and texts, and no word of ours.

use dbdyno_bench::oltp::{Expected, ReadBackError, Survey, read_back, survey};
use dbdyno_bench::wire::Link;
use dbdyno_testing::{MySqlBinaries, sysbench_table};

use super::*;

fn prepare(connection: &Connection, table: u32, rows: u64) {
    let mut link = open(connection);
    for sql in sysbench_table(connection.engine, table, rows) {
        link.run(&sql)
            .unwrap_or_else(|error| panic!("{error}: {sql:.100}"));
    }
}

fn open(connection: &Connection) -> Link {
    Link::open(&target(connection).unwrap()).unwrap()
}

/// In an empty database.
fn are_left_alone(connection: &Connection) {
    let config = config(Kind::ReadWrite);
    for table in [1, 2] {
        prepare(connection, table, 100);
    }
    let theirs = Survey {
        ours: vec![],
        others: vec![1, 2],
    };
    assert_eq!(survey(connection).unwrap(), theirs);
    assert!(!clean(connection, &config).unwrap());
    let never = AtomicBool::new(false);
    let refused = load(connection, &config, 1, &|_| (), &never).unwrap_err();
    assert!(matches!(refused, LoadError::Exists(table) if table == "sbtest1"));
    assert_eq!(survey(connection).unwrap(), theirs);

    let mut link = open(connection);
    link.run("DROP TABLE sbtest1").unwrap();
    link.run("DROP TABLE sbtest2").unwrap();
    load_quietly(connection, &config, 2);
    let ours = Survey {
        ours: vec![1, 2],
        others: vec![],
    };
    assert_eq!(survey(connection).unwrap(), ours);
    // Made anew by sysbench, a table is no longer ours.
    link.run("DROP TABLE sbtest2").unwrap();
    prepare(connection, 2, 100);
    assert!(clean(connection, &config).unwrap());
    let left = Survey {
        ours: vec![],
        others: vec![2],
    };
    assert_eq!(survey(connection).unwrap(), left);
}

/// In an empty database.
fn are_read_back(connection: &Connection) {
    let any = Config::new(Kind::ReadWrite);
    let read = |tables, table_size| {
        let said = Expected { tables, table_size };
        let read = read_back(connection, &any, &said);
        read.map(|found| (found.tables, found.table_size))
    };
    let none = read(None, None).unwrap_err();
    assert!(matches!(none, ReadBackError::NotLoaded), "{none}");
    prepare(connection, 1, 100);
    assert_eq!(read(None, None).unwrap(), (1, 100));
    let more = read(None, Some(10_000)).unwrap_err().to_string();
    assert!(more.contains("says 10000, and sbtest1 has 100"), "{more}");
    // The second was cut off.
    prepare(connection, 2, 60);
    let uneven = read(None, None).unwrap_err().to_string();
    assert!(
        uneven.contains("sbtest2 has 60") && uneven.contains("sbtest1 has 100"),
        "{uneven}"
    );
    assert_eq!(read(None, Some(60)).unwrap(), (2, 60));
    assert_eq!(read(Some(1), None).unwrap(), (1, 100));
    let gone = read(Some(3), None).unwrap_err().to_string();
    assert_eq!(gone, "table sbtest3 is missing");

    let mut link = open(connection);
    for sql in [
        "DELETE FROM sbtest2",
        "ALTER TABLE sbtest1 ADD COLUMN more INTEGER",
    ] {
        link.run(sql).unwrap();
    }
    let other = read(Some(1), None).unwrap_err();
    assert!(matches!(other, ReadBackError::Columns(_)), "{other}");
    link.run("DROP TABLE sbtest1").unwrap();
    let gone = read(None, None).unwrap_err().to_string();
    assert_eq!(gone, "table sbtest1 is missing");
    prepare(connection, 1, 100);
    let blank = read(None, None).unwrap_err().to_string();
    assert_eq!(blank, "table sbtest2 is empty");
    link.run("DROP TABLE sbtest1").unwrap();
    link.run("DROP TABLE sbtest2").unwrap();

    // Ours are what was loaded, whatever was inserted since, and nothing until all is there.
    let config = config(Kind::Insert);
    let stop = AtomicBool::new(false);
    let raise = |_| stop.store(true, Ordering::Relaxed);
    load(connection, &config, 2, &raise, &stop).unwrap_err();
    let half = read(None, None).unwrap_err();
    assert!(matches!(half, ReadBackError::Unfinished), "{half}");
    clean(connection, &config).unwrap();
    load_quietly(connection, &config, 2);
    link.run("INSERT INTO sbtest2 (k) VALUES (1)").unwrap();
    assert_eq!(read(None, None).unwrap(), (2, 1_000));
    assert_eq!(read(Some(1), Some(1_000)).unwrap(), (1, 1_000));
    assert!(read(None, Some(1_001)).is_err());
    link.run("DROP TABLE sbtest2").unwrap();
    let gone = read(None, None).unwrap_err().to_string();
    assert_eq!(gone, "table sbtest2 is missing");
}

/// Each kind in a database of its own, both ways of sending it.
fn are_driven(connection: &Connection, kind: Kind) {
    for table in [1, 2] {
        prepare(connection, table, 1_000);
    }
    let any = Config {
        segments: TERMINALS,
        ..Config::new(kind)
    };
    let theirs = read_back(connection, &any, &Expected::default()).unwrap();
    assert_eq!((theirs.tables, theirs.table_size), (2, 1_000));
    let failed = failing(connection, &theirs, When::AfterLoad);
    assert_eq!(failed, BTreeSet::new(), "{kind:?}");
    for pipelined in [false, true] {
        let config = Config {
            pipelined,
            ..theirs
        };
        assert_eq!(run(connection, &config), u64::from(TERMINALS * EACH));
        let failed = failing(connection, &config, When::AfterRun);
        assert_eq!(failed, BTreeSet::new(), "{config:?}");
    }
    assert!(!clean(connection, &theirs).unwrap());
}

#[test]
fn tables_of_sysbench_are_left_alone_read_back_and_driven() {
    for binaries in all_binaries() {
        let running = start(binaries);
        are_left_alone(&running.database("left_alone"));
        are_read_back(&running.database("read_back"));
        for kind in Kind::ALL {
            let name = kind.name().replace('-', "_");
            are_driven(&running.database(&name), kind);
        }
    }
}

#[test]
fn needs_mysql_tables_of_sysbench_are_left_alone_read_back_and_driven() {
    for binaries in &MySqlBinaries::all() {
        let server = mysql::start(binaries);
        are_left_alone(&mysql::database(&server, "left_alone"));
        are_read_back(&mysql::database(&server, "read_back"));
        for kind in Kind::ALL {
            let name = kind.name().replace('-', "_");
            are_driven(&mysql::database(&server, &name), kind);
        }
    }
}
