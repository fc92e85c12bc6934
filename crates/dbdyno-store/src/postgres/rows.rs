//! Writes and reads the rows of a PostgreSQL store.

use ::postgres::types::ToSql;
use ::postgres::{Client, Error, IsolationLevel, Row, Transaction};

use super::statements as sql;
use crate::DBDYNO_VERSION;
use crate::engine::{Added, Failure, Rewrite, Stored, StoredRun};
use crate::row::{RunRow, TrialRow};
use crate::summary::{self, Summary, count};

/// Whatever the role's defaults are: each statement sees what others have committed, and may write.
fn begin(client: &mut Client) -> Result<Transaction<'_>, Error> {
    client
        .build_transaction()
        .isolation_level(IsolationLevel::ReadCommitted)
        .read_only(false)
        .start()
}

pub(super) fn save(client: &mut Client, trial: &TrialRow, runs: &[RunRow]) -> Result<bool, Error> {
    let mut transaction = begin(client)?;
    let saved = transaction.execute(
        sql::SAVE_TRIAL,
        &[
            &trial.name,
            &trial.started_at,
            &trial.finished_at,
            &trial.complete,
            &trial.command,
            &trial.workload,
            &trial.machine,
            &trial.engine,
            &trial.server_version,
            &trial.budget,
            &trial.arms,
            &trial.word,
            &trial.ratio,
            &trial.interval_low,
            &trial.interval_high,
            &trial.level,
            &trial.pairs.map(i64::from),
            &trial.dbdyno_version,
            &trial.document,
        ],
    )?;
    if saved == 0 {
        return Ok(false);
    }
    transaction.execute(sql::REMOVE_RUNS, &[&trial.name])?;
    for run in runs {
        insert(&mut transaction, &trial.name, run)?;
    }
    transaction.execute(sql::WRITTEN_BY, &[&DBDYNO_VERSION])?;
    transaction.commit()?;
    Ok(true)
}

fn insert(transaction: &mut Transaction<'_>, trial: &str, run: &RunRow) -> Result<u64, Error> {
    let (number, pair) = (i64::from(run.number), run.pair.map(i64::from));
    let columns: [&(dyn ToSql + Sync); 12] = [
        &trial,
        &number,
        &run.arm,
        &pair,
        &run.started_at,
        &run.tps,
        &run.tps_with_checkpoint,
        &run.p99_ms,
        &run.wal_bytes_per_transaction,
        &run.steady,
        &run.discarded,
        &run.document,
    ];
    transaction.execute(sql::ADD_RUN, &columns)
}

fn is_there(transaction: &mut Transaction<'_>, trial: &str) -> Result<bool, Error> {
    Ok(transaction.query_opt(sql::LOCK_TRIAL, &[&trial])?.is_some())
}

pub(super) fn add_run(client: &mut Client, trial: &str, run: &RunRow) -> Result<Added, Error> {
    let mut transaction = begin(client)?;
    if !is_there(&mut transaction, trial)? {
        return Ok(Added::NoTrial);
    }
    if insert(&mut transaction, trial, run)? == 0 {
        let there = transaction.query_one(sql::RUN_DOCUMENT, &[&trial, &i64::from(run.number)])?;
        return Ok(Added::Taken(there.try_get(0)?));
    }
    transaction.commit()?;
    Ok(Added::Yes)
}

pub(super) fn discard_pair(
    client: &mut Client,
    trial: &str,
    pair: u32,
    why: &str,
    rewrite: &Rewrite<'_>,
) -> Result<bool, Failure<Error>> {
    let mut transaction = begin(client)?;
    if !is_there(&mut transaction, trial)? {
        return Ok(false);
    }
    for row in transaction.query(sql::UNMARKED_RUNS, &[&trial, &i64::from(pair)])? {
        let (number, document): (i64, Vec<u8>) = (row.try_get(0)?, row.try_get(1)?);
        let document = rewrite(count(trial, number)?, &document)?;
        transaction.execute(sql::MARK_RUN, &[&trial, &number, &why, &document])?;
    }
    transaction.commit()?;
    Ok(true)
}

pub(super) fn load(client: &mut Client, name: &str) -> Result<Option<Stored>, Failure<Error>> {
    // One snapshot for the header and its runs.
    let mut transaction = client
        .build_transaction()
        .isolation_level(IsolationLevel::RepeatableRead)
        .read_only(true)
        .start()?;
    let Some(header) = transaction.query_opt(sql::HEADER, &[&name])? else {
        return Ok(None);
    };
    let runs = transaction
        .query(sql::RUNS, &[&name])?
        .iter()
        .map(|row| {
            Ok(StoredRun {
                number: count(name, row.try_get(0)?)?,
                discarded: row.try_get(1)?,
                document: row.try_get(2)?,
            })
        })
        .collect::<Result<_, Failure<Error>>>()?;
    let header = header.try_get(0)?;
    Ok(Some(Stored { header, runs }))
}

pub(super) fn names(client: &mut Client) -> Result<Vec<String>, Error> {
    let rows = client.query(sql::NAMES, &[])?;
    rows.iter().map(|row| row.try_get(0)).collect()
}

pub(super) fn list(client: &mut Client) -> Result<Vec<Summary>, Failure<Error>> {
    let rows = client.query(sql::LIST, &[])?;
    rows.iter().map(read_summary).collect()
}

fn read_summary(row: &Row) -> Result<Summary, Failure<Error>> {
    let name: String = row.try_get(0)?;
    let engine: String = row.try_get(6)?;
    let version: String = row.try_get(7)?;
    Ok(Summary {
        started_at: row.try_get(1)?,
        finished_at: row.try_get(2)?,
        complete: row.try_get(3)?,
        workload: row.try_get(4)?,
        machine: row.try_get(5)?,
        server: summary::server(&engine, &version),
        budget: row.try_get(8)?,
        arms: row.try_get(9)?,
        word: summary::word(&name, row.try_get(10)?)?,
        ratio: row.try_get(11)?,
        interval: summary::interval(row.try_get(12)?, row.try_get(13)?),
        level: row.try_get(14)?,
        pairs: count(&name, row.try_get(15)?)?,
        runs: count(&name, row.try_get(16)?)?,
        bytes: count(&name, row.try_get(17)?)?,
        dbdyno_version: row.try_get(18)?,
        name,
    })
}

pub(super) fn remove(client: &mut Client, name: &str) -> Result<bool, Error> {
    let mut transaction = begin(client)?;
    let removed = transaction.execute(sql::REMOVE_TRIAL, &[&name])?;
    transaction.commit()?;
    Ok(removed > 0)
}
