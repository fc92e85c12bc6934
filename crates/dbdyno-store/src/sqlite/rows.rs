//! Writes and reads the rows of an SQLite store.

use rusqlite::{
    Connection, Error, OptionalExtension as _, Row, Transaction, TransactionBehavior, params,
};

use super::statements as sql;
use crate::DBDYNO_VERSION;
use crate::engine::{Added, Failure, Rewrite, Stored, StoredRun};
use crate::row::{RunRow, TrialRow};
use crate::summary::{self, Summary, count};

/// Takes the lock for writing at once: one that is taken later can fail without waiting.
fn begin(connection: &mut Connection) -> rusqlite::Result<Transaction<'_>> {
    connection.transaction_with_behavior(TransactionBehavior::Immediate)
}

pub(super) fn save(
    connection: &mut Connection,
    trial: &TrialRow,
    runs: &[RunRow],
) -> rusqlite::Result<bool> {
    let transaction = begin(connection)?;
    let saved = transaction.execute(
        sql::SAVE_TRIAL,
        params![
            trial.name,
            trial.started_at,
            trial.finished_at,
            trial.complete,
            json(&trial.command),
            trial.workload,
            trial.machine,
            trial.engine,
            trial.server_version,
            trial.budget,
            json(&trial.arms),
            trial.word,
            trial.ratio,
            trial.interval_low,
            trial.interval_high,
            trial.level,
            trial.pairs,
            trial.dbdyno_version,
            trial.document,
        ],
    )?;
    if saved == 0 {
        return Ok(false);
    }
    transaction.execute(sql::REMOVE_RUNS, [&trial.name])?;
    for run in runs {
        insert(&transaction, &trial.name, run)?;
    }
    transaction.execute(sql::WRITTEN_BY, [DBDYNO_VERSION])?;
    transaction.commit()?;
    Ok(true)
}

fn json(texts: &[String]) -> String {
    serde_json::Value::from(texts).to_string()
}

fn insert(transaction: &Transaction<'_>, trial: &str, run: &RunRow) -> rusqlite::Result<usize> {
    transaction.execute(
        sql::ADD_RUN,
        params![
            trial,
            run.number,
            run.arm,
            run.pair,
            run.started_at,
            run.tps,
            run.tps_with_checkpoint,
            run.p99_ms,
            run.wal_bytes_per_transaction,
            run.steady,
            run.discarded,
            run.document,
        ],
    )
}

fn is_there(transaction: &Transaction<'_>, trial: &str) -> rusqlite::Result<bool> {
    transaction.query_row(sql::TRIAL_IS_THERE, [trial], |row| row.get(0))
}

pub(super) fn add_run(
    connection: &mut Connection,
    trial: &str,
    run: &RunRow,
) -> rusqlite::Result<Added> {
    let transaction = begin(connection)?;
    if !is_there(&transaction, trial)? {
        return Ok(Added::NoTrial);
    }
    if insert(&transaction, trial, run)? == 0 {
        let there = params![trial, run.number];
        let document = transaction.query_row(sql::RUN_DOCUMENT, there, |row| row.get(0))?;
        return Ok(Added::Taken(document));
    }
    transaction.commit()?;
    Ok(Added::Yes)
}

pub(super) fn discard_pair(
    connection: &mut Connection,
    trial: &str,
    pair: u32,
    why: &str,
    rewrite: &Rewrite<'_>,
) -> Result<bool, Failure<Error>> {
    let transaction = begin(connection)?;
    if !is_there(&transaction, trial)? {
        return Ok(false);
    }
    let unmarked: Vec<(u32, Vec<u8>)> = transaction
        .prepare(sql::UNMARKED_RUNS)?
        .query_map(params![trial, pair], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    for (number, document) in unmarked {
        let document = rewrite(number, &document)?;
        transaction.execute(sql::MARK_RUN, params![trial, number, why, document])?;
    }
    transaction.commit()?;
    Ok(true)
}

pub(super) fn load(connection: &mut Connection, name: &str) -> rusqlite::Result<Option<Stored>> {
    // One snapshot for the header and its runs.
    let transaction = connection.transaction()?;
    let header = transaction.query_row(sql::HEADER, [name], |row| row.get(0));
    let Some(header) = header.optional()? else {
        return Ok(None);
    };
    let runs = transaction
        .prepare(sql::RUNS)?
        .query_map([name], |row| {
            Ok(StoredRun {
                number: row.get(0)?,
                discarded: row.get(1)?,
                document: row.get(2)?,
            })
        })?
        .collect::<Result<_, _>>()?;
    Ok(Some(Stored { header, runs }))
}

pub(super) fn names(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    connection
        .prepare(sql::NAMES)?
        .query_map([], |row| row.get(0))?
        .collect()
}

pub(super) fn list(connection: &Connection) -> Result<Vec<Summary>, Failure<Error>> {
    connection
        .prepare(sql::LIST)?
        .query_and_then([], read_summary)?
        .collect()
}

fn read_summary(row: &Row<'_>) -> Result<Summary, Failure<Error>> {
    let name: String = row.get(0)?;
    let arms: String = row.get(9)?;
    let word: Option<String> = row.get(10)?;
    Ok(Summary {
        started_at: row.get(1)?,
        finished_at: row.get(2)?,
        complete: row.get(3)?,
        workload: row.get(4)?,
        machine: row.get(5)?,
        server: summary::server(&row.get::<_, String>(6)?, &row.get::<_, String>(7)?),
        budget: row.get(8)?,
        arms: serde_json::from_str(&arms)
            .map_err(|error| Failure::Undecoded(format!("the arms of {name}: {error}")))?,
        word: summary::word(&name, word)?,
        ratio: row.get(11)?,
        interval: summary::interval(row.get(12)?, row.get(13)?),
        level: row.get(14)?,
        pairs: row.get(15)?,
        runs: row.get(16)?,
        bytes: count(&name, row.get(17)?)?,
        dbdyno_version: row.get(18)?,
        name,
    })
}

pub(super) fn remove(connection: &Connection, name: &str) -> rusqlite::Result<bool> {
    Ok(connection.execute(sql::REMOVE_TRIAL, [name])? > 0)
}
