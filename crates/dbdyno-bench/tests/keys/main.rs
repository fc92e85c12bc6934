//! Inserts, selects and friends against real servers: rows, transactions, sizes, and what is refused.

#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

mod cycle;
mod mysql;
mod resume;

use std::sync::atomic::{AtomicBool, Ordering};

use dbdyno_bench::friends;
use dbdyno_bench::keys::{self, Config, Key, Kind, Order};
use dbdyno_bench::tpcc::{LoadError, When};
use dbdyno_model::connection::Connection;
use dbdyno_model::{Fact, Footprint};
use dbdyno_target::lab::Binaries;
use dbdyno_testing::{Running, all_binaries, binaries, is_packaged};

use cycle::{failing, load_quietly, number, open, texts};

/// Tells how full pages are.
const EXTENSION: &str = "pgstattuple";

fn start(binaries: Binaries) -> Running {
    Running::start(binaries, &[("fsync", "off")])
}

#[test]
fn every_key_order_and_batch_loads_runs_and_is_cleaned() {
    for binaries in all_binaries() {
        let running = start(binaries);
        let connection = running.database("keys");
        // The pinned builds have no extensions.
        if running.offers(EXTENSION) {
            tell_how_full_pages_are(&connection);
        }
        cycle::keys(&connection);
    }
}

#[test]
fn friends_are_found_by_either_key() {
    for binaries in all_binaries() {
        let running = start(binaries);
        let connection = running.database("friends");
        cycle::friends(&connection);
        // Only one of the tables is laid down by user.
        let mut correlations = Vec::new();
        for kind in friends::Kind::ALL {
            let config = cycle::friends_config(kind);
            let never = AtomicBool::new(false);
            // Threads lay down their units side by side.
            friends::load(&connection, &config, 1, &|_| (), &never).unwrap();
            let sql = "SELECT (correlation * 100)::int FROM pg_stats
                WHERE tablename = 'dbdyno_friends' AND attname = 'user_id'";
            correlations.push(number(&connection, sql).abs());
            assert!(friends::clean(&connection, &config).unwrap());
        }
        assert!(
            correlations[0] < 30 && correlations[1] > 90,
            "{correlations:?}"
        );
    }
}

#[test]
fn a_seed_gives_the_same_rows_on_any_number_of_threads() {
    let running = start(binaries());
    let connection = running.database("threads");
    for key in Key::ALL {
        let sums = [(1, 5), (3, 5), (2, 6)].map(|(threads, seed)| {
            let config = Config {
                seed,
                ..cycle::keys_config(Kind::Inserts, key, key.natural_order())
            };
            load_quietly(&connection, &config, threads);
            let sum = "SELECT sum(hashtextextended(t::text, 0))::text FROM dbdyno_keys AS t";
            let sum = texts(&connection, sum).remove(0);
            assert!(keys::clean(&connection, &config).unwrap());
            sum
        });
        assert_eq!(sums[0], sums[1], "{key:?}");
        assert_ne!(sums[0], sums[2], "{key:?}");
    }
}

fn tell_how_full_pages_are(connection: &Connection) {
    let sql = format!("CREATE EXTENSION {EXTENSION}");
    let created = open(connection).run(&sql);
    created.unwrap_or_else(|error| panic!("{sql}: {error}"));
}

/// A server that can tell how full pages are, and whether one was found.
fn start_one_that_tells() -> (Running, bool) {
    let all = all_binaries();
    // A distribution's package has the extension.
    let is_there = all.iter().any(is_packaged);
    let mut last = None;
    for binaries in all {
        let running = start(binaries);
        if running.offers(EXTENSION) {
            return (running, true);
        }
        last = Some(running);
    }
    assert!(!is_there, "no server has {EXTENSION}");
    (last.unwrap(), false)
}

#[test]
fn how_full_pages_are_is_known_with_the_extension_alone() {
    let (running, tells) = start_one_that_tells();
    let connection = running.database("fill");
    let config = cycle::keys_config(Kind::Inserts, Key::UuidV4, Order::Random);
    load_quietly(&connection, &config, 2);
    let without = keys::footprint(&connection, &config).unwrap();
    assert_eq!(without.fills.len(), 2);
    for fill in &without.fills {
        let why = fill.fill.why_unknown();
        assert_eq!(why, Some("extension pgstattuple is not installed"));
    }
    // That no package is at hand, `cargo xtask test` says.
    if !tells {
        return;
    }
    tell_how_full_pages_are(&connection);
    let with = keys::footprint(&connection, &config).unwrap();
    let names: Vec<&str> = with.fills.iter().map(|fill| fill.name.as_str()).collect();
    assert_eq!(names, ["dbdyno_keys", "dbdyno_keys_pkey"]);
    for fill in &with.fills {
        let share = fill.fill.get().unwrap();
        assert!((0.5..=1.0).contains(&share), "{fill:?}");
        assert!(fill.pages.get().is_some_and(|pages| pages > 2), "{fill:?}");
    }
    // Random inserts split the pages that the load had filled.
    cycle::insert(&connection, &config, 3, 400);
    let split = keys::footprint(&connection, &config).unwrap();
    let leaves = |footprint: &Footprint| footprint.fills[1].fill.get().unwrap();
    assert!(leaves(&split) < leaves(&with), "{split:?} {with:?}");
}

#[test]
fn what_the_load_does_not_fit_is_refused() {
    let running = start(binaries());
    let connection = running.database("refused");
    let config = cycle::keys_config(Kind::Selects, Key::UuidV7, Order::Random);
    let none = Config { rows: 0, ..config };
    let never = AtomicBool::new(false);
    let refused = keys::load(&connection, &none, 1, &|_| (), &never).unwrap_err();
    assert!(matches!(refused, LoadError::Invalid(_)), "{refused:?}");
    assert!(refused.hint().is_some());

    let missing = cycle::prepare(&connection, &config).unwrap_err();
    let code = missing.server().map(|server| server.sqlstate.as_str());
    assert_eq!(code, Some("42P01"), "{missing}");
    load_quietly(&connection, &config, 1);
    cycle::prepare(&connection, &config).unwrap();
    for other in [
        Config {
            key: Key::UuidV4,
            ..config
        },
        Config { seed: 99, ..config },
    ] {
        let error = cycle::prepare(&connection, &other).unwrap_err();
        assert!(error.to_string().contains("uuid_v7"), "{error}");
        let failed = failing(&connection, &other, When::AfterLoad);
        assert!(failed.contains("load"), "{failed:?}");
    }
    // A row that is gone is missed.
    open(&connection).run("DELETE FROM dbdyno_keys").unwrap();
    let failed = failing(&connection, &config, When::AfterRun);
    assert_eq!(failed.into_iter().collect::<Vec<_>>(), ["rows"]);
}

#[test]
fn loads_are_refused_stopped_and_cleaned() {
    let running = start(binaries());
    let connection = running.database("stops");
    let config = cycle::keys_config(Kind::Inserts, Key::Random64, Order::Random);
    assert!(!keys::clean(&connection, &config).unwrap());

    let stop = AtomicBool::new(false);
    let raise = |_| stop.store(true, Ordering::Relaxed);
    let large = Config {
        rows: 1_000_000,
        ..config
    };
    let stopped = keys::load(&connection, &large, 2, &raise, &stop).unwrap_err();
    assert!(matches!(stopped, LoadError::Stopped), "{stopped:?}");
    let unfinished = cycle::prepare(&connection, &large).unwrap_err();
    assert!(unfinished.to_string().contains("did not finish"));

    let never = AtomicBool::new(false);
    let refused = keys::load(&connection, &config, 1, &|_| (), &never).unwrap_err();
    assert!(
        matches!(&refused, LoadError::Unfinished { loaded } if loaded.contains("rows=1000000")),
        "{refused:?}"
    );
    assert!(keys::clean(&connection, &config).unwrap());
    assert_eq!(number(&connection, cycle::TABLES), 0);

    // A table that nobody vouches for is neither filled nor dropped, and none is made beside it.
    open(&connection)
        .run("CREATE TABLE dbdyno_keys (x integer)")
        .unwrap();
    let refused = keys::load(&connection, &config, 1, &|_| (), &never).unwrap_err();
    assert!(matches!(refused, LoadError::Exists { table, .. } if table == "dbdyno_keys"));
    assert!(!keys::clean(&connection, &config).unwrap());
    assert_eq!(number(&connection, cycle::TABLES), 1);
}

/// Known, and between these.
fn within(fact: &Fact<u64>, least: u64, most: u64) -> bool {
    fact.get()
        .is_some_and(|value| (least..=most).contains(&value))
}
