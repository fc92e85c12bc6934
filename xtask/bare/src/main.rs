//! Point selects in a bare blocking loop, one thread a connection: what a round trip costs at least.

// What it counted is what it is for.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod mysql;
mod postgres;
mod socket;

use std::io;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use mysql::MySql;
use postgres::Postgres;

const USAGE: &str =
    "usage: xtask-bare postgres|mariadb ADDRESS USER DATABASE CONNECTIONS SECONDS TABLES ROWS

Selects c by a random id from sbtest1, sbtest2 and so on, over the unix socket or the
HOST:PORT that ADDRESS is, as a user without a password, and prints how many queries that were and in how many seconds.";

/// One connection with a point select prepared for each table.
trait Connection: Send {
    /// Sends one query and reads its answer to the end.
    fn select(&mut self, table: usize, id: i32) -> io::Result<()>;
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match run(&words) {
        Ok((queries, seconds)) => {
            println!("queries: {queries}\nseconds: {seconds:.6}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// Queries and seconds.
fn run(words: &[String]) -> Result<(u64, f64), String> {
    let [
        engine,
        address,
        user,
        database,
        connections,
        seconds,
        tables,
        rows,
    ] = words
    else {
        return Err(USAGE.to_owned());
    };
    let (connections, tables) = (number(connections)?, number(tables)?);
    let (seconds, rows) = (number(seconds)?, number(rows)?);
    let open = || -> io::Result<Box<dyn Connection>> {
        match engine.as_str() {
            "postgres" => Ok(Box::new(Postgres::open(address, user, database, tables)?)),
            "mariadb" => Ok(Box::new(MySql::open(address, user, database, tables)?)),
            other => Err(io::Error::other(format!("no protocol for {other:?}"))),
        }
    };
    let opened = (0..connections)
        .map(|_| open())
        .collect::<io::Result<Vec<_>>>()
        .map_err(|error| format!("{address}: {error}"))?;
    let stop = AtomicBool::new(false);
    let begun = Instant::now();
    let queries = std::thread::scope(|scope| {
        let threads: Vec<_> = (1_u64..)
            .zip(opened)
            .map(|(seed, connection)| {
                let stop = &stop;
                scope.spawn(move || drive(connection, seed, tables, rows, stop))
            })
            .collect();
        std::thread::sleep(Duration::from_secs(u64::from(seconds)));
        stop.store(true, Ordering::Relaxed);
        let ended = threads.into_iter().map(|thread| match thread.join() {
            Ok(queries) => queries.map_err(|error| error.to_string()),
            Err(_) => Err("a thread panicked".to_owned()),
        });
        ended.sum::<Result<u64, String>>()
    })?;
    Ok((queries, begun.elapsed().as_secs_f64()))
}

/// From 1 up, so that it can divide.
fn number(text: &str) -> Result<u32, String> {
    let number = text.parse::<u32>().ok();
    number
        .filter(|number| (1..=i32::MAX.unsigned_abs()).contains(number))
        .ok_or_else(|| format!("{text:?} is no number above 0\n\n{USAGE}"))
}

fn drive(
    mut connection: Box<dyn Connection>,
    seed: u64,
    tables: u32,
    rows: u32,
    stop: &AtomicBool,
) -> io::Result<u64> {
    let mut state = seed;
    let mut queries = 0;
    while !stop.load(Ordering::Relaxed) {
        let (table, id) = pick(&mut state, tables, rows);
        connection.select(table, id)?;
        queries += 1;
    }
    Ok(queries)
}

/// A table's index and an id.
fn pick(state: &mut u64, tables: u32, rows: u32) -> (usize, i32) {
    let drawn = next(state);
    let table = (drawn >> 32) as u32 % tables;
    // `rows` fits, and so does what is at most as large.
    let id = (drawn as u32 % rows + 1) as i32;
    (table as usize, id)
}

/// SplitMix64.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_and_both_ends_of_the_ids_are_picked() {
        let mut state = 1;
        let picked: Vec<_> = (0..1_000).map(|_| pick(&mut state, 3, 5)).collect();
        for table in 0..3 {
            assert!(picked.iter().any(|pick| pick.0 == table));
        }
        let ids = picked.iter().map(|pick| pick.1);
        assert_eq!(ids.clone().min(), Some(1));
        assert_eq!(ids.max(), Some(5));
    }

    #[test]
    fn what_cannot_divide_or_does_not_fit_is_refused() {
        assert_eq!(number("8"), Ok(8));
        assert_eq!(number("2147483647"), Ok(2_147_483_647));
        for text in ["0", "-1", "2147483648", "x", ""] {
            assert!(number(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_word_too_few_shows_the_usage() {
        assert_eq!(run(&["postgres".to_owned()]), Err(USAGE.to_owned()));
    }
}
