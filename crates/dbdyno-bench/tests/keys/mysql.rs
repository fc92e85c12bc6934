//! Inserts, selects and friends on MySQL and MariaDB: what the other files ask, of the servers at hand.

use dbdyno_bench::friends;
use dbdyno_bench::keys::{self, Config, Key, Kind, Order};
use dbdyno_model::connection::Connection;
use dbdyno_testing::{MySql, MySqlBinaries};

use crate::cycle::{self, load_quietly, open};
use crate::within;

pub(super) fn start(binaries: &MySqlBinaries) -> MySql {
    let settings = [
        ("innodb-doublewrite", "0"),
        ("innodb-flush-log-at-trx-commit", "0"),
        ("sync-binlog", "0"),
        ("local-infile", "1"),
    ];
    MySql::start(binaries, &settings)
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

#[test]
fn needs_mysql_every_key_order_and_batch_loads_runs_and_is_cleaned() {
    for binaries in &MySqlBinaries::all() {
        let server = start(binaries);
        cycle::keys(&database(&server, "all_keys"));
    }
}

#[test]
fn needs_mysql_friends_seeds_and_footprints_are_as_they_should_be() {
    for binaries in &MySqlBinaries::all() {
        let server = start(binaries);
        cycle::friends(&database(&server, "friends"));
        seeds_give_the_same_rows_in_every_way(&database(&server, "seeds"));
        the_footprint_tells_what_random_inserts_cost(&database(&server, "cost"));
    }
}

/// Of the table, whatever the order of its rows.
pub(super) fn checksum(connection: &Connection, table: &str) -> i64 {
    let mut sum = None;
    open(connection)
        .rows(&format!("CHECKSUM TABLE {table}"), |mut row| {
            row.skip()?;
            sum = Some(row.int()?);
            Ok(())
        })
        .unwrap();
    sum.unwrap()
}

/// Leaves the server taking files, as it was.
fn seeds_give_the_same_rows_in_every_way(connection: &Connection) {
    let files = |on: bool| {
        let set = format!("SET GLOBAL local_infile = {on}");
        open(connection).run(&set).unwrap();
    };
    for key in Key::ALL {
        let sums = [(1, 5, true), (3, 5, false), (2, 6, true)].map(|(threads, seed, on)| {
            files(on);
            let config = Config {
                seed,
                ..cycle::keys_config(Kind::Inserts, key, key.natural_order())
            };
            load_quietly(connection, &config, threads);
            let sum = checksum(connection, "dbdyno_keys");
            assert!(keys::clean(connection, &config).unwrap());
            sum
        });
        assert_eq!(sums[0], sums[1], "{key:?}");
        assert_ne!(sums[0], sums[2], "{key:?}");
    }
    for kind in friends::Kind::ALL {
        let config = cycle::friends_config(kind);
        let sums = [false, true].map(|on| {
            files(on);
            let never = std::sync::atomic::AtomicBool::new(false);
            friends::load(connection, &config, 2, &|_| (), &never).unwrap();
            let sum = checksum(connection, "dbdyno_friends");
            assert!(friends::clean(connection, &config).unwrap());
            sum
        });
        assert_eq!(sums[0], sums[1], "{kind:?}");
    }
}

fn the_footprint_tells_what_random_inserts_cost(connection: &Connection) {
    let grown = [Order::Sequential, Order::Random].map(|order| {
        let config = Config {
            rows: 20_000,
            batch: 100,
            ..cycle::keys_config(Kind::Inserts, Key::UuidV4, order)
        };
        load_quietly(connection, &config, 2);
        cycle::insert(connection, &config, 1, 100);
        let footprint = keys::footprint(connection, &config).unwrap();
        assert_eq!(footprint.rows, 30_000);
        assert!(within(&footprint.total_bytes, 3_000_000, 30_000_000));
        assert!(within(&footprint.allocated_bytes, 1, 30_000_000));
        assert_eq!(footprint.index_bytes.get(), Some(0));
        assert!(keys::clean(connection, &config).unwrap());
        let primary = &footprint.fills[0];
        assert_eq!(primary.name, "PRIMARY");
        primary.fill.get().unwrap()
    });
    assert!(grown[0] > grown[1], "{grown:?}");
}
